/** What a cell of a benchmark computes with. */
import {ProjectionSource} from '../../../attention/index.js'
import {randomStream} from '../../../random/index.js'
import {drawOf} from '../../axes.js'
import type {ResolvedMethod} from '../../method.js'
import {keyHeads} from '../fields/grouped.js'
import type {BenchCell} from '../schema.js'

/** Queries, keys and values N(0, 1), `[B, H, L, D]`, `[B, Hkv, L, D]` and `[B, Hkv, L, Dv]`. */
export function benchArrays(
  cell: Pick<
    BenchCell,
    'batch' | 'heads' | 'kv_heads' | 'seq_len' | 'head_dim' | 'value_dim' | 'seed'
  >,
): Record<'query' | 'key' | 'value', Float32Array> {
  const {batch, seq_len, head_dim, value_dim, seed} = cell
  const draw = (name: string, heads: number, dim: number) => {
    const values = new Float32Array(batch * heads * seq_len * dim)
    randomStream(seed, `bench.${name}`).fillNormals(values)
    return values
  }
  return {
    query: draw('query', cell.heads, head_dim),
    key: draw('key', keyHeads(cell), head_dim),
    value: draw('value', keyHeads(cell), value_dim),
  }
}

/**
 * Projections of a cell, the first of them drawn; none if its method does not use them.
 *
 * @param replicate - which of the independent ones. Default: the first
 */
export function newSource(
  cell: BenchCell,
  {projected}: ResolvedMethod,
  replicate = 0,
): ProjectionSource | undefined {
  const {projection, num_features, heads, head_dim, redraw} = cell
  if (!projected || projection === null || num_features === null) return undefined
  return new ProjectionSource({
    name: projection,
    heads,
    numFeatures: num_features,
    headDim: head_dim,
    ...drawOf(cell, replicate),
    redraw,
  })
}

export type ModelCell = BenchCell & Required<Pick<BenchCell, 'model' | 'layers'>>

export function modelCell(cell: BenchCell): ModelCell | undefined {
  const {model, layers} = cell
  return model && layers && {...cell, model, layers}
}
