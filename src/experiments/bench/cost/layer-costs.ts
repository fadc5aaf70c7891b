/** The cost of a transformer layer without its attention. */
import {keyHeads} from '../fields/grouped.js'
import type {BenchCell} from '../schema.js'

const FLOAT = 4
/** Width of the feed-forward part over that of the model. */
export const EXPANSION = 4

export type LayerCell = Pick<
  BenchCell,
  'batch' | 'heads' | 'kv_heads' | 'seq_len' | 'head_dim' | 'value_dim' | 'seed'
>

/** Floating-point operations of a layer without its attention. */
export function layerFlops(cell: LayerCell): number {
  const {batch, heads, seq_len, head_dim, value_dim} = cell
  const width = heads * head_dim
  const columns = (heads + keyHeads(cell)) * (head_dim + value_dim) // of the four projections
  const perToken = width * columns + 2 * EXPANSION * width ** 2
  return 2 * batch * seq_len * perToken
}

/** Memory of a layer without the call of its attention. */
export interface LayerBytes {
  /** Tokens and weights. */
  inputs: number
  /** Tensors of a forward, which all stay until its end. */
  made: number
}

/** Bytes of a layer without the call of its attention. */
export function layerBytes(cell: LayerCell): LayerBytes {
  const {batch, heads, seq_len, head_dim, value_dim} = cell
  const width = heads * head_dim
  const merged = heads * value_dim
  const kept = keyHeads(cell) * (head_dim + value_dim)
  const weights = width * (width + kept + merged + 2 * EXPANSION * width)
  // queries, keys and values before and after they are split; merged, projected, hidden twice
  const perToken = 2 * width + 2 * kept + merged + width + 2 * EXPANSION * width
  const rows = batch * seq_len
  return {inputs: FLOAT * (rows * width + weights), made: FLOAT * rows * perToken}
}
