/** One cell with a whole model: its forward passes or decodes, in one of the processes of the cell. */
import {recordOperations} from '../../../attention/index.js'
import {tf} from '../../../tf.js'
import type {ResolvedMethod} from '../../method.js'
import {workOf} from '../cost/work.js'
import {markedTokens} from '../fields/token-marks.js'
import type {BenchResult} from '../schema.js'
import {timeSteps} from './decode-cell.js'
import {callUntilWarm, isCold} from './forward.js'
import type {ModelCell} from './inputs.js'
import {type LoadedModel, loadedModel, readyModel, readySteps} from './model.js'
import {type Others, type TimedCell, timeRuns} from './timing.js'

type TimedModel = TimedCell &
  Pick<BenchResult, 'model_kind' | 'model_layers' | 'projection_ns' | 'work_flops'>

/** Forwards that are longer than this, in ns, read all weights anew: it does not matter to them what others left in the caches. */
const WARMED_NS = 20e6

/** Tokens of a text on which code is made warm. */
const WARM_TOKENS = 16

/** What a model is, and what a run of it computes, in its records. */
function modelFields(cell: ModelCell, method: ResolvedMethod, {model}: LoadedModel) {
  const {kind, layers} = model.facts
  return {model_kind: kind, model_layers: layers, work_flops: workOf(cell, method, model)}
}

/**
 * Times a whole model from the embeddings of its tokens on, which are looked up before: forward passes, or token by token.
 *
 * @param warmCalls - most forwards of a short text before, by which code is compiled. Default: enough of them
 */
export async function timeModelCell(
  cell: ModelCell,
  method: ResolvedMethod,
  others: Others,
  warmCalls?: number,
): Promise<TimedModel> {
  const loaded = await loadedModel(cell.model)
  if (cell.mode === 'decode') return timeModelDecode(cell, method, loaded, others)
  const few = {...cell, batch: 1, seq_len: Math.min(cell.seq_len, WARM_TOKENS)}
  if (isCold(few)) {
    const {forward, dispose} = await readyModel(few, method, loaded)
    callUntilWarm(() => tf.dispose(forward()), warmCalls)
    dispose()
  }
  const {forward, projection_ns, dispose} = await readyModel(cell, method, loaded)
  const run = () => tf.dispose(forward())
  const {operations} = recordOperations(run)
  const timing = await timeRuns(run, cell.timing, {...others, warmedNs: WARMED_NS})
  dispose()
  return {operations, timing, live_bytes: null, projection_ns, ...modelFields(cell, method, loaded)}
}

/** Times decodes of a whole model, from the embeddings of its tokens to their logits. */
async function timeModelDecode(
  cell: ModelCell,
  method: ResolvedMethod,
  loaded: LoadedModel,
  others: Others,
): Promise<TimedModel> {
  const {make, projection_ns, dispose} = await readySteps(cell, method, loaded)
  const marks = markedTokens(cell.lengths ?? [cell.seq_len])
  const timed = await timeSteps({make, marks}, cell, others)
  dispose()
  return {...timed, projection_ns, ...modelFields(cell, method, loaded)}
}
