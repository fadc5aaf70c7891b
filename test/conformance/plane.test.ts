/**
 * Features that take no more from rows than products with vectors, or lengths too, are those of coordinates in the plane
 * of a pair: real rows, turned into it, give the features that they give as they are.
 */
import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import {callNoise, type Noise} from '../../src/attention/forms/noise.js'
import {drawProjection, loadEstimators, METHOD_NAMES} from '../../src/attention/index.js'
import {orthonormalizeRows} from '../../src/attention/projections/orthogonal.js'
import {estimatorNamed, resolveOptions} from '../../src/attention/resolve.js'
import {useBackend} from '../../src/backends/index.js'
import {normals, randomStream} from '../../src/random/index.js'
import {compute} from '../helpers/arrays.js'
import {ELEMENTARY, maxAbs, U} from '../helpers/rounding.js'

await loadEstimators()
beforeAll(() => useBackend('cpu'))

const [D, M, HEADS] = [7, 12, 3]
const DECLARED = METHOD_NAMES.filter(name => estimatorNamed(name).kernel?.rowsBy)
/** Options that change features in ways of their own. */
const CHANGED: Record<string, Record<string, unknown>[]> = {
  'favor-pos': [{stabilizer: 'none', featureScale: 'none', featureEpsilon: 0.1}],
  'favor-trig': [{norms: 'none', constantFeature: 0.5}],
  'favor-relu': [{projectionScale: 'rsqrt', featureEpsilon: 0.1, inputScaling: 'raw'}],
  'favor-exp': [{featureEpsilon: 0.1}],
  hrf: [{signFeatures: 3, lambdaOn: 'trigonometric'}],
  rfa: [{tau: 0.5, normEpsilon: 0.1, featureScale: 0.2}],
  'rfa-arccos': [{featureEpsilon: 0.1}],
  oprf: [{a: -0.3}, {a: 0.1, stabilizer: 'max', scaledTwice: true}],
}
const CASES = DECLARED.flatMap(name =>
  [{}, ...(CHANGED[name] ?? [])].map(options => [name, JSON.stringify(options), options] as const),
)

/** A vector of length about 1, as tensors hold it. */
function vector(name: string): Float32Array {
  return Float32Array.from(normals(randomStream(8, name), D), e => e / Math.sqrt(D))
}

const X = vector('x')
const Y = vector('y')
/** An orthonormal basis whose first two vectors span the pair. */
const BASIS = orthonormalizeRows(
  Float64Array.from([...X, ...Y, ...normals(randomStream(8, 'basis'), (D - 2) * D)]),
  D,
)

/** Coordinates of vectors `[n, D]` in the basis, `[n, columns]`; a third column is the length of all others. */
function turned(vectors: Float32Array, columns: 2 | 3): Float32Array {
  const out = new Float32Array((vectors.length / D) * columns)
  for (let row = 0; row * D < vectors.length; row++) {
    const along = (k: number) =>
      X.reduce((sum, _, d) => sum + BASIS[k * D + d]! * vectors[row * D + d]!, 0)
    out[row * columns] = along(0)
    out[row * columns + 1] = along(1)
    if (columns === 3) {
      const rest = Array.from({length: D - 2}, (_, k) => along(k + 2))
      out[row * columns + 2] = Math.hypot(...rest)
    }
  }
  return out
}

const ROWS = Float32Array.from(
  drawProjection({name: 'iid', heads: HEADS, numFeatures: M, headDim: D, seed: 5}),
)

describe('features of methods that say what they take from rows', () => {
  it('are many', () => {
    expect(DECLARED).toEqual(
      expect.arrayContaining(['favor-pos', 'favor-trig', 'rfa', 'oprf', 'hrf']),
    )
  })

  it.each(CASES)('%s %s: are those of rows and vectors in the plane', (name, _text, given) => {
    const estimator = estimatorNamed(name)
    const kernel = estimator.kernel!
    const options = resolveOptions(estimator, 'exact', given)
    const columns = kernel.rowsBy === 'products' ? 2 : 3
    const shape = {
      ...{batch: 1, heads: HEADS, queryLen: 1, keyLen: 1, headDim: D, valueDim: 1},
      ...{numFeatures: M, causal: false},
    }
    const calibration = {query: [Float64Array.from(X)], key: [Float64Array.from(Y)]}
    const found = compute(() => {
      const noise = callNoise(estimator, shape, options, {}, {seed: 5, replicate: 0})
      // signs of products with such rows: none is so near zero that rounding decides it
      const inPlane: Noise = Object.fromEntries(
        Object.entries(noise).map(([key, own]) => [
          key,
          tf.tensor4d(turned(own.dataSync() as Float32Array, 2), [1, HEADS, own.shape[2], 2]),
        ]),
      )
      const side = (side: 'query' | 'key') => {
        const x = side === 'query' ? X : Y
        const all = (one: Float32Array) =>
          tf.tile(tf.tensor4d(one, [1, 1, 1, one.length]), [1, HEADS, 1, 1]) as tf.Tensor4D
        const draw = {side, calibration}
        const real = tf.tensor3d(ROWS, [HEADS, M, D])
        const plane = tf.tensor3d(turned(ROWS, columns), [HEADS, M, columns])
        const flat = turned(x, 2)
        const coordinates = Float32Array.from({length: columns}, (_, at) => flat[at] ?? 0)
        return [
          kernel.features(all(x), real, options, {...draw, noise}),
          kernel.features(all(coordinates), plane, options, {...draw, noise: inPlane, headDim: D}),
        ]
      }
      return [...side('query'), ...side('key')]
    })
    for (const [real, plane] of [found.slice(0, 2), found.slice(2)] as Float32Array[][]) {
      expect(plane!.length).toBe(real!.length)
      const bound = roundingBound(maxAbs(real!))
      const errors = real!.map((feature, at) => feature - plane![at]!)
      expect(maxAbs(errors)).toBeLessThanOrEqual(bound)
      // not because nothing is there
      expect(maxAbs(real!)).toBeGreaterThan(1000 * bound)
    }
  })
})

/**
 * What float32 may do to a feature on both roads. Arguments are sums of at most 2 D products (w.x, |w|^2 times a number
 * below 1/2, |x|^2), each of terms rounded up to four times; what is applied to them changes by no more than their error
 * times the largest feature, which functions of the elementary kind add to, three of them one after the other.
 */
function roundingBound(largest: number): number {
  let argument = 1
  for (let row = 0; row < HEADS * M; row++) {
    let [along, square] = [0, 0]
    for (let d = 0; d < D; d++) {
      const entry = Math.abs(ROWS[row * D + d]!)
      along += entry * (Math.abs(X[d]!) + Math.abs(Y[d]!))
      square += entry ** 2
    }
    argument = Math.max(argument, 2 * along + square / 2)
  }
  return 2 * (2 * D + 4 + 3 * ELEMENTARY) * U * argument * Math.max(1, largest)
}
