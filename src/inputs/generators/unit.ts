import type {AttentionArray} from '../attention-input.js'
import {gaussianArray} from './fill.js'
import type {Generator} from './types.js'

/**
 * Directions only: q and k uniform on the unit sphere, `|q| = |k| = 1` before any scaling (so
 * entries have variance 1/D, the one exception among the generators); v ~ N(0, I).
 *
 * The canonical norm is `D^(-1/4)` at the default logit scale. A factor s of the plan gives `|q| =
 * s`. No parameters.
 */
export const unit: Generator = {
  name: 'unit',
  title: 'unit sphere',
  description: 'q, k uniform on the unit sphere (|q| = |k| = 1 unscaled): what RFA assumes',
  parameters: {},
  prefixStable: true,
  generate({batch, heads, queryLen, keyLen, headDim, valueDim, seed}) {
    const query = gaussianArray([batch, heads, queryLen, headDim], seed, 'input.unit.query')
    const key = gaussianArray([batch, heads, keyLen, headDim], seed, 'input.unit.key')
    return {
      query: normaliseRows(query),
      key: normaliseRows(key),
      value: gaussianArray([batch, heads, keyLen, valueDim], seed, 'input.unit.value'),
    }
  },
}

/** Divides every row by its norm, in place: the direction of a normal vector is uniform. */
function normaliseRows(array: AttentionArray): AttentionArray {
  const dim = array.shape[3]
  for (let start = 0; start < array.data.length; start += dim) {
    const row = array.data.subarray(start, start + dim)
    const norm = Math.sqrt(row.reduce((sum, x) => sum + x * x, 0))
    for (let d = 0; d < dim; d++) row[d]! /= norm
  }
  return array
}
