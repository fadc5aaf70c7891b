/** From the records of both runs to advice on a model. */
import type {BenchRecord, TimedRecord} from '../../experiments/bench/schema.js'
import {YARDSTICK} from '../../experiments/error-sweep/report/ranking.js'
import {backendItems, troubleItems, variantLabel} from '../../experiments/labels.js'
import {
  type CompletedSwap,
  isGuessing,
  lossOf,
  type SwapRecord,
} from '../../experiments/swap/schema.js'
import type {Estimate} from '../../stats/index.js'
import {completedOf, nothingIn} from '../advise.js'
import {costFields, crossoverFields, gainFields} from '../layer.js'
import {type Counted, Times} from '../times.js'
import type {ModelAdviceRequest} from './plans.js'
import type {ModelAdvice, ModelCandidate} from './schema.js'
import {modelStatement} from './statement.js'

/** What was exchanged. @throws {UNSUPPORTED | CELL_CRASHED} where nothing was */
export function exchangedRows(records: readonly SwapRecord[]): CompletedSwap[] {
  const rows = completedOf(records)
  if (rows.length === 0) throw nothingIn(records, 'a method that runs in the model')
  return rows
}

/**
 * @param others - operations of the model on one text of the length, without attention
 * @throws as {@link exchangedRows}; {UNSUPPORTED | CELL_CRASHED} where no exact form was timed
 */
export function adviseModel(
  request: ModelAdviceRequest,
  runs: {swap: readonly SwapRecord[]; time: readonly BenchRecord[]},
  counted: Counted,
  others: number,
): ModelAdvice {
  const rows = exchangedRows(runs.swap)
  const timed = completedOf(runs.time) as TimedRecord[]
  const times = new Times(timed, counted)
  if (times.exact.length === 0) throw nothingIn(runs.time, 'times of an exact form')
  const {seqLen, budget, effort, seed} = request
  const {label: form} = times.fastestExact(seqLen)
  const exact = times.exact.find(one => variantLabel(one) === form)!
  const {cell, result} = rows[0]!
  const candidates = rows
    .map(row => candidateOf(row, times, seqLen))
    .toSorted((a, b) => saving(b) - saving(a) || b.layers.length - a.layers.length)
  const methods = candidates.filter(({method}) => method !== YARDSTICK)
  const average = candidates.find(({method}) => method === YARDSTICK)
  const keeping = methods.filter(({layers}) => layers.length > 0)
  const needed = keeping.filter(({layers}) =>
    layers.some(layer => !average?.layers.includes(layer)),
  )
  const faster = needed.filter(({gain_low}) => (gain_low ?? 0) > 1)
  const conditions = [
    ['guess', !isGuessing(result)],
    ['budget', keeping.length > 0],
    ['average', needed.length > 0],
    ['time', faster.length > 0],
  ] as const
  const obstacle = conditions.find(([, met]) => !met)?.[0] ?? null
  const attention = result.model_layers * counted.flops(exact, seqLen)
  const advice: Omit<ModelAdvice, 'statement'> = {
    ...{model: cell.model.folder, texts: cell.texts.path, causal: cell.causal},
    model_layers: result.model_layers,
    heads: result.heads,
    head_dim: result.head_dim,
    texts_read: result.texts_read,
    tokens_read: result.tokens_read,
    original_nats: result.original_nats,
    guessing_nats: result.guessing_nats,
    attention_share: attention / (attention + others),
    ...{budget, seq_len: seqLen, effort, seed},
    backend: backendItems(timed).join('; '),
    left_out: [...new Set([...troubleItems(runs.swap), ...troubleItems(runs.time)])],
    exact: {form, ...costFields(times.at(exact, seqLen)!)},
    candidate: obstacle === null ? faster[0]!.label : null,
    obstacle,
    candidates,
  }
  return {...advice, statement: modelStatement(advice)}
}

/** Times of exact attention in one layer that are saved in the whole model. */
function saving({layers, gain}: ModelCandidate): number {
  return gain === null ? Number.NEGATIVE_INFINITY : layers.length * (1 - 1 / gain)
}

function candidateOf(row: CompletedSwap, times: Times, length: number): ModelCandidate {
  const {cell, result} = row
  const {method, projection, num_features} = cell
  const {mean, low, high} = lossOf(result)
  const timed = times.at(cell, length)
  const gain = times.gain(cell, length) ?? NOT_TIMED
  const singles = result.tried_sets.filter(({set}) => set.length === 1)
  const least = singles.toSorted(
    (a, b) => (a.loss.mean ?? Number.POSITIVE_INFINITY) - (b.loss.mean ?? Number.POSITIVE_INFINITY),
  )[0]
  return {
    ...{label: variantLabel(cell), method, projection, num_features},
    feature_dim: result.feature_dim,
    parameters: cell.tuned?.path ?? null,
    layers: result.chosen_layers ?? [],
    ...{loss: mean, loss_low: low, loss_high: high},
    least_loss: least?.loss.mean ?? null,
    least_loss_low: least?.loss.low ?? null,
    least_loss_high: least?.loss.high ?? null,
    least_layer: least?.set[0] ?? null,
    ...costFields(timed ?? {time: NOT_TIMED, from: 'measured', bytes: Number.NaN}),
    ...gainFields(gain),
    ...crossoverFields(times.crossover(cell)),
  }
}

const NOT_TIMED: Estimate = {value: Number.NaN, low: Number.NaN, high: Number.NaN}
