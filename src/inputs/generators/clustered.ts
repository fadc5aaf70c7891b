import {normals, type RandomStream, randomStream} from '../../random/index.js'
import {emptyArrays, headOf, withNormals} from './fill.js'
import type {Generator} from './types.js'

/** Number of centres per head. */
const CENTRES = 8

/** Standard deviation within a cluster; between clusters it is sqrt(1 - 0.3^2), 1 in all. */
const WITHIN = 0.3

/**
 * Groups: every query and key is `sqrt(1 - s^2) c + s e` around one of k centres `c ~ N(0, I)` of
 * its head, chosen uniformly and shared by queries and keys, `e ~ N(0, I)`; the values lie likewise
 * around the value centre of the key's group.
 *
 * Parameters: k = 8 centres, s = 0.3.
 */
export const clustered: Generator = {
  name: 'clustered',
  title: 'clusters',
  description: 'q, k around 8 shared centres, v around the centre of the key: attention by group',
  parameters: {centres: CENTRES, within: WITHIN},
  prefixStable: true,
  generate(shape) {
    const {batch, heads, headDim, valueDim, seed} = shape
    const arrays = emptyArrays(shape)
    for (let head = 0; head < batch * heads; head++) {
      const draw = (name: string) => randomStream(seed, `input.clustered.${name}`, head)
      const centres = normals(draw('centres'), CENTRES * headDim)
      const valueCentres = normals(draw('value-centres'), CENTRES * valueDim)
      const choice = {query: draw('query-choice'), key: draw('key-choice')}
      // choices have separate streams, so that a longer input keeps its first tokens
      const choose = (part: 'query' | 'key', length: number) =>
        Array.from({length}, () => choice[part].integer(CENTRES))
      const groups = choose('key', shape.keyLen)
      const queryGroups = choose('query', shape.queryLen)
      scatter(headOf(arrays.query, head), queryGroups, centres, draw('query'))
      scatter(headOf(arrays.key, head), groups, centres, draw('key'))
      scatter(headOf(arrays.value, head), groups, valueCentres, draw('value'))
    }
    return arrays
  },
}

/**
 * Writes one point per group index: its centre, shrunk, plus noise.
 *
 * @param rows - `[groups.length, dim]`, overwritten
 * @param centres - `[8, dim]`
 */
function scatter(
  rows: Float32Array,
  groups: readonly number[],
  centres: Float64Array,
  noise: RandomStream,
): void {
  const dim = centres.length / CENTRES
  const between = Math.sqrt(1 - WITHIN ** 2)
  withNormals(groups.length, dim, noise, (normals, start, row) => {
    const centre = groups[row]! * dim
    for (let d = 0; d < dim; d++) {
      rows[row * dim + d] = between * centres[centre + d]! + WITHIN * normals[start + d]!
    }
  })
}
