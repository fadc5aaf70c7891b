/** From the records of a swap and of benchmarks to advice on a model. */
import {MODELS_OWN, PASS_THROUGH} from '../../experiments/bench/fields/baselines.js'
import {shareSentence} from '../../experiments/bench/report/model.js'
import type {BenchRecord, TimedRecord} from '../../experiments/bench/schema.js'
import {PairedTimes} from '../../experiments/bench/times/paired-times.js'
import {medianOf} from '../../experiments/bench/times/time-estimates.js'
import {YARDSTICK} from '../../experiments/error-sweep/report/ranking.js'
import {backendItems, troubleItems, variantLabel} from '../../experiments/labels.js'
import {
  type CompletedSwap,
  isGuessing,
  lossOf,
  type SwapCell,
  type SwapRecord,
} from '../../experiments/swap/schema.js'
import {type Estimate, finiteOrNull, mapped} from '../../stats/index.js'
import {completedOf, nothingIn} from '../advise.js'
import {gainFields} from '../layer.js'
import type {ModelAdviceRequest} from './plans.js'
import type {ModelAdvice, ModelCandidate} from './schema.js'
import {modelStatement} from './statement.js'

/** What was exchanged. @throws {UNSUPPORTED | CELL_CRASHED} where nothing was */
export function exchangedRows(records: readonly SwapRecord[]): CompletedSwap[] {
  const rows = completedOf(records)
  if (rows.length === 0) throw nothingIn(records, 'a method that runs in the model')
  return rows
}

/** Methods that keep the budget in a layer where averaging V does not: only their times matter. */
export function worthTiming(rows: readonly CompletedSwap[]): CompletedSwap[] {
  if (isGuessing(rows[0]!.result)) return []
  const average = rows.find(({cell}) => cell.method === YARDSTICK)
  const idle = average?.result.chosen_layers ?? []
  return rows.filter(
    ({cell, result}) =>
      cell.method !== YARDSTICK && result.chosen_layers?.some(layer => !idle.includes(layer)),
  )
}

/** A benchmark of the model with attention exchanged in a set of layers. */
export interface TimedLayers {
  layers: readonly number[]
  records: readonly BenchRecord[]
}

/**
 * @param runs - `times`: all layers first, then the sets of layers of the methods that are worth timing
 * @throws as {@link exchangedRows}; {UNSUPPORTED | CELL_CRASHED} where the model as it is, or without attention, was not timed
 */
export function adviseModel(
  request: ModelAdviceRequest,
  runs: {swap: readonly SwapRecord[]; times: readonly TimedLayers[]},
): ModelAdvice {
  const rows = exchangedRows(runs.swap)
  const needed = worthTiming(rows)
  const times = runs.times.map(one => new ModelTimes(one))
  const {seqLen, budget, effort, seed} = request
  const {cell, result} = rows[0]!
  const timesOf = (row: CompletedSwap) =>
    needed.includes(row)
      ? times.find(({layers}) => String(layers) === String(row.result.chosen_layers))
      : undefined
  const candidates = rows
    .map(row => candidateOf(row, timesOf(row)))
    .toSorted((a, b) => (b.gain ?? 0) - (a.gain ?? 0) || b.layers.length - a.layers.length)
  const timed = candidates.filter(({gain}) => gain !== null)
  const faster = timed.filter(({gain_low}) => (gain_low ?? 0) > 1)
  const keeps = candidates.some(({method, layers}) => method !== YARDSTICK && layers.length > 0)
  const conditions = [
    ['guess', !isGuessing(result)],
    ['budget', keeps],
    ['average', needed.length > 0],
    ['busy', faster.length > 0 || timed.every(({gain_high}) => gain_high !== null)],
    ['time', faster.length > 0],
  ] as const
  const obstacle = conditions.find(([, met]) => !met)?.[0] ?? null
  const whole = times[0]!
  const share = mapped(whole.bound, gain => Math.max(0, 1 - 1 / gain))
  const records = runs.times.flatMap(({records}) => records)
  const advice: Omit<ModelAdvice, 'statement'> = {
    ...{model: cell.model.folder, texts: cell.texts.path, causal: cell.causal},
    model_layers: result.model_layers,
    heads: result.heads,
    head_dim: result.head_dim,
    texts_read: result.texts_read,
    tokens_read: result.tokens_read,
    original_nats: result.original_nats,
    guessing_nats: result.guessing_nats,
    attention_share: finiteOrNull(share.value),
    attention_share_low: finiteOrNull(share.low),
    attention_share_high: finiteOrNull(share.high),
    ...{budget, seq_len: seqLen, effort, seed},
    backend: backendItems(completedOf(records)).join('; '),
    left_out: [...new Set([...troubleItems(runs.swap), ...troubleItems(records)])],
    exact: timeFields(medianOf(whole.exact)),
    candidate: obstacle === null ? faster[0]!.label : null,
    obstacle,
    candidates,
  }
  const told =
    obstacle === null || obstacle === 'time' || obstacle === 'busy' ? timed[0] : undefined
  const bound = times.find(({layers}) => String(layers) === String(told?.layers)) ?? whole
  return {...advice, statement: modelStatement(advice, shareSentence(bound.bound, bound.without))}
}

/** The times of one benchmark. */
class ModelTimes {
  readonly layers: readonly number[]
  /** The model as it is, and without attention in these layers. */
  readonly exact: TimedRecord
  readonly without: TimedRecord
  /** The most that any method can gain. */
  readonly bound: Estimate
  readonly #rows: readonly TimedRecord[]
  readonly #paired: PairedTimes

  /** @throws {UNSUPPORTED | CELL_CRASHED} where the model as it is, or without attention, was not timed */
  constructor({layers, records}: TimedLayers) {
    this.layers = layers
    this.#rows = completedOf(records)
    this.#paired = new PairedTimes(this.#rows)
    const named = (name: string) => this.#rows.find(({cell}) => cell.method === name)
    const [exact, without] = [named(MODELS_OWN), named(PASS_THROUGH)]
    if (!exact || !without) {
      throw nothingIn(records, 'times of the model as it is and without attention')
    }
    this.exact = exact
    this.without = without
    this.bound = this.#paired.ratio(exact, without)
  }

  /** Learned parameters cost nothing: maps fold into the weights, and learned random vectors take the place of drawn ones. */
  of({method, num_features, tuned, ...cell}: SwapCell) {
    const label = variantLabel({...cell, method, num_features})
    const row = this.#rows.find(({cell: own}) =>
      tuned
        ? own.method === method && own.num_features === num_features
        : variantLabel(own) === label,
    )
    return row && {time: medianOf(row), gain: this.#paired.ratio(this.exact, row)}
  }
}

function candidateOf({cell, result}: CompletedSwap, times: ModelTimes | undefined): ModelCandidate {
  const {method, projection, num_features} = cell
  const {mean, low, high} = lossOf(result)
  const own = times?.of(cell)
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
    ...timeFields(own?.time ?? NOT_TIMED),
    ...gainFields(own?.gain ?? NOT_TIMED),
  }
}

const NOT_TIMED: Estimate = {value: Number.NaN, low: Number.NaN, high: Number.NaN}

function timeFields({value, low, high}: Estimate) {
  return {
    time_ns: finiteOrNull(value),
    time_low_ns: finiteOrNull(low),
    time_high_ns: finiteOrNull(high),
  }
}
