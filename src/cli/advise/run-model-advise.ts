/** `rfa advise --model`: a swap that searches the layers within a budget, then benchmarks of the model with these, and the advice on both. */
import {
  adviseModel,
  exchangedRows,
  type TimedLayers,
  worthTiming,
} from '../../advice/model/advise.js'
import {type ModelAdviceRequest, modelSwapPlan} from '../../advice/model/plans.js'
import type {ModelAdvice} from '../../advice/model/schema.js'
import type {BenchRecord} from '../../experiments/bench/schema.js'
import {distinct} from '../../experiments/cells.js'
import type {CompletedSwap, SwapRecord} from '../../experiments/swap/schema.js'
import {packagedFile} from '../../inputs/packaged.js'
import {commandText, typeablePath} from '../../report/command-line.js'
import {type ModelAdviseFlags, refuseInputFlags, toModelAdviceRequest} from '../plans/advise.js'
import {toBenchPlan} from '../plans/bench.js'
import type {EstimatorFacts} from '../plans/method-specs.js'
import {lessRead, quickRead} from '../plans/quick-read.js'
import {
  namedTexts,
  PACKAGED_MODEL,
  PACKAGED_TUNED,
  type PretrainedFacts,
  pretrained,
} from '../plans/swap-files.js'
import {learnedElsewhere, tunedFile} from '../plans/tuned.js'
import type {ModelAdviceDocument} from '../program/json-documents.js'
import type {Invocation} from '../program/services.js'
import {type OwnRun, OwnRuns} from '../run/own-folder-run.js'
import {
  type AdviceRunFlags,
  adviceFolder,
  type EndedAdvice,
  failuresOf,
  savedAdvice,
} from './run-advise.js'

const FILE = 'model-advice.json'

/**
 * Measures what advice on a model takes and saves it.
 *
 * @throws {USAGE} for a flag of an input
 * @throws {BAD_FILE | FILE_MISSING | UNSUPPORTED} for a model or texts that cannot be read
 * @throws as `runAdvise`
 */
export async function runModelAdvise(
  flags: ModelAdviseFlags & AdviceRunFlags,
  estimators: EstimatorFacts,
  invocation: Invocation,
): Promise<EndedAdvice<ModelAdviceDocument>> {
  refuseInputFlags(flags)
  const own = await adviceFolder(flags, FILE, invocation)
  const model = await pretrained({...flags, engine: flags.engine ?? 'auto'})
  const texts = await namedTexts(flags)
  const tuned = await tunedFile(
    showsLearned(flags, model.pinned.folder) ? {parameters: packagedFile(PACKAGED_TUNED)} : flags,
  )
  for (const text of learnedElsewhere(tuned, model.facts)) invocation.caution(text)
  const asked = toModelAdviceRequest(flags, model, texts, tuned)
  const request = flags.quick ? quickly(asked, model, texts.letters, invocation) : asked
  return savedAdvice(own, FILE, invocation, async () => {
    const {advice, failed} = await measured(request, {...own, model, estimators}, invocation)
    return {document: {schema: 'rfa.model-advice/2', directory: own.directory, ...advice}, failed}
  })
}

/** The same on as many texts as `--quick` has time for. */
function quickly(
  request: ModelAdviceRequest,
  {facts}: Pick<PretrainedFacts, 'facts'>,
  letters: readonly number[],
  {caution}: Pick<Invocation, 'caution'>,
): ModelAdviceRequest {
  const plan = modelSwapPlan(request)
  const read = quickRead(plan, facts, letters)
  const less = lessRead(plan, read)
  if (less) caution(less)
  return {...request, texts: read.texts, maxTokens: read.max_tokens}
}

type NextFlags = Pick<ModelAdviseFlags, 'model' | 'texts' | 'quick'> &
  Partial<Pick<ModelAdviseFlags, 'engine' | 'device'>>

/** The command to go on with; nothing where losses say nothing. */
export function nextCommand(
  bin: string,
  {model = '', engine, device, texts, quick}: NextFlags,
  {obstacle}: Pick<ModelAdvice, 'obstacle'>,
): string | undefined {
  if (obstacle === 'guess') return undefined
  const by = [...(engine ? ['--engine', engine] : []), ...(device ? ['--device', device] : [])]
  const named = ['--model', typeablePath(model), ...by]
  const how = quick ? ['--quick'] : []
  // learning makes nothing faster
  if (obstacle === 'time' || obstacle === 'untimed') {
    return `next: ${commandText([bin, 'bench', ...named, ...how])}   at which length does the model gain?`
  }
  const read = texts === undefined ? [] : ['--texts', typeablePath(texts)]
  return `next: ${commandText([bin, 'tune', ...named, ...read, ...how])}   what does learning repair?`
}

/** The packaged model on its own texts has what it learned on others. @param folder - of the model */
export function showsLearned(
  flags: Partial<Pick<ModelAdviseFlags, 'texts' | 'methods' | 'num-features' | 'parameters'>>,
  folder: string,
): boolean {
  const {texts, methods, parameters, 'num-features': counts} = flags
  const typed = [texts, methods, parameters, counts]
  return folder === packagedFile(PACKAGED_MODEL) && typed.every(own => own === undefined)
}

async function measured(
  request: ModelAdviceRequest,
  {
    model,
    estimators,
    ...own
  }: Omit<OwnRun, 'name'> & {model: PretrainedFacts; estimators: EstimatorFacts},
  invocation: Invocation,
): Promise<{advice: ModelAdvice; failed: number}> {
  const runs = new OwnRuns(invocation)
  try {
    const swap = await runs.recordsOf<SwapRecord>(modelSwapPlan(request), {...own, name: 'swap'})
    const needed = worthTiming(exchangedRows(swap))
    const layersOf = ({result}: CompletedSwap) => String(result.chosen_layers)
    const all = Array.from({length: request.layers}, (_, layer) => layer).join()
    const times: TimedLayers[] = []
    for (const layers of distinct([all, ...needed.map(layersOf)])) {
      const rows = needed.filter(row => layersOf(row) === layers)
      const flags = timesFlags(request, layers, rows)
      const plan = toBenchPlan(flags, estimators, undefined, undefined, model)
      const name = times.length === 0 ? 'time' : `time-${times.length + 1}`
      times.push({layers, records: await runs.recordsOf<BenchRecord>(plan, {...own, name})})
    }
    const records = times.flatMap(({records}) => records)
    return {advice: adviseModel(request, {swap, times}), failed: failuresOf([...swap, ...records])}
  } finally {
    await runs.end()
  }
}

/** Flags of `rfa bench --model` for the model as it is, without attention in these layers, and with methods there. */
function timesFlags(
  {seqLen, effort, seed, threads}: ModelAdviceRequest,
  layers: string,
  rows: readonly CompletedSwap[],
) {
  const counts = distinct(rows.flatMap(({cell}) => cell.num_features ?? []))
  return {
    ...{methods: distinct(rows.map(({cell}) => cell.method)), layers},
    ...{'seq-len': [[seqLen]], exact: true, quick: effort === 'quick', breakdown: false},
    ...(counts.length > 0 && {'num-features': [counts]}),
    ...{seed, threads: threads ?? undefined},
  }
}
