/** What `rfa advise` is going to measure, and about how long that takes. */
import {countsOf} from '../../advice/counted.js'
import {
  type AdviceRequest,
  benchPlanFor,
  type LayerShape,
  normsPlanOf,
  sweepPlanOf,
} from '../../advice/plans.js'
import type {BenchPlan} from '../../experiments/bench/schema.js'
import type {ErrorSweepCell, ErrorSweepPlan} from '../../experiments/error-sweep/schema.js'
import {inputFacts} from '../../inputs/input-facts.js'
import {plural, waitingTime} from '../../report/numbers.js'
import type {Invocation} from '../program/services.js'
import type {OwnRun} from '../run/own-folder-run.js'

/** `measuring 34 cells of errors and 58 of times: about 1.2 min on a quiet machine (--quick takes less)`. */
export async function forecast(
  request: AdviceRequest,
  {threads}: Pick<OwnRun, 'threads'>,
  {services}: Invocation,
): Promise<string> {
  const {describeRun} = await import('../../runner/dry-run.js')
  const {schedule} = await import('../../runner/schedule.js')
  const described = async (plan: ErrorSweepPlan | BenchPlan) => {
    const run = await services.prepareDryRun(plan)
    const {cells, predicted_seconds} = describeRun(run, schedule(run, threads, run.threading))
    return {cells, seconds: predicted_seconds, run}
  }
  const [error, norms] = [
    await described(sweepPlanOf(request)),
    await described(normsPlanOf(request)),
  ]
  const cells = Array.from(error.run.jobs, ({cell}) => cell as ErrorSweepCell)
  const time = await described(await benchPlanAhead(request, cells))
  const seconds = error.seconds + norms.seconds + time.seconds
  const errors = plural(error.cells + norms.cells, 'cell')
  const quick = request.effort === 'full' ? ' (--quick takes less)' : ''
  return `measuring ${errors} of errors and ${time.cells} of times: about ${waitingTime(1e9 * seconds)} on a quiet machine${quick}`
}

/** The benchmark as it will be if every method runs. */
async function benchPlanAhead(
  request: AdviceRequest,
  cells: readonly ErrorSweepCell[],
): Promise<BenchPlan> {
  const [{input, layer, causal}] = cells as [ErrorSweepCell]
  const {sizes} = await inputFacts(input, [null], {layer, logitScale: request.logitScale})
  const {batch, heads, headDim, valueDim, queryLen, keyLen} = sizes[0]!
  const shape: LayerShape = {
    ...{batch, heads, head_dim: headDim, value_dim: valueDim, causal},
    ...{query_len: queryLen, key_len: keyLen},
  }
  return benchPlanFor(request, shape, cells, await countsOf(shape, cells))
}
