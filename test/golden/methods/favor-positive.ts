import * as tf from '@tensorflow/tfjs-core'
import favorPositive from '../../../src/attention/estimators/favor-positive.js'
import {featureMap, type Projection} from '../../../src/attention/index.js'
import {positive} from '../../helpers/twins/feature-builders.js'
import {type Call, checkFeatures, resolved} from '../check.js'
import type {MethodCheck} from './types.js'

/** Positive features. */
export const positiveFeatures: MethodCheck = (golden, arrays, call) => {
  const options = resolved(call) as ReturnType<typeof favorPositive.options.parse>
  if (options.stabilizer === 'log') {
    const {exponent = 0} = call.features
    const plain: Call = {...call, options: {...call.options, stabilizer: 'none'}}
    checkFeatures(
      golden,
      arrays,
      plain,
      positive,
      unstabilized(options, exponent),
      Math.exp(exponent),
    )
  } else {
    checkFeatures(golden, arrays, call, positive, (x, projection, side) =>
      shifted(x, projection, options, side),
    )
  }
}

type Options = ReturnType<typeof favorPositive.options.parse>

/** Features with an epsilon inside the exponent. */
function unstabilized(options: Options, exponent: number) {
  return (x: tf.Tensor4D, projection: Projection): tf.Tensor4D => {
    const canonical: tf.Tensor4D = tf.mul(x, x.shape[3] ** -0.25)
    const features = favorPositive.kernel!.features(canonical, projection, options, {
      side: 'query',
      noise: {},
      calibration: {query: [], key: []},
    })
    return tf.mul(features, Math.exp(exponent))
  }
}

/** From our log-features to `M^-1/2 (exp(W x - |x|^2/2 - max W x) + eps)`. */
function shifted(
  x: tf.Tensor4D,
  projection: Projection,
  {featureEpsilon, stabilizer}: Options,
  side: 'query' | 'key',
): tf.Tensor4D {
  const canonical: tf.Tensor4D = tf.mul(x, x.shape[3] ** -0.25)
  const logits = featureMap(canonical, projection, 'log-positive')
  const halfNorm = tf.mul(tf.sum(tf.square(canonical), -1, true), 0.5)
  const top = tf.max(tf.add(logits, halfNorm), side === 'query' ? -1 : [-2, -1], true)
  const stable = stabilizer === 'max' ? tf.sub(logits, top) : logits
  return tf.mul(tf.add(tf.exp(stable), featureEpsilon), projection.shape.at(-2)! ** -0.5)
}
