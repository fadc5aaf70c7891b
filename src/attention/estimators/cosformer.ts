import {z} from 'zod'
import {expected} from '../../errors.js'
import {tf} from '../../tf.js'
import {defineFeatureMap, type PhiInputs} from '../forms/feature-map.js'
import {featureEpsilon, guardOptions} from '../forms/options.js'
import {presence} from '../kernels/masking.js'
import type {KeyMask} from '../types.js'

/**
 * Rectified features with a cosine over distance: `w_ij = relu(q_i).relu(k_j) cos(pi (i - j) / (2 M))`,
 * which the addition theorem turns into twice as many features. Its weights are its own; softmax is not
 * approximated, and queries and keys are not scaled.
 *
 * M is the longer of both sequences unless `maxLength` fixes it. Masked keys do not count: the length is
 * then that up to the last key that is present. With M from the call, a longer causal call gives other
 * rows; with `maxLength` it extends the shorter one.
 *
 * Source: Qin et al. 2022, arXiv:2202.08791, section 3.
 */
const options = z.object({
  maxLength: z
    .int()
    .positive()
    .nullable()
    .default(null)
    .describe(
      'M, the distance at which weights would reach zero; null: the number of queries or, if larger, of keys. Decoding needs a number',
    ),
  featureEpsilon,
  ...guardOptions,
})
type Options = z.output<typeof options>

export default defineFeatureMap({
  name: 'cosformer',
  title: 'cosFormer',
  citation: 'Qin et al. 2022, arXiv:2202.08791',
  formula: 'phi(x_i) = relu(x_i) [cos a_i, sin a_i], a_i = pi i / (2 M)',
  advice:
    'A zero-variance linear form that prefers close keys; only for models trained with it. Weights depend on the length of the call unless maxLength fixes it.',
  nonNegative: true,
  keyOrderMatters: true,
  lengthOption: 'maxLength',
  featureDim: (_numFeatures, headDim) => 2 * headDim,
  options,
  inputs: () => 'raw',
  phi: ({call, options}) => {
    // each side counts its own tokens
    if (!call) return {query: counting(options), key: counting(options)}
    checkLengths(call, options)
    // one length for both sides, or the angles of a query and a key would not subtract
    const length = lengthOf(call, options)
    return x => reweighted(x, length, options)
  },
  presets: {
    hku: {
      options: {featureEpsilon: 0.1, denGuard: 'clamp:1e-2'},
      quirk:
        '0.1 added to every rectified entry, which pulls weights towards the cosine alone, and denominators raised to 0.01',
    },
  },
})

type Call = NonNullable<PhiInputs['call']>

/** Beyond M the cosine is negative. */
function checkLengths({query, key, keyMask}: Call, options: Options): void {
  const positions = Math.max(query.shape[2], keyMask ? 0 : key.shape[2])
  if (options.maxLength === null || positions <= options.maxLength) return
  throw tooShort(options.maxLength, positions)
}

/** M, `[B or 1, 1, 1, 1]`. */
function lengthOf({query, key, keyMask}: Call, options: Options): tf.Tensor {
  const [, , queryLen] = query.shape
  if (options.maxLength !== null) return tf.fill([1, 1, 1, 1], options.maxLength)
  if (!keyMask) return tf.fill([1, 1, 1, 1], Math.max(queryLen, key.shape[2]))
  return tf.reshape(tf.maximum(keysInUse(keyMask), queryLen), [-1, 1, 1, 1])
}

/** Places up to the last key that is present, `[B]`. */
function keysInUse(keyMask: KeyMask): tf.Tensor1D {
  const places = tf.reshape(tf.range(1, keyMask.shape[1] + 1), [1, -1])
  return tf.max(tf.mul(presence(keyMask), places), 1)
}

/** `(relu(x_i) + epsilon) [cos a_i, sin a_i]`, `[B, H, n, 2D]`. */
function reweighted(x: tf.Tensor4D, length: tf.Tensor, options: Options): tf.Tensor4D {
  const places = tf.reshape(tf.range(0, x.shape[2]), [1, 1, -1, 1])
  // cos(a_i - a_j) = cos a_i cos a_j + sin a_i sin a_j: positions part into those of either side
  const angle = tf.div(tf.mul(places, Math.PI / 2), length) // [B or 1, 1, n, 1]
  return withPhase(x, tf.cos(angle), tf.sin(angle), options)
}

function withPhase(
  x: tf.Tensor4D,
  cosine: tf.Tensor | number,
  sine: tf.Tensor | number,
  {featureEpsilon}: Options,
): tf.Tensor4D {
  const rectified = tf.relu(x)
  const plain = featureEpsilon === 0 ? rectified : tf.add(rectified, featureEpsilon)
  return tf.concat([tf.mul(plain, cosine), tf.mul(plain, sine)], 3) as tf.Tensor4D
}

/** The features of one token after the other, all of one side: `a_i` from a count of those before. */
function counting(options: Options) {
  const {maxLength} = options
  if (maxLength === null) {
    const what = 'the number of tokens to come'
    const remedy = 'set maxLength: the weights of all tokens depend on it'
    throw expected('BAD_OPTION', 'cosformer.maxLength', what, 'null', remedy)
  }
  let place = 0
  return (token: tf.Tensor4D) => {
    if (place >= maxLength) throw tooShort(maxLength, place + 1)
    const angle = (Math.PI / 2) * (place++ / maxLength) // a_i = pi i / (2 M)
    return withPhase(token, Math.cos(angle), Math.sin(angle), options)
  }
}

function tooShort(maxLength: number, positions: number) {
  const what = `at least ${positions}, the number of tokens`
  return expected('BAD_OPTION', 'cosformer.maxLength', what, String(maxLength))
}
