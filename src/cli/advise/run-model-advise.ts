/** `rfa advise --model`: a swap that searches the layers within a budget, then a benchmark, and the advice on both. */
import {countsOf} from '../../advice/counted.js'
import {adviseModel, exchangedRows} from '../../advice/model/advise.js'
import {
  type ModelAdviceRequest,
  modelBenchPlan,
  modelSwapPlan,
  shapeOfModel,
} from '../../advice/model/plans.js'
import type {ModelAdvice} from '../../advice/model/schema.js'
import type {BenchRecord} from '../../experiments/bench/schema.js'
import type {SwapRecord} from '../../experiments/swap/schema.js'
import {openModel} from '../../model/index.js'
import {type ModelAdviseFlags, refuseInputFlags, toModelAdviceRequest} from '../plans/advise.js'
import {swapFiles} from '../plans/swap-files.js'
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
  invocation: Invocation,
): Promise<EndedAdvice<ModelAdviceDocument>> {
  refuseInputFlags(flags)
  const own = await adviceFolder(flags, FILE, invocation)
  const files = await swapFiles(flags)
  const tuned = await tunedFile(flags)
  for (const text of learnedElsewhere(tuned, files.facts)) invocation.caution(text)
  const request = toModelAdviceRequest(flags, files, tuned)
  return savedAdvice(own, FILE, invocation, async () => {
    const {advice, failed} = await measured(request, own, invocation)
    return {
      document: {schema: 'rfa.model-advice/1', directory: own.directory, ...advice},
      failed,
    }
  })
}

async function measured(
  request: ModelAdviceRequest,
  own: Omit<OwnRun, 'name'>,
  invocation: Invocation,
): Promise<{advice: ModelAdvice; failed: number}> {
  const runs = new OwnRuns(invocation)
  try {
    const swap = await runs.recordsOf<SwapRecord>(modelSwapPlan(request), {...own, name: 'swap'})
    const rows = exchangedRows(swap)
    const variants = rows.map(({cell}) => cell)
    const counted = await countsOf(shapeOfModel(rows[0]!), variants)
    const plan = modelBenchPlan(request, rows, counted)
    const time = await runs.recordsOf<BenchRecord>(plan, {...own, name: 'time'})
    const others = await otherOperations(request)
    const advice = adviseModel(request, {swap, time}, counted, others)
    return {advice, failed: failuresOf([...swap, ...time])}
  } finally {
    await runs.end()
  }
}

/** Operations of the model on a text of the length without attention: two for each weight and token, tables of embeddings apart. */
async function otherOperations({model, layers, seqLen}: ModelAdviceRequest): Promise<number> {
  const opened = await openModel(model.folder)
  await opened.close()
  const {sizes} = opened
  return 2 * seqLen * (layers * sizes.layer + sizes.head)
}
