import {drawProjection, type ProjectionName} from '../../../src/attention/index.js'
import {orthonormalizeRows} from '../../../src/attention/projections/orthogonal.js'
import {assertWithin, U} from '../../helpers/rounding.js'
import type {CaseArrays, GoldenCase} from '../cases.js'
import type {Family} from './family.js'

/** Matrices of orthogonal rows: stated properties, and Gram-Schmidt of the peer's Gaussian blocks. */
export const projections: Family = {
  name: 'orthogonal projections',
  methods: ['orthogonal projection', 'orthogonal projection, Householder product'],
  check(golden, arrays) {
    checkStatedProperties(golden, arrays)
    checkOwnDraw(golden, arrays)
    if (arrays.has('gauss_blocks') && golden.method === 'orthogonal projection') {
      checkDirections(golden, arrays)
    }
  },
}

interface Properties {
  max_abs_cos_within_block: number
  min_norm: number
  max_norm: number
}

/** Rows as `[count, D]`, heads one after the other. */
function rowsOf(arrays: CaseArrays): {rows: Float64Array; headDim: number; perHead: number} {
  const shape = arrays.shape('out')
  return {rows: arrays.numbers('out'), headDim: shape.at(-1)!, perHead: shape.at(-2)!}
}

/** The properties of the stored matrix are those that the manifest states: our measuring is the peer's. */
function checkStatedProperties(golden: GoldenCase, arrays: CaseArrays): void {
  const stated = golden.properties as Properties | undefined
  if (!stated) return
  const {rows, headDim, perHead} = rowsOf(arrays)
  const found = measure(rows, headDim, perHead)
  // the peer may have measured in float32: D terms
  const names = ['max_abs_cos_within_block', 'min_norm', 'max_norm'] as const
  const label = `${golden.name}: ${names.join(', ')}`
  const expected = names.map(name => stated[name])
  const bound = names.map(name => headDim * U * (1 + stated[name]))
  assertWithin(
    label,
    names.map(name => found[name]),
    expected,
    bound,
  )
}

/** Largest cosine between two rows of a block of D, and the range of row norms. */
function measure(rows: Float64Array, headDim: number, perHead: number): Properties {
  const result = {max_abs_cos_within_block: 0, min_norm: Infinity, max_norm: 0}
  const count = rows.length / headDim
  const row = (i: number) => rows.subarray(i * headDim, (i + 1) * headDim)
  const block = (i: number) =>
    Math.floor(i / perHead) * perHead + Math.floor((i % perHead) / headDim)
  for (let i = 0; i < count; i++) {
    const norm = Math.sqrt(dot(row(i), row(i)))
    result.min_norm = Math.min(result.min_norm, norm)
    result.max_norm = Math.max(result.max_norm, norm)
    for (let j = 0; j < i; j++) {
      if (block(i) !== block(j)) continue
      const cosine = Math.abs(dot(row(i), row(j))) / Math.sqrt(dot(row(j), row(j))) / norm
      result.max_abs_cos_within_block = Math.max(result.max_abs_cos_within_block, cosine)
    }
  }
  return result
}

/** Our draw of the same kind and size: rows of a block orthogonal, lengths as the kind says. */
function checkOwnDraw(golden: GoldenCase, arrays: CaseArrays): void {
  const {rows, headDim, perHead: numFeatures} = rowsOf(arrays)
  const peer = measure(rows, headDim, numFeatures)
  const fixed = peer.max_norm - peer.min_norm <= 2 * headDim * U * peer.max_norm
  const name: ProjectionName = fixed ? 'orth-sqrt-d' : 'orth'
  const draw = drawProjection({name, heads: 1, numFeatures, headDim, seed: 11})
  const own = measure(draw, headDim, numFeatures)
  // double precision, D terms, Gram-Schmidt with a second pass
  const orthogonal = own.max_abs_cos_within_block <= headDim * 2 ** -50
  const root = Math.sqrt(headDim)
  const lengths = !fixed || Math.max(own.max_norm - root, root - own.min_norm) <= root * 2 ** -48
  if (orthogonal && lengths && own.min_norm > 0) return
  throw new Error(`${golden.name}: own draw ${name} has ${JSON.stringify(own)}`)
}

/** The orthogonal factor of the columns of the peer's Gaussian blocks is ours up to signs. */
function checkDirections(golden: GoldenCase, arrays: CaseArrays): void {
  const {rows, headDim, perHead} = rowsOf(arrays)
  const gauss = arrays.numbers('gauss_blocks')
  const size = headDim * headDim
  for (let first = 0, block = 0; first < perHead; first += headDim, block++) {
    const columns = transpose(gauss.slice(block * size, (block + 1) * size), headDim)
    const ours = orthonormalizeRows(Float64Array.from(columns), headDim)
    const bound = new Float64Array(headDim).fill(factorBound(columns, ours, headDim))
    for (let row = 0; row < Math.min(headDim, perHead - first); row++) {
      const peer = rows.subarray((first + row) * headDim, (first + row + 1) * headDim)
      const mine = ours.subarray(row * headDim, (row + 1) * headDim)
      const along = dot(peer, mine)
      const unit = peer.map(x => (Math.sign(along) * x) / Math.sqrt(dot(peer, peer)))
      const label = `${golden.name}: direction ${first + row}`
      assertWithin(label, unit, mine, bound)
    }
  }
}

/**
 * How far a float32 Householder factorisation may be from the exact orthogonal factor: backward
 * error `6 D^1.5 u |A|` (Higham 2002, theorem 19.4), magnified by `sqrt(2) |A^-1|` (Sun 1991), with
 * Frobenius norms; |A^-1| = |R^-1|.
 */
function factorBound(columns: Float64Array, factor: Float64Array, size: number): number {
  const inverse = new Float64Array(size * size) // of R, column by column
  const entry = (i: number, j: number) => dot(rowAt(factor, i, size), rowAt(columns, j, size))
  for (let j = 0; j < size; j++) {
    for (let i = j; i >= 0; i--) {
      let sum = i === j ? 1 : 0
      for (let k = i + 1; k <= j; k++) sum -= entry(i, k) * inverse[k * size + j]!
      inverse[i * size + j] = sum / entry(i, i)
    }
  }
  const backward = 6 * size ** 1.5 * U * Math.sqrt(dot(columns, columns))
  return Math.SQRT2 * Math.sqrt(dot(inverse, inverse)) * backward
}

function rowAt(matrix: Float64Array, row: number, width: number): Float64Array {
  return matrix.subarray(row * width, (row + 1) * width)
}

function transpose(matrix: Float64Array, size: number): Float64Array {
  return matrix.map((_, at) => matrix[(at % size) * size + Math.floor(at / size)]!)
}

function dot(a: Float64Array, b: Float64Array): number {
  return a.reduce((sum, x, i) => sum + x * b[i]!, 0)
}
