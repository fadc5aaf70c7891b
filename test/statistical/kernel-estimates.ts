/** Kernel estimates phi(x).phi(y) over many independent draws at once: each draw is a head. */
import * as tf from '@tensorflow/tfjs-core'
import {callNoise} from '../../src/attention/forms/noise.js'
import {
  drawProjection,
  type MethodName,
  type OrthSign,
  type ProjectionName,
} from '../../src/attention/index.js'
import {estimatorNamed, resolveOptions} from '../../src/attention/resolve.js'
import {randomStream} from '../../src/random/index.js'
import {compute} from '../helpers/arrays.js'

export interface EstimateRequest {
  method: MethodName
  options?: Record<string, unknown>
  projection: ProjectionName
  orthSign?: OrthSign
  numFeatures: number
  /** Independent projections. */
  draws: number
  seed: number
}

/** One estimate per draw. */
export function kernelEstimates(
  x: Float64Array,
  y: Float64Array,
  {method, options = {}, projection: name, orthSign, numFeatures, draws, seed}: EstimateRequest,
): Float64Array {
  const {kernel} = factsOf(method)
  const headDim = x.length
  const rows = drawProjection({
    name,
    heads: draws,
    numFeatures,
    headDim,
    seed,
    ...(orthSign && {orthSign}),
  })
  const [featuresX, featuresY] = compute(() => {
    const projection = tf.tensor3d(Float32Array.from(rows), [draws, numFeatures, headDim])
    const shape = {batch: 1, heads: draws, queryLen: 1, keyLen: 1, headDim, valueDim: 1}
    const resolved = optionsOf(method, options)
    const noise = callNoise(
      estimatorNamed(method),
      {...shape, numFeatures, causal: false},
      resolved,
      {},
      {seed, replicate: 0},
    )
    const repeat = (vector: Float64Array) => {
      const one = tf.tensor4d(Float32Array.from(vector), [1, 1, 1, headDim])
      return tf.tile(one, [1, draws, 1, 1]) as tf.Tensor4D
    }
    const vectors = {query: x, key: y}
    const calibration = {query: [x], key: [y]}
    const features = (side: 'query' | 'key') =>
      kernel.features(repeat(vectors[side]), projection, resolved, {side, noise, calibration})
    return [features('query'), features('key')]
  })
  const count = featuresX!.length / draws
  return Float64Array.from({length: draws}, (_, draw) => {
    let sum = 0
    for (let s = draw * count; s < (draw + 1) * count; s++) sum += featuresX![s]! * featuresY![s]!
    return sum
  })
}

/** What theory says of one estimate; features that look at data are set by the pair itself, as in {@link kernelEstimates}. */
export function momentsOf(
  method: MethodName,
  x: Float64Array,
  y: Float64Array,
  numFeatures: number,
  options: Record<string, unknown> = {},
) {
  const calibration = {query: [x], key: [y]}
  const resolved = optionsOf(method, options)
  return factsOf(method).kernel.moments(x, y, {numFeatures, options: resolved, calibration})
}

/** The estimator, which must declare kernel facts. */
export function factsOf(method: MethodName) {
  const estimator = estimatorNamed(method)
  if (!estimator.kernel) throw new Error(`${method}: declares no kernel`)
  return {...estimator, kernel: estimator.kernel}
}

export function optionsOf(method: MethodName, options: Record<string, unknown> = {}) {
  return resolveOptions(estimatorNamed(method), 'exact', options)
}

/** A vector of the given length in a seeded direction, rounded to float32. */
export function vector(name: string, headDim: number, length: number): Float64Array {
  const stream = randomStream(77, name)
  const raw = Float64Array.from({length: headDim}, () => stream.normal())
  const norm = Math.hypot(...raw)
  return raw.map(x => Math.fround((x * length) / norm))
}
