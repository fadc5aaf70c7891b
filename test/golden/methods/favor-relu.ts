import * as tf from '@tensorflow/tfjs-core'
import {featureMap} from '../../../src/attention/index.js'
import {rectified} from '../../helpers/twins/feature-builders.js'
import {checkFeatures, resolved} from '../check.js'
import type {MethodCheck} from './types.js'

/** Rectified features, with and without projection. */
export const rectifiedFeatures: MethodCheck = (golden, arrays, call) => {
  const {features, inputScaling, featureEpsilon} = resolved(call) as Record<string, unknown>
  checkFeatures(golden, arrays, call, rectified, (x, projection) => {
    const vectors: tf.Tensor4D = tf.mul(x, inputScaling === 'raw' ? 1 : x.shape[3] ** -0.25)
    const random = features === 'random'
    const plain = random ? featureMap(vectors, projection, 'relu') : tf.relu(vectors)
    return tf.add(plain, Number(featureEpsilon))
  })
}
