/**
 * The judge of every engine: attention of a few rows in plain double-precision loops, with a bound on what float32 may
 * make of them.
 *
 * Every method here is `out_i = sum_j a_ij v_j / n_i`. The bound takes the worst case of each rounding, u = 2^-24: those of
 * weights stand in reference-weights.ts, a sum of S terms adds S u of their magnitudes. It grows with S and is still far
 * below what a wrong scale, mask or map does.
 */
import {type PeerCase, rowsOf} from './cases.js'
import type {Inputs} from './inputs.js'
import {type Departures, type Head, U, type WeightRow, weightRows} from './reference-weights.js'

/** A row of the output and how far each of its entries may be off. */
export interface JudgedRow {
  head: number
  /** Index into the output of the case. */
  row: number
  out: Float64Array
  bounds: Float64Array
}

/** Rows that are judged: both ends, about the ends of chunks, and some between, of the first and the last head. */
export function judgedRows(given: PeerCase, inputs: Inputs, departs: Departures): JudgedRow[] {
  const {method, causal, heads, headDim} = given
  const [first, count] =
    given.kind === 'decode' ? [given.position, given.tokens] : [0, given.length]
  const middle = count >> 1
  const wanted = [0, 1, 63, 64, 127, 128, 129, 301, middle, count - 129, count - 2, count - 1]
  const rows = [...new Set(wanted)].filter(row => row >= 0 && row < count)
  return [0, heads - 1].flatMap(number => {
    const head = headOf(inputs, {number, heads, dim: headDim})
    const query = rows.flatMap(row => [...partOf(head.query, first + row, headDim)])
    const asked = {...head, query: Float32Array.from(query)}
    const rowOf = weightRows({method, causal, rows: rowsOf(method)}, asked, departs)
    return rows.map((row, i) => {
      const keys = causal ? first + row + 1 : head.key.length / headDim
      return {head: number, row, ...judged(rowOf(i, keys), head)}
    })
  })
}

function headOf(
  {query, key, value, projection}: Inputs,
  {number, heads, dim}: {number: number; heads: number; dim: number},
): Head {
  const part = (array: Float32Array) => partOf(array, number, array.length / heads)
  return {dim, query: part(query), key: part(key), value: part(value), projection}
}

/** The part of an array that stands at an index, of so many numbers. */
function partOf(array: Float32Array, index: number, size: number): Float32Array {
  return array.subarray(index * size, (index + 1) * size)
}

/** The output of a row, and bounds on its entries. */
function judged(row: WeightRow, {dim, value}: Head): Pick<JudgedRow, 'out' | 'bounds'> {
  const {weights, errors, magnitudes, added, fixed} = row
  const [sums, off] = [new Float64Array(dim), new Float64Array(dim)]
  let [normalizer, normalizerOff] = [added, 0]
  weights.forEach((weight, j) => {
    const error = errors[j]! + weights.length * U * magnitudes[j]!
    normalizer += weight
    normalizerOff += error
    for (let d = 0; d < dim; d++) {
      sums[d]! += weight * value[j * dim + d]!
      off[d]! += error * Math.abs(value[j * dim + d]!)
    }
  })
  if (fixed !== undefined) [normalizer, normalizerOff] = [fixed, 0]
  const out = sums.map(sum => sum / normalizer)
  const bounds = out.map((entry, d) => {
    const moved = off[d]! + Math.abs(entry) * normalizerOff
    return moved / (normalizer - normalizerOff) + 4 * U * Math.abs(entry)
  })
  return {out, bounds}
}
