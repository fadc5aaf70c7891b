import * as tf from '@tensorflow/tfjs-core'
import favorHyperbolic from '../../../src/attention/estimators/favor-hyperbolic.js'
import type {Projection} from '../../../src/attention/index.js'
import {hyperbolic} from '../../helpers/twins/feature-builders.js'
import {checkFeatures} from '../check.js'
import type {MethodCheck} from './types.js'

/** Hyperbolic features. */
export const hyperbolicFeatures: MethodCheck = (golden, arrays, call) => {
  const {stabilizer = 'none', exponent = 0} = call.features
  const explicit = {...call, options: {...call.options, stabilizer}}
  checkFeatures(
    golden,
    arrays,
    explicit,
    hyperbolic,
    (x, projection) => peerFeatures(x, projection, exponent, stabilizer === 'norm-max'),
    Math.exp(exponent),
  )
}

/** Both signs, all plus signs first, `(2M)^-1/2` in front. */
function peerFeatures(
  x: tf.Tensor4D,
  projection: Projection,
  exponent: number,
  stabilized: boolean,
): tf.Tensor4D {
  const canonical: tf.Tensor4D = tf.mul(x, x.shape[3] ** -0.25)
  const options = favorHyperbolic.options.parse({})
  const features = favorHyperbolic.kernel!.features(canonical, projection, options, {
    side: 'query',
    noise: {},
    calibration: {query: [], key: []},
  })
  const largest = tf.max(tf.sum(tf.square(canonical), -1, true), -2, true)
  const shifted = stabilized ? tf.mul(features, tf.exp(tf.neg(largest))) : features
  return tf.mul(shifted, Math.exp(exponent))
}
