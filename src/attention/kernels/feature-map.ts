import {tf} from '../../tf.js'
import type {Projection} from '../types.js'
import {halfSquaredNormAxes} from './checks.js'
import {fusedOrComposite, type Gradient, recordsGradients} from './dispatch.js'
import {featureMapGradientSizes, featureMapSizes} from './feature-checks.js'
import {type FeatureKind, NONLINEARITIES} from './features/index.js'
import {constantOf, reciprocalOrZero} from './masking.js'
import {matMul} from './mat-mul.js'
import type {MapScaling} from './recipe.js'

/**
 * Projection and nonlinearity in one operation.
 *
 * @param x - `[B, H, L, D]`
 * @param projection - `[M, D]` for all heads or `[H, M, D]`
 * @param kind - nonlinearity
 * @param scaling - default: none
 * @returns `[B, H, L, F]`
 * @throws {SHAPE_MISMATCH | BAD_OPTION} when tokens and projection do not fit together
 * @throws {UNKNOWN_NAME | UNSUPPORTED} for another kind
 */
export function featureMap(
  x: tf.Tensor,
  projection: Projection,
  kind: FeatureKind,
  scaling: MapScaling = {},
): tf.Tensor4D {
  const recipe = {kind, ...scaling}
  featureMapSizes({x, projection}, recipe)
  const form = () => [composite(x as tf.Tensor4D, projection, recipe)]
  const [features] = fusedOrComposite('FeatureMap', {x, projection}, recipe, form, GRADIENT)
  return features as tf.Tensor4D
}

/** What a fused kernel receives. */
type MapAttributes = MapScaling & {kind: FeatureKind}

const GRADIENT: Gradient<MapAttributes> = {
  inputsToSave: ['x', 'projection'],
  gradFunc(dy, saved, recipe) {
    const [x, projection] = saved as [tf.Tensor4D, Projection]
    const [toX, toProjection] = featureMapGradient(x, projection, dy as tf.Tensor4D, recipe)
    return {x: () => toX!, projection: () => toProjection!}
  },
}

/**
 * Gradients of {@link featureMap}: features are formed again where slopes follow from them.
 *
 * @param slopes - of the features, `[B, H, L, F]`
 * @returns as x and projection
 */
function featureMapGradient(
  x: tf.Tensor4D,
  projection: Projection,
  slopes: tf.Tensor4D,
  recipe: MapAttributes,
): tf.Tensor[] {
  const inputs = {x, projection, slopes}
  featureMapGradientSizes(inputs, recipe)
  return fusedOrComposite('FeatureMapGradient', inputs, recipe, () =>
    tf.grads((tokens, rows) =>
      tf.mul(composite(tokens as tf.Tensor4D, rows as Projection, recipe), slopes),
    )([x, projection]),
  )
}

/** Below it float32 loses digits: a token with no larger entry has no direction, and counts as zero. */
const SMALLEST_NORMAL = 2 ** -126

/** Tokens as a map takes them. */
export function mapInput(
  x: tf.Tensor4D,
  {inputScale = 1, unitNorm = false, normEpsilon = 0}: MapScaling,
): tf.Tensor4D {
  if (!unitNorm) return scaled(x, inputScale)
  const largest = constantOf(x, largestEntries)
  // x' = x / (|x| + epsilon), by entries of at most 1: squares of x itself leave float32 long before x does
  const relative = tf.div(x, largest)
  // not tf.norm: that raises magnitudes to a power, and so does its gradient
  const length = tf.sqrt(tf.sum(tf.square(relative), -1, true))
  const padded = normEpsilon === 0 ? length : tf.add(length, tf.div(normEpsilon, largest))
  return tf.mul(relative, tf.mul(reciprocalOrZero(padded), inputScale)) as tf.Tensor4D
}

/** The largest magnitude of each token, `[B, H, L, 1]`; 1 for one that counts as zero. */
function largestEntries(x: tf.Tensor4D): tf.Tensor {
  const largest = tf.max(tf.abs(x), -1, true)
  return tf.add(largest, tf.cast(tf.less(largest, SMALLEST_NORMAL), 'float32'))
}

/** @param factor - default 1 */
export function scaled(x: tf.Tensor4D, factor = 1): tf.Tensor4D {
  return factor === 1 ? x : tf.mul(x, factor)
}

function composite(
  tokens: tf.Tensor4D,
  projection: Projection,
  {kind, ...scaling}: MapAttributes,
): tf.Tensor4D {
  const x = mapInput(tokens, scaling)
  const [batch, heads, length] = x.shape
  const projected = projectRows(x, projection)
  const halfNorm = tf.reshape(halfSquaredNorm(x), [batch * heads, length, 1]) as tf.Tensor3D
  const features = NONLINEARITIES[kind](projected, halfNorm)
  const shaped: tf.Tensor4D = tf.reshape(features, [batch, heads, length, features.shape[2]])
  return scaled(shaped, scaling.featureScale)
}

/**
 * W x for every token.
 *
 * @param x - `[B, H, L, D]`
 * @param projection - `[M, D]` for all heads or `[H, M, D]`
 * @returns `[B, H, L, M]`
 */
export function project(x: tf.Tensor4D, projection: Projection): tf.Tensor4D {
  const [batch, heads, length] = x.shape
  return tf.reshape(projectRows(x, projection), [batch, heads, length, projection.shape.at(-2)!])
}

/** {@link project} of all heads in one batch, `[B H, L, M]`. */
function projectRows(x: tf.Tensor4D, projection: Projection): tf.Tensor3D {
  const [batch, heads, length, headDim] = x.shape
  if (projection.rank === 2 && recordsGradients()) {
    // one product: the gradient of TensorFlow.js by a matrix that a batch shares is not summed over the batch
    const tokens: tf.Tensor2D = tf.reshape(x, [batch * heads * length, headDim])
    const product = tf.matMul(tokens, projection as tf.Tensor2D, false, true)
    return tf.reshape(product, [batch * heads, length, projection.shape[0]])
  }
  const flat: tf.Tensor3D = tf.reshape(x, [batch * heads, length, headDim])
  return matMul(flat, headMatrices(projection, batch), false, true)
}

/** Projection as a batch of matrices: `[1, M, D]` when shared, else `[B H, M, D]`. */
function headMatrices(projection: Projection, batch: number): tf.Tensor3D {
  if (projection.rank === 2) return tf.expandDims(projection as tf.Tensor2D, 0)
  const perHead = projection as tf.Tensor3D
  return batch === 1 ? perHead : tf.tile(perHead, [batch, 1, 1])
}

/**
 * |s x|^2/2 of every token.
 *
 * @param x - `[B, H, L, D]`
 * @param inputScale - s. Default 1.
 * @returns `[B, H, L]`
 */
export function halfSquaredNorm(x: tf.Tensor4D, inputScale = 1): tf.Tensor3D {
  halfSquaredNormAxes({x}, inputScale)
  const form = () => [tf.mul(tf.sum(tf.square(x), -1), 0.5 * inputScale ** 2)]
  const [out] = fusedOrComposite('HalfSquaredNorm', {x}, {inputScale}, form, NORM_GRADIENT)
  return out as tf.Tensor3D
}

const NORM_GRADIENT: Gradient<{inputScale: number}> = {
  inputsToSave: ['x'],
  gradFunc: (dy, [x], {inputScale}) => ({
    x: () => tf.mul(x!, tf.expandDims(tf.mul(dy as tf.Tensor, inputScale ** 2), -1)),
  }),
}
