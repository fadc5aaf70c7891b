import * as tf from '@tensorflow/tfjs-core'
import favorPositive from '../../src/attention/estimators/favor-positive.js'
import {drawProjection, type Projection} from '../../src/attention/index.js'
import {adapted, simplexDirections} from '../../src/attention/projections/simplex.js'
import {compute} from '../helpers/arrays.js'
import {assertWithin, ELEMENTARY, gamma, U} from '../helpers/rounding.js'
import type {CaseArrays, GoldenCase} from './cases.js'
import {referenceError} from './check.js'
import {dot, rowAt} from './factor-bounds.js'
import {checkStatedProperties} from './projections.js'

type SimplexName = 'simplex' | 'simplex-plus'

/** Simplex rows: their Gram matrix from the drawn lengths, and the Gaussian kernel estimated with them. */
export function checkGaussianKernel(
  golden: GoldenCase,
  arrays: CaseArrays,
  name: SimplexName,
): void {
  checkGram(golden, arrays, name)
  checkCosines(golden, arrays, name)
  checkKernel(golden, arrays)
}

/** A rotation in front changes no inner product of rows. */
function checkGram(golden: GoldenCase, arrays: CaseArrays, name: SimplexName): void {
  const W = arrays.numbers('W')
  const headDim = arrays.shape('W').at(-1)!
  const drawn = arrays.shape('chi2')[0]!
  for (let block = 0; block * headDim * headDim < W.length; block++) {
    // SimRF+ draws lengths once for all blocks
    const row = rowAt(arrays.numbers('chi2'), Math.min(block, drawn - 1), headDim)
    const lengths = Float64Array.from(row, Math.sqrt)
    const directions = simplexDirections(headDim)
    if (name === 'simplex-plus') adapted(directions, lengths)
    const gram = (matrix: Float64Array, first: number, factor: (i: number) => number) =>
      Float64Array.from({length: headDim * headDim}, (_, at) => {
        const [i, j] = [Math.floor(at / headDim), at % headDim]
        const [a, b] = [rowAt(matrix, first + i, headDim), rowAt(matrix, first + j, headDim)]
        return factor(i) * factor(j) * dot(a, b)
      })
    const expected = gram(directions, 0, i => lengths[i]!)
    const bound = new Float64Array(expected.length).fill(referenceError(golden, expected))
    const found = gram(W, block * headDim, () => 1)
    assertWithin(`${golden.name}: Gram matrix of block ${block}`, found, expected, bound)
  }
}

/** The stated mean cosine between rows, and that of a regular simplex for plain SimRFs. */
function checkCosines(golden: GoldenCase, arrays: CaseArrays, name: SimplexName): void {
  const headDim = arrays.shape('W').at(-1)!
  const cosines = blockCosines(arrays.numbers('W').subarray(0, headDim * headDim), headDim)
  const mean = cosines.reduce((sum, x) => sum + x, 0) / cosines.length
  const close = headDim * 2 ** -44
  const {cos_between_rows: stated} = golden
  if (typeof stated === 'number') assertWithin(`${golden.name}: cosine`, [mean], [stated], [close])
  if (name !== 'simplex') return
  const expected = new Float64Array(cosines.length).fill(-1 / (headDim - 1))
  const bound = new Float64Array(cosines.length).fill(close)
  assertWithin(`${golden.name}: cosines`, cosines, expected, bound)
}

/** Cosines between any two rows. */
function blockCosines(rows: Float64Array, headDim: number): number[] {
  const count = rows.length / headDim
  const row = (i: number) => rowAt(rows, i, headDim)
  return Array.from({length: count}, (_, i) =>
    Array.from({length: i}, (_x, j) => {
      return dot(row(i), row(j)) / Math.sqrt(dot(row(i), row(i)) * dot(row(j), row(j)))
    }),
  ).flat()
}

/**
 * The peer's feature is exp(w.x - |x|^2) / sqrt(M): ours times exp(-|x|^2/2). In float32 the argument errs by
 * D + 4 roundings of its summed magnitudes (W itself is one), exp and the scale by a few more.
 */
function checkKernel(golden: GoldenCase, arrays: CaseArrays): void {
  const [x, y] = (['x', 'y'] as const).map(side => checkFeatures(golden, arrays, side))
  const headDim = arrays.shape('W').at(-1)!
  const count = arrays.shape('W')[0]!
  const expected = arrays.numbers('out')
  const columns = y!.value.length / count
  const tolerance = referenceError(golden, expected)
  const products = expected.map((_, at) => {
    const [i, j] = [Math.floor(at / columns), at % columns]
    return dot(rowAt(x!.value, i, count), rowAt(y!.value, j, count))
  })
  const bound = expected.map((value, at) => {
    const [i, j] = [Math.floor(at / columns), at % columns]
    const relative = x!.relative[i]! + y!.relative[j]! + gamma(headDim)
    return tolerance + (value + tolerance) * relative * (1 + relative)
  })
  assertWithin(`${golden.name}: kernel`, products, expected, bound)
}

/** Checks one side's features; returns them with the largest relative error of each row. */
function checkFeatures(golden: GoldenCase, arrays: CaseArrays, side: 'x' | 'y') {
  const [length, headDim] = arrays.shape(side) as [number, number]
  const count = arrays.shape('W')[0]!
  const expected = arrays.numbers(`phi_${side}`)
  const value = Float64Array.from(peerFeatures(arrays, side))
  const relative = Float64Array.from({length}, (_, i) => {
    const vector = rowAt(arrays.numbers(side), i, headDim)
    let largest = 0
    for (let s = 0; s < count; s++) {
      const row = rowAt(arrays.numbers('W'), s, headDim)
      largest = Math.max(
        largest,
        row.reduce((sum, w, d) => sum + Math.abs(w * vector[d]!), 0),
      )
    }
    return Math.expm1(
      (headDim + 4) * U * (largest + dot(vector, vector)) + (2 * ELEMENTARY + 6) * U,
    )
  })
  const tolerance = referenceError(golden, expected)
  const bound = expected.map(
    (feature, at) => tolerance + relative[Math.floor(at / count)]! * feature,
  )
  assertWithin(`${golden.name}: phi_${side}`, value, expected, bound)
  return {value, relative}
}

function peerFeatures(arrays: CaseArrays, side: 'x' | 'y'): Float32Array {
  const [length, headDim] = arrays.shape(side) as [number, number]
  return compute(() => {
    const vectors = tf.tensor4d(Float32Array.from(arrays.numbers(side)), [1, 1, length, headDim])
    const shape = arrays.shape('W') as [number, number]
    const projection: Projection = tf.tensor2d(Float32Array.from(arrays.numbers('W')), shape)
    const features = favorPositive.kernel!.features(
      vectors,
      projection,
      favorPositive.options.parse({}),
      {side: 'query', noise: {}, calibration: {query: [], key: []}},
    )
    return tf.mul(features, tf.exp(tf.mul(tf.sum(tf.square(vectors), -1, true), -0.5)))
  })
}

/** Rows of each block, the truncated one too, point to vertices of a simplex; so do those of our draw. */
export function checkSimplexMatrix(golden: GoldenCase, arrays: CaseArrays): void {
  checkStatedProperties(golden, arrays)
  const [count, headDim] = arrays.shape('out').slice(-2) as [number, number]
  const own = drawProjection({name: 'simplex', heads: 1, numFeatures: count, headDim, seed: 2})
  // in float32, products of three transforms of log2(D) steps, lengths and cosines of D terms
  const peerBound = (4 * headDim + 3 * Math.log2(headDim)) * U
  for (const [rows, bound] of [
    [arrays.numbers('out'), peerBound],
    [own, headDim * 2 ** -46],
  ] as const) {
    for (let first = 0; first < count; first += headDim) {
      const block = rows.slice(first * headDim, Math.min(first + headDim, count) * headDim)
      const cosines = blockCosines(block, headDim)
      const expected = new Float64Array(cosines.length).fill(-1 / (headDim - 1))
      const bounds = new Float64Array(cosines.length).fill(bound)
      assertWithin(`${golden.name}: cosines of block ${first / headDim}`, cosines, expected, bounds)
    }
  }
}
