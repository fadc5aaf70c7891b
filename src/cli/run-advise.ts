/** `rfa advise`: a sweep of errors, then a benchmark, each in a folder of its own, and the advice on both. */
import {existsSync} from 'node:fs'
import {join} from 'node:path'
import {advise, completedOf, shapeOf} from '../advice/advise.js'
import {countsOf} from '../advice/counted.js'
import {type AdviceRequest, benchPlanFor, sweepPlanOf} from '../advice/plans.js'
import type {AsTyped} from '../advice/report.js'
import type {Advice} from '../advice/schema.js'
import {expected} from '../errors.js'
import type {BenchRecord} from '../experiments/bench/schema.js'
import type {ErrorSweepRecord} from '../experiments/error-sweep/schema.js'
import {writeAtomic} from '../files.js'
import {makeFolder} from '../results/files.js'
import type {AdviceDocument} from './json-documents.js'
import {type OwnRun, OwnRuns} from './own-folder-run.js'
import type {AdviseFlags} from './plans/advise.js'
import {type Invocation, refuseResumeOfNothing} from './run-plan.js'

/** File of the advice, in the folder of its runs. */
const FILE = 'advise.json'

/**
 * Measures what the advice takes and saves it.
 *
 * @throws {USAGE} for `--resume` without a folder
 * @throws {WOULD_OVERWRITE} where advice lies that is not to be gone on with
 * @throws {UNSUPPORTED} where nothing could be measured, or layers have other sizes than one another
 * @throws {INTERRUPTED} after Ctrl-C, telling how to go on
 * @throws what running a plan throws
 */
export async function runAdvise(
  request: AdviceRequest,
  flags: Pick<AdviseFlags, 'output' | 'resume' | 'threads'> & {quiet: boolean},
  invocation: Invocation,
): Promise<AdviceDocument> {
  refuseResumeOfNothing(flags)
  const directory =
    flags.output ?? (await invocation.services.newRunDirectory('advise', new Date()))
  if (!flags.resume && existsSync(join(directory, FILE))) {
    const remedies = ['choose another folder', 'or go on with it: --resume']
    throw expected('WOULD_OVERWRITE', directory, 'no advice yet', FILE, ...remedies)
  }
  const {resume, quiet, threads} = flags
  const facts = await measured(request, {directory, resume, quiet, threads}, invocation)
  const document: AdviceDocument = {schema: 'rfa.advice/1', directory, ...facts}
  await makeFolder(directory)
  await writeAtomic(join(directory, FILE), `${JSON.stringify(document, null, 2)}\n`)
  return document
}

/** What the runs of errors and of times say. */
async function measured(
  request: AdviceRequest,
  own: Omit<OwnRun, 'name'>,
  invocation: Invocation,
): Promise<Advice> {
  const runs = new OwnRuns(invocation)
  try {
    invocation.note('run 1 of 2: errors')
    const error = await runs.recordsOf<ErrorSweepRecord>(sweepPlanOf(request), {
      ...own,
      name: 'error',
    })
    const shape = shapeOf(error)
    const variants = completedOf(error).map(({cell}) => cell)
    const counted = await countsOf(shape, request.causal, variants)
    invocation.note('run 2 of 2: times')
    const plan = benchPlanFor(request, shape, variants, counted)
    const time = await runs.recordsOf<BenchRecord>(plan, {...own, name: 'time'})
    return advise(request, {error, time}, counted)
  } finally {
    await runs.end()
  }
}

/** The input as it was typed, for commands that measure on it again. */
export function asTyped(bin: string, request: AdviceRequest): AsTyped {
  const {input, logitScale} = request
  const {paths, names, layout} = input as Extract<typeof input, {kind: 'file'}>
  const comma = paths.map(path => path.replaceAll(',', '\\,')).join(',')
  const others = Object.entries({
    '--query-name': names.query === 'q' ? undefined : names.query,
    '--key-name': names.key === 'k' ? undefined : names.key,
    '--value-name': names.value === 'v' ? undefined : names.value,
    '--key-mask-name': names.key_mask,
    '--layout': layout,
    '--scale': logitScale,
  }).flatMap(([flag, value]) => (value === undefined ? [] : [flag, String(value)]))
  return {bin, input: ['--input', comma, ...others]}
}
