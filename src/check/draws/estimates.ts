/** Estimates of a kernel, phi(x).phi(y), batch by batch: each draw is a head of one call. */
import {drawProjection, type Estimator} from '../../attention/index.js'
import {attendInputs, callNoise} from '../../attention/internal.js'
import {usesProjection} from '../../attention/names.js'
import {randomStream} from '../../random/index.js'
import {tf} from '../../tf.js'
import {compute} from '../calls/arrays.js'
import type {Subject} from '../types.js'
import type {Pair} from './pairs.js'
import type {Batch} from './sampling.js'
import {type Tilt, tiltRows, tiltsOf} from './tilts.js'

/** How the rows of an estimate are drawn. */
export interface Rows {
  numFeatures: number
  projection: string
  /** Multiples of x + y that rows are moved by, both ways (tilts.ts); none draws them plainly. */
  tilts: readonly number[]
}

/** Plain ones: M of a size that attention has. */
export const PLAIN: Rows = {numFeatures: 13, projection: 'iid', tilts: []}
/** For long vectors: what few rows estimate costs as little time as they are few. */
export const TILTED: Rows = {numFeatures: 2, projection: 'iid', tilts: [1]}

/** What moments of a pair depend on in addition to it. */
export function momentDraw({options}: Estimator, {x, y}: Pair, {numFeatures}: Rows) {
  return {numFeatures, options: options.parse({}), calibration: {query: [x], key: [y]}}
}

/** phi(x).phi(y) of some draws by the kernel facts of an estimator. */
export function kernelEstimates(
  {estimator, seed}: Subject,
  pair: Pair,
  rows: Rows,
  {batch, draws}: {batch: number; draws: number},
): Batch {
  const {x, y} = pair
  const headDim = x.length
  const {numFeatures} = rows
  const options = estimator.options.parse({})
  const shape = {batch: 1, heads: draws, queryLen: 1, keyLen: 1, headDim, valueDim: 1}
  const call = {...shape, numFeatures, causal: false}
  const drawn = {rows, headDim, draws, seed, batch}
  const {matrices, weights} = drawRows(estimator, drawn, tiltsOf([[x, y]], rows.tilts))
  const [queries, keys] = compute(() => {
    const projection = tf.tensor3d(matrices, [draws, numFeatures, headDim])
    const noise = callNoise(estimator, call, options, {}, {seed, replicate: batch})
    const calibration = {query: [x], key: [y]}
    const features = (side: 'query' | 'key', vector: Float64Array) => {
      const one = tf.tensor4d(Float32Array.from(vector), [1, 1, 1, headDim])
      const repeated: tf.Tensor4D = tf.tile(one, [1, draws, 1, 1])
      return estimator.kernel!.features(repeated, projection, options, {side, noise, calibration})
    }
    return [features('query', x), features('key', y)]
  })
  const size = meanOf(products(queries!.map(Math.abs), keys!.map(Math.abs), draws), weights)
  return {values: products(queries!, keys!, draws), weights, size, unit: 1}
}

/**
 * `phi(x).phi(y) / k(x, y) - phi(x).phi(z) / k(x, z)`, in units of the mean of both: zero on average, whatever factor
 * of x the features lack in every draw.
 *
 * @param truths - k(x, y) and k(x, z)
 */
export function contrasts(
  subject: Subject,
  pair: Pair,
  rows: Rows,
  {batch, draws, truths}: {batch: number; draws: number; truths: readonly [number, number]},
): Batch {
  const {estimator, seed} = subject
  const {x, y, other} = pair
  const drawn = {rows, headDim: x.length, draws, seed, batch}
  const pairs = [y, other].map(key => [x, key] as const)
  const {matrices, weights} = drawRows(estimator, drawn, tiltsOf(pairs, rows.tilts))
  const [queries, ones, others] = contrastFeatures(subject, pair, {
    ...{rows, matrices, batch, draws},
  })
  const [first, second] = truths
  const a = products(queries!, ones!, draws).map(each => each / first)
  const b = products(queries!, others!, draws).map(each => each / second)
  const sizeOf = (keys: Float32Array) =>
    meanOf(products(queries!.map(Math.abs), keys.map(Math.abs), draws), weights)
  return {
    values: a.map((each, at) => each - b[at]!),
    weights,
    size: sizeOf(ones!) / first + sizeOf(others!) / second,
    unit: (meanOf(a, weights) + meanOf(b, weights)) / 2,
  }
}

/** Features of a query and two keys, with their weights. */
function contrastFeatures(
  {method, estimator, seed}: Subject,
  {x, y, other}: Pair,
  given: {rows: Rows; matrices: Float32Array; batch: number; draws: number},
) {
  const {rows, matrices, batch, draws} = given
  const {numFeatures} = rows
  return compute(() => {
    const tiled = (...vectors: Float64Array[]): tf.Tensor4D => {
      const data = Float32Array.from(vectors.flatMap(each => [...each]))
      return tf.tile(tf.tensor4d(data, [1, 1, vectors.length, x.length]), [1, draws, 1, 1])
    }
    const value = tf.ones<tf.Rank.R4>([1, draws, 2, 1])
    const call = {method, seed, replicate: batch, numFeatures, scale: 1, causal: false}
    const used = usesProjection(estimator, estimator.options.parse({}))
    const projection = used && tf.tensor3d(matrices, [draws, numFeatures, x.length])
    const {inputs} = attendInputs(tiled(x, x), tiled(y, other), value, {
      ...call,
      ...(projection && {projection}),
    })
    const {query, queryLogWeight, key, keyLogWeight, logarithmic} = estimator.features!(inputs)
    const whole = (features: tf.Tensor4D, logWeight: tf.Tensor3D | undefined) => {
      const plain = logarithmic ? tf.exp(features) : features
      return logWeight ? tf.mul(plain, tf.expandDims(tf.exp(logWeight), -1)) : plain
    }
    const at = (features: tf.Tensor, token: number) =>
      tf.slice(features, [0, 0, token, 0], [-1, -1, 1, -1])
    const [queries, keys] = [whole(query, queryLogWeight), whole(key, keyLogWeight)]
    return [at(queries, 0), at(keys, 0), at(keys, 1)]
  })
}

interface RowDraw {
  rows: Rows
  headDim: number
  draws: number
  seed: number
  batch: number
}

/** Rows `[draws, M, D]`, and the weight of each draw. */
function drawRows(
  estimator: Estimator,
  {rows, headDim, draws, seed, batch}: RowDraw,
  tilts: readonly Tilt[],
) {
  const {numFeatures, projection: name} = rows
  const matrices = Float32Array.from(
    drawProjection({
      name: name as 'iid',
      ...{heads: draws, numFeatures, headDim, seed, replicate: batch},
    }),
  )
  const used = usesProjection(estimator, estimator.options.parse({}))
  const stream = randomStream(seed, 'check.tilts', batch)
  const shape = {draws, numFeatures, headDim}
  return {matrices, weights: tiltRows(matrices, shape, used ? tilts : [], stream)}
}

/** The weighted mean, weights being 1 on average. */
function meanOf(values: Float64Array, weights: Float64Array): number {
  return values.reduce((sum, each, at) => sum + each * weights[at]!, 0) / values.length
}

function products(a: Float32Array, b: Float32Array, rows: number): Float64Array {
  const width = a.length / rows
  return Float64Array.from({length: rows}, (_, row) => {
    let sum = 0
    for (let f = row * width; f < (row + 1) * width; f++) sum += a[f]! * b[f]!
    return sum
  })
}
