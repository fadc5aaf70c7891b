/** One timing of a model that Transformers runs, as its users run it, in a process that it shares with other cells. */
import {availableParallelism} from 'node:os'
import {useBackend} from '../../../backends/index.js'
import {expected} from '../../../errors.js'
import {openTransformers, type TransformersModel} from '../../../model/index.js'
import type {CellContext, CellOutcome} from '../../experiment.js'
import {featureDimOf, resolveMethod} from '../../method.js'
import {statedSizes, transformersFacts} from '../../pretrained.js'
import {torchMethod, whyNotInTorch} from '../../torch-methods.js'
import {workOf} from '../cost/work.js'
import {MODELS_OWN, PASS_THROUGH} from '../fields/baselines.js'
import type {BenchCell, BenchResult} from '../schema.js'
import {looking, watchConditions} from './conditions.js'
import {type ModelCell, modelCell} from './inputs.js'
import {randomTokens} from './model.js'
import {timeMeasured} from './timing.js'
import {startWaiting} from './waiting.js'
import {whyNotTimed} from './why-not-timed.js'

/** Tokens of the text that is checked, and what may differ, over the largest entry: float32 in another order of sums. */
const [GATE_TOKENS, MOST_OFF] = [64, 1e-3]

/** Runs the cell of an engine; what is timed is held against what a swap runs first. */
export async function runEngineCell(
  given: BenchCell,
  {threadShare, process = 0, ...others}: CellContext,
): Promise<CellOutcome<BenchResult>> {
  // nothing of ours is timed
  await useBackend('cpu')
  const cell = modelCell(given)!
  const method = await resolveMethod(cell)
  const threads = cell.threads ?? threadShare ?? availableParallelism()
  const model = await sharedModel(cell, threads)
  const isOwn = cell.method === MODELS_OWN
  const passes = cell.method === PASS_THROUGH
  const reason = isOwn || passes ? undefined : whyNotInTorch(model, cell)
  const why = reason ?? whyNotTimed(cell, method)
  if (why) return {status: 'skipped', reason: why}
  const asked = isOwn
    ? {layers: [], method: null}
    : {layers: cell.layers, method: torchMethod(cell)}
  // its other processes run the same code
  const gate = process === 0 ? await passGate(model, cell, asked) : null
  const tokens = randomTokens(cell, model.facts.vocabulary)
  const watch = watchConditions()
  const timing = await timeMeasured(
    (counts, left) => model.time(tokens, asked, counts ? left() : {runs: 1, ns: 0}),
    cell.timing,
    {
      ...others,
      yieldTurn: looking(others.yieldTurn, watch),
      waiting: () => startWaiting(`/proc/${model.pid}/task`),
    },
  )
  const {facts, parameters} = model
  const sizes = statedSizes(
    {name: 'transformers', ...facts, head_dim: facts.headDim, parameters},
    cell.causal,
  )
  return {
    status: 'completed',
    result: {
      feature_dim: featureDimOf(method, cell, cell.head_dim),
      ...transformersFacts(model.engine, threads),
      ...{processes: 1, operations: {}, gate, ...timing},
      ...{model_kind: facts.kind, model_layers: facts.layers},
      conditions: watch.end(),
      fma_peak_gflops: null,
      live_bytes: null,
      projection_ns: null,
      work_flops: workOf(cell, method, sizes),
      // the process holds what other cells have made, too
      peak_rss_over_baseline_bytes: null,
    },
  }
}

/** Models of this process; each ends when its input does, with this process at the latest. */
const models = new Map<string, Promise<TransformersModel>>()

function sharedModel({model, device}: ModelCell, threads: number): Promise<TransformersModel> {
  const key = JSON.stringify([model, device, threads])
  const known = models.get(key) ?? openTransformers(model.folder, {threads, device, timed: true})
  models.set(key, known)
  known.catch(() => models.delete(key))
  return known
}

/** @throws {GATE_FAILED} where the model that is timed computes something else than the one that a swap exchanges */
async function passGate(
  model: TransformersModel,
  cell: ModelCell,
  asked: Parameters<TransformersModel['time']>[1],
): Promise<BenchResult['gate']> {
  const rows = Math.min(GATE_TOKENS, cell.seq_len)
  const tokens = randomTokens({...cell, batch: 1, seq_len: rows}, model.facts.vocabulary)
  const {error, largest} = await model.gate(tokens, asked)
  const bound = MOST_OFF * largest
  if (error <= bound) return {max_abs_error: error, bound, rows}
  const what = `outputs within ${bound} of those of rfa swap`
  throw expected('GATE_FAILED', `${cell.method} in ${model.facts.kind}`, what, String(error))
}
