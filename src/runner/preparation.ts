/** What is done before the first cell, where tensors are at hand: in a worker, or for a dry run in the program itself. */
import {loadEstimators} from '../attention/names.js'
import {
  type BackendChoice,
  type BackendName,
  checkThreads,
  keepsThreads,
  threadingOf,
  tryPreferred,
  useBackend,
} from '../backends/index.js'
import {inputParts} from '../experiments/axes.js'
import {MOST_CELLS, MOST_FORCED} from '../experiments/cells.js'
import {experimentNamed} from '../experiments/index.js'
import {
  type Job,
  type PlannedRun,
  planRun,
  stopCountingPlugins,
} from '../experiments/planned-run.js'
import {tunedOf} from '../experiments/tuned-methods.js'
import {heldBytes} from '../free-memory.js'
import {pinnedInput} from '../inputs/digest.js'
import {inputWarnings, logitScaleOf, type PartOfInput} from '../inputs/input-facts.js'
import {arrayNotes} from '../inputs/other-arrays.js'
import type {InputSpec} from '../inputs/spec.js'
import type {Plan} from '../results/record.js'
import {tunedWarnings} from '../tuned/index.js'
import type {Threading} from './schedule/schedule.js'
import {shardsOf} from './schedule/shards.js'

export interface PlanOptions {
  /** Allow any number of cells. Default: at most {@link MOST_CELLS} */
  force?: boolean | undefined
  /** Call no estimator of a plug-in: their memory and time stay unknown. Default: false */
  uncounted?: boolean | undefined
  /** Number of shards to deal them to. Default: they are not dealt */
  shards?: number | undefined
}

export interface Preparation<Jobs = readonly Job[]> {
  /** The plan as it runs: its input is pinned to what the files hold now. */
  plan: Plan
  /** In the order in which they run; equal cells are one job. */
  jobs: Jobs
  /** Threads that each process can compute with. */
  threading: Threading
  /** What is to be said of the backend, and of arrays of the input that are not used. */
  notes: readonly string[]
  /** What to be wary of in the input. */
  warnings: readonly string[]
  /**
   * Whether this process may compute cells, too: not if its backend keeps the number of threads it began with, and
   * not for other methods once it has loaded plug-ins.
   */
  serves: boolean
  /** Memory that this process holds. */
  heldBytes: number
  /** The shard of each job, from 1, where they are dealt. */
  shards?: readonly number[] | undefined
}

/**
 * Activates the backend of a plan, so that one that cannot run fails here, and makes the plan's jobs.
 *
 * @returns `null` in place of jobs that are too many for a message to another process, which makes them itself
 * @throws {BACKEND_MISSING} {UNSUPPORTED} when the backend cannot run here, or has fewer threads than asked for
 * @throws {TOO_LARGE} when it has more than {@link MOST_CELLS} cells, or {@link MOST_FORCED} where that is forced
 */
export async function prepareRun(
  asked: Plan,
  {force = false, uncounted = false, shards}: PlanOptions = {},
): Promise<Preparation<readonly Job[] | null>> {
  const plan = await pinned(asked)
  if (uncounted) await stopCountingPlugins(plan)
  const notes: string[] = []
  const names = await tried(plan, text => notes.push(text))
  if (plan.input) notes.push(...(await arrayNotes(plan.input)))
  const {jobs} = await planRun(plan, force ? MOST_FORCED : MOST_CELLS)
  return {
    plan,
    jobs: jobs.length > MOST_CELLS ? null : jobs,
    threading: await leastThreading(names),
    notes,
    warnings: await warningsOf(plan),
    serves: !plan.plugins && !(await Promise.all(names.map(keepsThreads))).includes(true),
    heldBytes: heldBytes(),
    ...(shards !== undefined && {shards: await shardsOf(plan, shards)}),
  }
}

/** Loads what every run of an experiment will need, before anything is asked for. @param experiment - its name */
export async function warmUp(experiment: string): Promise<void> {
  const {load} = await experimentNamed(experiment)
  await Promise.all([tryPreferred(), load?.(), loadEstimators()])
}

/** Takes each backend of a plan into use, the first one last. @returns their names */
async function tried(plan: Plan, note: (text: string) => void): Promise<BackendName[]> {
  const names: BackendName[] = []
  for (const choice of [plan.backend].flat().toReversed()) {
    const {name} = await useBackend(choice, {threads: plan.threads ?? undefined, note})
    names.unshift(name)
  }
  return names
}

/** Threads that each of several backends can compute with. */
async function leastThreading(choices: readonly BackendChoice[]) {
  const each = await Promise.all(choices.map(threadingOf))
  return each.includes('one') ? 'one' : 'any'
}

/**
 * The same without trying anything: the plan may be made for another machine.
 *
 * @throws {TOO_LARGE} when it has more than {@link MOST_FORCED} cells
 */
export async function prepareDryRun(
  asked: Plan,
  {shards}: Pick<PlanOptions, 'shards'> = {},
): Promise<PlannedRun & Pick<Preparation, 'threading' | 'warnings' | 'shards'>> {
  const plan = await pinned(asked)
  const choices = [plan.backend].flat()
  for (const choice of choices) await checkThreads(choice, plan.threads ?? undefined)
  return {
    ...(await planRun(plan)),
    threading: await leastThreading(choices),
    warnings: await warningsOf(plan),
    ...(shards !== undefined && {shards: await shardsOf(plan, shards)}),
  }
}

/** Reads once what all cells will read, and starts once what they will start. */
export async function checkInput(plan: Plan): Promise<void> {
  await (await experimentNamed(plan.experiment)).check?.(plan)
}

/**
 * The plan with its input pinned to what the files hold now, the numbers of the layers that are meant, its plug-ins loaded, and its
 * learned parameters looked at.
 *
 * @throws {FILE_MISSING | BAD_FILE | ARRAY_MISSING}
 * @throws {FILE_CHANGED} where a plug-in or learned parameters are others than when the plan was made
 */
async function pinned(plan: Plan): Promise<Plan> {
  if (plan.plugins) await (await import('../plugins/load.js')).requirePlugins(plan.plugins)
  for (const spec of plan.methods ?? []) await tunedOf(spec)
  if (!plan.input) return plan
  const {layers: asked, layer_files: _, ...rest} = plan
  return {...rest, ...(await pinnedInput(plan.input, asked))}
}

/** Warnings about the input, each once for all layers that it is true of. */
async function warningsOf(plan: Plan): Promise<string[]> {
  const {input, logit_scale: logitScale, causal, causal_align: causalAlign} = plan
  if (!input) return []
  const all = await Promise.all(
    inputParts({...plan, input}).map(async part => {
      const place = {layer: part.layer, logitScale}
      return [
        ...(await inputWarnings(part.input, {...place, causal, causalAlign})),
        ...(await learnedElsewhere(plan, part.input, place)),
      ]
    }),
  )
  return [...new Set(all.flat())]
}

/** Warnings about learned parameters that were learned for other attention than a part of the input gets. */
async function learnedElsewhere(
  {methods = [], causal}: Plan,
  input: InputSpec,
  {layer, logitScale}: PartOfInput,
): Promise<string[]> {
  const warnings: string[] = []
  for (const spec of methods) {
    const tuned = await tunedOf(spec)
    if (!tuned || causal === undefined) continue
    const scale = await logitScaleOf(input, {layer, logitScale})
    warnings.push(...tunedWarnings(tuned, {layer, causal, scale}))
  }
  return warnings
}
