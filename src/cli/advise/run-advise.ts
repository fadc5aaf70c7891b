/** `rfa advise`: a sweep of errors, then a benchmark, each in a folder of its own, and the advice on both. */
import {existsSync} from 'node:fs'
import {join} from 'node:path'
import {advise, completedOf, shapeOf} from '../../advice/advise.js'
import {countsOf} from '../../advice/counted.js'
import {
  type AdviceRequest,
  asQuick,
  benchPlanFor,
  type LayerShape,
  normsPlanOf,
  sweepPlanOf,
} from '../../advice/plans.js'
import type {AsTyped} from '../../advice/report.js'
import type {Advice} from '../../advice/schema.js'
import {expected, RfaError} from '../../errors.js'
import type {BenchPlan, BenchRecord} from '../../experiments/bench/schema.js'
import type {
  ErrorSweepCell,
  ErrorSweepPlan,
  ErrorSweepRecord,
} from '../../experiments/error-sweep/schema.js'
import {writeAtomic} from '../../files.js'
import {inputFacts} from '../../inputs/input-facts.js'
import {commandText, resumeLine, typeablePath} from '../../report/command-line.js'
import {type Block, list, text} from '../../report/document.js'
import {plural, waitingTime} from '../../report/numbers.js'
import {makeFolder} from '../../results/files.js'
import type {CellRecord, Plan} from '../../results/record.js'
import type {AdviseFlags} from '../plans/advise.js'
import type {AdviceDocument, AdviceForecast} from '../program/json-documents.js'
import type {Invocation} from '../program/services.js'
import {type OwnRun, OwnRuns} from '../run/own-folder-run.js'
import {refuseResumeOfNothing} from '../run/run-plan.js'

/** File of the advice, in the folder of its runs. */
const FILE = 'advise.json'

/** Advice, and what of its runs failed. */
export interface EndedAdvice<Document> {
  document: Document
  /** How many cells failed, and how to run them again; `undefined`: none did. */
  failure: string | undefined
}

/**
 * Measures what the advice takes and saves it.
 *
 * @throws {USAGE} for `--resume` without a folder
 * @throws {WOULD_OVERWRITE} where the folder has advice already and `--resume` is not given
 * @throws {UNSUPPORTED} where nothing could be measured, or layers have other sizes than one another
 * @throws {CELL_CRASHED} where nothing was measured, as cells failed, telling how to go on
 * @throws {INTERRUPTED} after Ctrl-C, telling how to go on
 */
export async function runAdvise(
  request: AdviceRequest,
  flags: AdviceRunFlags,
  invocation: Invocation,
): Promise<EndedAdvice<AdviceDocument>> {
  const own = await adviceFolder(flags, FILE, invocation)
  return savedAdvice(own, FILE, invocation, async () => {
    const {advice, failed} = await measured(request, own, invocation)
    return {document: {schema: 'rfa.advice/1', directory: own.directory, ...advice}, failed}
  })
}

export type AdviceRunFlags = Pick<AdviseFlags, 'output' | 'resume' | 'threads'> & {quiet: boolean}

/**
 * Where advice and its runs go.
 *
 * @param file - name of the advice in it
 * @throws {USAGE} for `--resume` without a folder
 * @throws {WOULD_OVERWRITE} where the folder has advice already and `--resume` is not given
 */
export async function adviceFolder(
  flags: AdviceRunFlags,
  file: string,
  {services}: Invocation,
): Promise<Omit<OwnRun, 'name'>> {
  await refuseResumeOfNothing(flags)
  const directory = flags.output ?? (await services.newRunDirectory('advise', new Date()))
  if (!flags.resume && existsSync(join(directory, file))) {
    const remedies = ['choose another folder', 'or continue it: --resume']
    throw expected('WOULD_OVERWRITE', directory, 'no advice yet', file, ...remedies)
  }
  const {resume, quiet, threads} = flags
  return {directory, resume, quiet, threads}
}

/**
 * Measures, and saves the advice.
 *
 * @param measure - the advice, and how many cells failed
 * @throws {CELL_CRASHED} where nothing was measured, as cells failed, telling how to go on
 */
export async function savedAdvice<Document>(
  {directory}: Pick<OwnRun, 'directory'>,
  file: string,
  {argv}: Invocation,
  measure: () => Promise<{document: Document; failed: number}>,
): Promise<EndedAdvice<Document>> {
  const again = resumeLine(argv, directory)
  const {document, failed} = await measure().catch(error => {
    if (!(error instanceof RfaError) || error.code !== 'CELL_CRASHED') throw error
    throw new RfaError(error.code, error.message, {suggestions: [again], cause: error})
  })
  await makeFolder(directory)
  await writeAtomic(join(directory, file), `${JSON.stringify(document, null, 2)}\n`)
  const cells = `${plural(failed, 'cell')} failed, and the advice does without`
  return {document, failure: failed > 0 ? `${cells}; run again what failed: ${again}` : undefined}
}

/** What the runs of errors and of times say; errors at smaller norms where nothing qualifies without. */
async function measured(
  request: AdviceRequest,
  own: Omit<OwnRun, 'name'>,
  invocation: Invocation,
): Promise<{advice: Advice; failed: number}> {
  const runs = new OwnRuns(invocation)
  const {note} = invocation
  const records = async <Record extends CellRecord>(name: string, plan: Plan) =>
    runs.recordsOf<Record>(plan, {...own, name})
  try {
    if (!own.resume && !own.quiet) note(await forecastLine(request, invocation))
    const error = await records<ErrorSweepRecord>('error', sweepPlanOf(request))
    const shape = shapeOf(error)
    const variants = completedOf(error).map(({cell}) => cell)
    const counted = await countsOf(shape, variants)
    const plan = benchPlanFor(request, shape, variants, counted)
    const time = await records<BenchRecord>('time', plan)
    const advice = advise(request, {error, time}, counted)
    if (advice.layers.every(({candidate}) => candidate !== null)) {
      return {advice, failed: failuresOf([...error, ...time])}
    }
    note('nothing qualifies as it is: trying smaller norms')
    const norms = await records<ErrorSweepRecord>('norms', normsPlanOf(request))
    const all = [...error, ...norms]
    const failed = failuresOf([...all, ...time])
    return {advice: advise(request, {error: all, time}, counted), failed}
  } finally {
    await runs.end()
  }
}

export function failuresOf(records: readonly CellRecord[]): number {
  return records.filter(({status}) => status === 'failed').length
}

/** The input as it was typed, for commands that measure on it again. */
export function asTyped(
  bin: string,
  {input, logitScale}: Pick<AdviceRequest, 'input' | 'logitScale'>,
): AsTyped {
  const {paths, names, layout} = input as Extract<typeof input, {kind: 'file'}>
  const comma = paths.map(path => typeablePath(path).replaceAll(',', '\\,')).join(',')
  const others = Object.entries({
    '--query-name': names.query === 'q' ? undefined : names.query,
    '--key-name': names.key === 'k' ? undefined : names.key,
    '--value-name': names.value === 'v' ? undefined : names.value,
    '--key-mask-name': names.key_mask,
    '--layout': layout,
    '--scale': logitScale,
  }).flatMap(([flag, value]) => (value === undefined ? [] : flagWords(flag, String(value))))
  return {bin, input: ['--input', comma, ...others]}
}

/** Where it was saved, and what shows the rest of it. @param rest - what that is */
export function closingLine(
  bin: string,
  {directory}: {directory: string},
  rest = 'every candidate and head',
): string {
  const command = commandText([bin, 'report', typeablePath(directory), '--details'])
  return `saved in ${directory}; ${rest}: ${command}`
}

/** A flag with its value, which a dash would make a flag of its own. */
function flagWords(flag: string, value: string): string[] {
  return value.startsWith('-') ? [`${flag}=${value}`] : [flag, value]
}

/** What advice would measure: cells and predicted time of its runs, those at smaller norms among them. */
export async function forecastOf(
  request: AdviceRequest,
  {services}: Pick<Invocation, 'services'>,
): Promise<AdviceForecast> {
  const {describeRun} = await import('../../runner/schedule/dry-run.js')
  const {schedule} = await import('../../runner/schedule/schedule.js')
  const threads = request.threads ?? undefined
  const described = async (plan: ErrorSweepPlan | BenchPlan) => {
    const run = await services.prepareDryRun(plan)
    const {cells, predicted_seconds} = describeRun(run, schedule(run, threads, run.threading))
    return {forecast: {plan: run.plan, cells, predicted_seconds}, run}
  }
  const [error, norms] = [
    await described(sweepPlanOf(request)),
    await described(normsPlanOf(request)),
  ]
  const cells = Array.from(error.run.jobs, ({cell}) => cell as ErrorSweepCell)
  const time = await described(await benchPlanAhead(request, cells))
  const runs = {error: error.forecast, time: time.forecast, norms: norms.forecast}
  const sum = (of: 'cells' | 'predicted_seconds') =>
    Object.values(runs).reduce((total, run) => total + run[of], 0)
  return {
    schema: 'rfa.advice-forecast/1',
    cells: sum('cells'),
    predicted_seconds: sum('predicted_seconds'),
    runs,
  }
}

/** `measuring 116 cells, about 1.2 min on a quiet machine (--quick: 20 s)`. */
async function forecastLine(
  request: AdviceRequest,
  invocation: Pick<Invocation, 'services'>,
): Promise<string> {
  const {cells, predicted_seconds} = await forecastOf(request, invocation)
  const time = (seconds: number) => waitingTime(1e9 * seconds, 2)
  const quick =
    request.effort === 'full'
      ? ` (--quick: ${time((await forecastOf(asQuick(request), invocation)).predicted_seconds)})`
      : ''
  return `measuring ${plural(cells, 'cell')}, about ${time(predicted_seconds)} on a quiet machine${quick}`
}

export function forecastReport({cells, predicted_seconds, runs}: AdviceForecast): Block[] {
  const time = (seconds: number) => waitingTime(1e9 * seconds, 2)
  const line = (name: keyof AdviceForecast['runs'], what: string) =>
    `${what}: ${plural(runs[name].cells, 'cell')}, ${time(runs[name].predicted_seconds)}`
  return [
    text(`${plural(cells, 'cell')}, predicted time ${time(predicted_seconds)} on a quiet machine`),
    ...list([
      line('error', 'errors'),
      line('time', 'times'),
      line('norms', 'errors at smaller norms, measured only if nothing qualifies'),
    ]),
  ]
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
