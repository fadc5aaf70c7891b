/** From the records of a swap and of benchmarks to advice on a model. */

import {isTold} from '../../answers/index.js'
import {YARDSTICK} from '../../experiments/averaging.js'
import {MODELS_OWN, PASS_THROUGH} from '../../experiments/bench/fields/baselines.js'
import {attentionShare, shareSentence} from '../../experiments/bench/report/lines/model.js'
import type {BenchRecord, TimedRecord} from '../../experiments/bench/schema.js'
import {PairedTimes} from '../../experiments/bench/times/paired-times.js'
import {medianOf} from '../../experiments/bench/times/time-estimates.js'
import {backendItems, troubleItems, variantLabel} from '../../experiments/labels.js'
import {
  type CompletedSwap,
  isGuessing,
  lossOf,
  type SwapCell,
  type SwapRecord,
} from '../../experiments/swap/schema.js'
import {type Estimate, finiteOrNull} from '../../stats/index.js'
import {completedOf, nothingIn} from '../advise.js'
import {gainFields} from '../layer.js'
import {isFaster} from '../recommend.js'
import {isTimeOf} from '../times.js'
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

/** A benchmark of the model with attention exchanged in some layers. */
export interface TimedLayers {
  /** As `--layers` takes them: `0,3`. */
  layers: string
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
  const times = new Map(runs.times.map(one => [one.layers, new ModelTimes(one)]))
  const whole = [...times.values()][0]!
  const {seqLen, budget, effort, seed} = request
  const {cell, result} = rows[0]!
  const joined = rows
    .map(row => ({
      row,
      timed: needed.includes(row)
        ? times.get(String(row.result.chosen_layers))?.of(row.cell)
        : undefined,
    }))
    .toSorted(
      (a, b) =>
        (b.timed?.gain.value ?? 0) - (a.timed?.gain.value ?? 0) ||
        (b.row.result.chosen_layers ?? []).length - (a.row.result.chosen_layers ?? []).length,
    )
  const timed = joined.filter(one => one.timed !== undefined)
  const faster = timed.find(one => isFaster(one.timed!))
  const keeps = rows.some(
    ({cell, result}) => cell.method !== YARDSTICK && (result.chosen_layers ?? []).length > 0,
  )
  const known = timed.length > 0 && timed.every(one => isTold(one.timed!.gain))
  const conditions = [
    ['guess', !isGuessing(result)],
    ['budget', keeps],
    ['average', needed.length > 0],
    ['untimed', faster !== undefined || known],
    ['time', faster !== undefined],
  ] as const
  const obstacle = conditions.find(([, met]) => !met)?.[0] ?? null
  // times of other runs may be those of a machine in another mood
  const told = obstacle === null ? faster : timed[0]
  const answered = times.get(String(told?.row.result.chosen_layers)) ?? whole
  const share = attentionShare(whole.bound)
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
    exact: timeFields(medianOf(answered.exact)),
    candidate: obstacle === null ? variantLabel(faster!.row.cell) : null,
    obstacle,
    candidates: joined.map(({row, timed}) => candidateOf(row, timed)),
  }
  return {
    ...advice,
    statement: modelStatement(advice, shareSentence(answered.bound, answered.without)),
  }
}

interface ModelTime {
  time: Estimate
  gain: Estimate
}

class ModelTimes {
  /** The model as it is, and without attention in these layers. */
  readonly exact: TimedRecord
  readonly without: TimedRecord
  readonly #rows: readonly TimedRecord[]
  readonly #paired: PairedTimes

  /** @throws {UNSUPPORTED | CELL_CRASHED} where the model as it is, or without attention, was not timed */
  constructor({records}: TimedLayers) {
    this.#rows = completedOf(records)
    this.#paired = new PairedTimes(this.#rows)
    const named = (name: string) => this.#rows.find(({cell}) => cell.method === name)
    const [exact, without] = [named(MODELS_OWN), named(PASS_THROUGH)]
    if (!exact || !without) {
      throw nothingIn(records, 'times of the model as it is and without attention')
    }
    this.exact = exact
    this.without = without
  }

  /** The most that any method can gain in these layers. */
  get bound(): Estimate {
    return this.#paired.ratio(this.exact, this.without)
  }

  /** `undefined`: it was not timed. */
  of(cell: SwapCell): ModelTime | undefined {
    const row = this.#rows.find(one => isTimeOf(one.cell, cell))
    return row && {time: medianOf(row), gain: this.#paired.ratio(this.exact, row)}
  }
}

function candidateOf({cell, result}: CompletedSwap, timed: ModelTime | undefined): ModelCandidate {
  const {method, projection, num_features} = cell
  const {mean, low, high} = lossOf(result)
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
    ...timeFields(timed?.time ?? NOT_TIMED),
    ...gainFields(timed?.gain ?? NOT_TIMED),
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
