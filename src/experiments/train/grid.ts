/** What is trained as cells and jobs: tasks, methods, draws, rates and runs. */
import {meteredBackend} from '../../backends/index.js'
import {expected} from '../../errors.js'
import type {TrainTask} from '../../tasks/index.js'
import {drawGrid, type MethodSpec} from '../axes.js'
import {distinct, distinctMethods} from '../cells.js'
import type {Grid, PredictedCell} from '../experiment.js'
import {variantLabel} from '../labels.js'
import {type ResolvedMethod, resolveMethod} from '../method.js'
import {predictions} from './cost.js'
import {asCalled} from './guards.js'
import {openTask} from './measure/task.js'
import type {TrainCell, TrainPlan} from './schema.js'

/** The entry of `key_dims` for methods without one. */
export const OTHERS = 'default'

/** All cells of a plan. @throws {BAD_OPTION} for a width that heads do not divide, or head dimensions that are missing */
export async function trainGrid(plan: TrainPlan): Promise<Grid<TrainCell>> {
  checkSizes(plan)
  const methods = await Promise.all(
    distinctMethods(plan.methods).map(async spec => ({spec, method: await resolveMethod(spec)})),
  )
  const cells = () =>
    plan.tasks.flatMap(task =>
      methods.flatMap(({spec, method}) => cellsOf(plan, {task, spec, method})),
    )
  return {
    count:
      plan.tasks.length *
      distinct(plan.rates).length *
      plan.runs *
      methods.reduce((sum, {method}) => sum + drawGrid(method, causalPlan(plan)).length, 0),
    cells,
    jobs: () => jobsOf(plan, cells()),
  }
}

function checkSizes({model: {width, heads}, key_dims}: TrainPlan): void {
  if (width % heads !== 0) {
    const remedy = `take a \`width\` of ${heads * Math.ceil(width / heads)}`
    const what = `a \`width\` that ${heads} heads divide`
    throw expected('BAD_OPTION', 'train', what, String(width), remedy)
  }
  if (key_dims[OTHERS] !== undefined) return
  throw expected('BAD_OPTION', '`key_dims`', `a number for \`${OTHERS}\``, 'none')
}

/** Every query sees the past alone. */
function causalPlan(plan: TrainPlan) {
  return {...plan, causal: true}
}

function cellsOf(
  plan: TrainPlan,
  {task, spec, method}: {task: TrainTask; spec: MethodSpec; method: ResolvedMethod},
): TrainCell[] {
  const {model, steps, batch, held_out, redraw, seed, backend, runs, key_dims} = plan
  const draws = drawGrid(method, causalPlan(plan))
  const key_dim = key_dims[spec.method] ?? key_dims[OTHERS]!
  const shared = {task, key_dim, model, steps, batch, held_out, seed, backend}
  return Array.from({length: draws.length}, (_, at) => draws.at(at)).flatMap(draw =>
    distinct(plan.rates).flatMap(rate =>
      Array.from({length: runs}, (_, run) => ({
        ...{...spec, ...draw, ...shared, rate, run},
        redraw: draw.projection === null ? 0 : redraw,
      })),
    ),
  )
}

async function jobsOf(
  {tasks, seed, backend}: TrainPlan,
  cells: readonly TrainCell[],
): Promise<PredictedCell<TrainCell>[]> {
  const opened = new Map(
    await Promise.all(tasks.map(async task => [task, await openTask(task, seed)] as const)),
  )
  const metered = await meteredBackend(backend)
  return Promise.all(
    cells.map(async cell => ({
      cell,
      label: variantLabel(asCalled(cell, cells), [`rate ${cell.rate}`, `run ${cell.run}`]),
      ...predictions(cell, opened.get(cell.task)!, await resolveMethod(cell), metered),
    })),
  )
}
