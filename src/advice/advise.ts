/** From the records of both runs to advice. */

import {expected, type RfaError} from '../errors.js'
import type {MethodSpec} from '../experiments/axes.js'
import {BASELINES} from '../experiments/bench/fields/baselines.js'
import type {BenchRecord, TimedRecord} from '../experiments/bench/schema.js'
import {headsOf} from '../experiments/error-sweep/heavy-lists.js'
import type {CompletedSweep, ErrorSweepRecord} from '../experiments/error-sweep/schema.js'
import {backendItems, inputLabel, troubleItems} from '../experiments/labels.js'
import type {CellRecord} from '../results/record.js'
import {candidateOf} from './candidates.js'
import {adviseLayer, costFields} from './layer.js'
import {notTried} from './not-tried.js'
import {type AdviceRequest, isDefault, type LayerShape} from './plans.js'
import type {Advice, LayerAdvice} from './schema.js'
import {type Counted, Times} from './times.js'

/** Those with numbers. */
export function completedOf<R extends {status: string}>(
  records: readonly R[],
): Extract<R, {status: 'completed'}>[] {
  return records.filter(
    (one): one is Extract<R, {status: 'completed'}> => one.status === 'completed',
  )
}

/**
 * The sizes that the layers of a sweep share.
 *
 * @throws {UNSUPPORTED} where they share none, or nothing was measured
 * @throws {CELL_CRASHED} where nothing was, as cells failed
 */
export function shapeOf(records: readonly ErrorSweepRecord[]): LayerShape {
  const [first, ...others] = completedOf(records).map(({cell, result}) => {
    const {batch, heads, head_dim, value_dim, query_len, key_len} = result
    return {batch, heads, head_dim, value_dim, query_len, key_len, causal: cell.causal}
  })
  if (!first) throw nothingIn(records, 'a method that runs on the input')
  const other = others.find(one => JSON.stringify(one) !== JSON.stringify(first))
  if (other) {
    const got = [first, other].map(shape => JSON.stringify(shape)).join(' and ')
    const remedy = 'take layers of one shape together: --layer'
    throw expected('UNSUPPORTED', 'advise', 'layers of one shape', got, remedy)
  }
  return first
}

/** The error where records lack what advice takes: cells that failed may be run again, others may not. */
export function nothingIn(records: readonly CellRecord<MethodSpec>[], what: string): RfaError {
  const failed = records.some(({status}) => status === 'failed')
  const [why = 'none'] = troubleItems(records)
  return expected(failed ? 'CELL_CRASHED' : 'UNSUPPORTED', 'advise', what, why)
}

/** @throws {UNSUPPORTED} when no exact form was timed, {CELL_CRASHED} where its cells failed */
export function advise(
  request: AdviceRequest,
  runs: {error: readonly ErrorSweepRecord[]; time: readonly BenchRecord[]},
  counted: Counted,
): Advice {
  const sweeps = completedOf(runs.error) as CompletedSweep[]
  const timed = completedOf(runs.time) as TimedRecord[]
  const shape = shapeOf(runs.error)
  if (!timed.some(({cell}) => BASELINES.includes(cell.method))) {
    throw nothingIn(runs.time, 'times of an exact form')
  }
  const times = new Times(timed, counted)
  const length = request.seqLen ?? shape.query_len
  const {metric, tolerance, budgetMs, effort, seed} = request
  const {causal, query_len, key_len, batch, heads, head_dim, value_dim} = shape
  return {
    input: inputLabel(request.input),
    ...{metric, tolerance, budget_ms: budgetMs, effort, seed, causal},
    ...(request.causalAlign && {causal_align: request.causalAlign}),
    ran_causal: ranCausal(sweeps),
    ...{batch, heads, head_dim, value_dim, query_len, key_len, seq_len: length},
    timed_lens: [...new Set(timed.map(({cell}) => cell.seq_len))].sort((a, b) => a - b),
    backend: backendItems(timed).join('; '),
    left_out: [...new Set([...troubleItems(runs.error), ...troubleItems(runs.time)])],
    not_tried: isDefault(request) ? notTried(request.methods) : [],
    exact: times.exact.map(variant => ({
      form: variant.method,
      ...costFields(times.at(variant, length)!),
    })),
    layers: layersOf(request, sweeps, times, length),
  }
}

/** What the file says of all layers. */
function ranCausal(sweeps: readonly CompletedSweep[]): boolean | null {
  const [said = null, ...others] = new Set(sweeps.map(({result}) => result.ran_causal))
  return others.length === 0 ? said : null
}

function layersOf(
  {metric, tolerance, budgetMs}: AdviceRequest,
  sweeps: readonly CompletedSweep[],
  times: Times,
  length: number,
): LayerAdvice[] {
  const layers = [...new Set(sweeps.map(({cell}) => cell.layer ?? null))]
  return layers.map(layer => {
    const own = sweeps.filter(({cell}) => (cell.layer ?? null) === layer)
    const scales = [...new Set(own.map(({cell}) => cell.scale))]
    const candidates = new Map(
      scales.map(scale => {
        const there = own.filter(({cell}) => cell.scale === scale)
        return [scale, there.map(record => candidateOf(record, metric, length))] as const
      }),
    )
    const budget = budgetMs === null ? null : budgetMs * 1e6
    const wish = {tolerance, budget}
    const unscaled = own.find(({cell}) => cell.scale === 1)!
    const entropies = headsOf(unscaled).map(({statistics}) => statistics)
    return adviseLayer({layer, candidates, times, length, wish, metric, entropies})
  })
}
