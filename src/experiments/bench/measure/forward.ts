/** The forward pass of a cell, and the code that it runs. */
import {attend, type ProjectionSource} from '../../../attention/index.js'
import {callNoise} from '../../../attention/internal.js'
import {repeatHeads} from '../../../model/repeat-heads.js'
import {tf} from '../../../tf.js'
import type {TunedCall} from '../../../tuned/call.js'
import {attendOptions, drawOf} from '../../axes.js'
import type {ResolvedMethod} from '../../method.js'
import {benchShape} from '../cost/work.js'
import {keyHeads} from '../fields/grouped.js'
import type {BenchCell} from '../schema.js'
import {benchArrays, newSource} from './inputs.js'
import {type Attention, layerForward, makeLayer} from './layer.js'
import {monotonic} from './timing.js'

/** What is computed, and where its projections come from, which outlive it. */
export interface Forward {
  cell: BenchCell
  method: ResolvedMethod
  source: Pick<ProjectionSource, 'next'> | undefined
  /** Learned parameters. Default: none */
  tuned?: TunedCall | undefined
}

/** One forward pass, and what it computes with until that is disposed of. */
export function forwardOf({cell, method, source, tuned}: Forward) {
  const {estimator, options: methodOptions} = method
  // drawn before the timed region, as a trained model would have it
  const noise = callNoise(estimator, benchShape(cell), methodOptions, {}, drawOf(cell))
  const options = {...attendOptions(cell), noise}
  const attention: Attention = (query, key, value) => {
    const projection = source && {projection: source.next()}
    return tf.tidy(() => {
      const [full, values] = [repeatHeads(key, cell.heads), repeatHeads(value, cell.heads)]
      return attend(query, full, values, {...options, ...projection}).out
    })
  }
  // the maps of a model are part of its projections: of a layer, too, they take no time
  const tensors = cell.mode === 'layer' ? undefined : mapped(benchTensors(cell), tuned)
  const layer = tensors ? undefined : makeLayer(cell)
  const pass = (): tf.Tensor =>
    layer ? layerForward(layer, cell, attention) : attention(...tensors!)
  const dispose = () => tf.dispose([noise, tensors, layer].flatMap(own => Object.values(own ?? {})))
  return {forward: () => tf.dispose(tf.tidy(pass)), tensors, options, dispose}
}

type Inputs = [query: tf.Tensor4D, key: tf.Tensor4D, value: tf.Tensor4D]

/** Queries and keys with their maps applied. */
function mapped([query, key, value]: Inputs, tuned: TunedCall | undefined): Inputs {
  if (!tuned) return [query, key, value]
  const own = tuned(query, key)
  tf.dispose([query, key, ...(own.projection ? [own.projection] : [])])
  return [own.query, own.key, value]
}

/**
 * Calls of a small forward after which V8 has compiled what they run, and the most that they may take together: backends without
 * vector instructions get fewer.
 */
const WARM = {calls: 1000, ns: 0.25e9, rows: 64}
/** Calls after which a forward takes no memory for the first time. */
export const FEW_CALLS = 10

/** Calls a small forward until its code is compiled. @param calls - at most */
export function callUntilWarm(forward: () => void, calls = WARM.calls): void {
  const start = monotonic()
  for (let i = 0; i < calls && monotonic() - start < WARM.ns; i++) forward()
}

/** What is warm in this process: cells of other lengths run the same code. */
const warm = new Set<string>()

/** Whether a small forward is the first one of its kind in this process. */
export function isCold(few: object): boolean {
  const key = JSON.stringify(few)
  if (warm.has(key)) return false
  warm.add(key)
  return true
}

/**
 * Runs what is to be timed on a few rows of one head until its code is compiled. A call with cold code takes some
 * 50 us longer, whether short or long, and processes differ in when that ends.
 */
export function warmCode(
  {cell, method}: Pick<Forward, 'cell' | 'method'>,
  calls = WARM.calls,
): void {
  // repeated heads are code, too
  const heads = keyHeads(cell) === cell.heads ? 1 : 2
  const kv_heads = heads === 1 ? undefined : 1
  const few = {...cell, batch: 1, heads, kv_heads, seq_len: Math.min(cell.seq_len, WARM.rows)}
  if (!isCold(few)) return
  const source = newSource(few, method)
  tf.tidy(() => {
    callUntilWarm(forwardOf({cell: few, method, source}).forward, calls)
  })
  source?.dispose()
}

/** Queries, keys and values on the current backend. */
function benchTensors(cell: BenchCell): Inputs {
  const {batch, seq_len, head_dim, value_dim} = cell
  const {query, key, value} = benchArrays(cell)
  const tensor = (values: Float32Array, heads: number, dim: number) =>
    tf.tensor4d(values, [batch, heads, seq_len, dim])
  const own = keyHeads(cell)
  return [
    tensor(query, cell.heads, head_dim),
    tensor(key, own, head_dim),
    tensor(value, own, value_dim),
  ]
}
