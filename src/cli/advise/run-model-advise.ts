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
import type {ModelFacts} from '../../model/index.js'
import {commandText, typeablePath} from '../../report/command-line.js'
import {type ModelAdviseFlags, refuseInputFlags, toModelAdviceRequest} from '../plans/advise.js'
import {toBenchPlan} from '../plans/bench.js'
import type {EstimatorFacts} from '../plans/method-specs.js'
import {pretrained, swapFiles} from '../plans/swap-files.js'
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

/** File of the advice, in the folder of its runs. */
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
  const {facts} = await pretrained(flags)
  const files = await swapFiles(flags)
  const tuned = await tunedFile(flags)
  for (const text of learnedElsewhere(tuned, facts)) invocation.caution(text)
  const request = toModelAdviceRequest(flags, files, facts, tuned)
  return savedAdvice(own, FILE, invocation, async () => {
    const {advice, failed} = await measured(request, {...own, facts, estimators}, invocation)
    return {
      document: {schema: 'rfa.model-advice/2', directory: own.directory, ...advice},
      failed,
    }
  })
}

/** The command that says what learning repairs; nothing where losses say nothing. */
export function nextTune(
  bin: string,
  {model = '', texts}: Pick<ModelAdviseFlags, 'model' | 'texts'>,
  {obstacle}: Pick<ModelAdvice, 'obstacle'>,
): string | undefined {
  if (obstacle === 'guess') return undefined
  const read = texts === undefined ? [] : ['--texts', typeablePath(texts)]
  const command = commandText([bin, 'tune', '--model', typeablePath(model), ...read])
  return `next: ${command}   what does learning repair?`
}

async function measured(
  request: ModelAdviceRequest,
  {
    facts,
    estimators,
    ...own
  }: Omit<OwnRun, 'name'> & {facts: ModelFacts; estimators: EstimatorFacts},
  invocation: Invocation,
): Promise<{advice: ModelAdvice; failed: number}> {
  const runs = new OwnRuns(invocation)
  try {
    const swap = await runs.recordsOf<SwapRecord>(modelSwapPlan(request), {...own, name: 'swap'})
    const needed = worthTiming(exchangedRows(swap))
    const all = Array.from({length: request.layers}, (_, layer) => layer)
    const times: TimedLayers[] = []
    for (const layers of distinctSets([all, ...needed.map(({result}) => result.chosen_layers!)])) {
      const rows = needed.filter(({result}) => String(result.chosen_layers) === String(layers))
      const flags = timesFlags(request, layers, rows)
      const plan = toBenchPlan(flags, estimators, undefined, undefined, {
        facts,
        pinned: request.model,
      })
      const name = times.length === 0 ? 'time' : `time-${times.length + 1}`
      times.push({layers, records: await runs.recordsOf<BenchRecord>(plan, {...own, name})})
    }
    const records = times.flatMap(({records}) => records)
    return {advice: adviseModel(request, {swap, times}), failed: failuresOf([...swap, ...records])}
  } finally {
    await runs.end()
  }
}

function distinctSets(sets: readonly number[][]): number[][] {
  return [...new Map(sets.map(set => [set.join(), set])).values()]
}

/** Flags of `rfa bench --model` for the model as it is, without attention in these layers, and with methods there. */
function timesFlags(
  {seqLen, effort, seed, threads}: ModelAdviceRequest,
  layers: readonly number[],
  rows: readonly CompletedSwap[],
) {
  const counts = distinct(rows.flatMap(({cell}) => cell.num_features ?? []))
  return {
    ...{methods: distinct(rows.map(({cell}) => cell.method)), layers: layers.join()},
    ...{'seq-len': [[seqLen]], exact: true, quick: effort === 'quick', breakdown: false},
    ...(counts.length > 0 && {'num-features': [counts]}),
    ...{seed, threads: threads ?? undefined},
  }
}
