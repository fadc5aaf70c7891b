import * as tf from '@tensorflow/tfjs-core'
import {featureMap} from '../../../src/attention/index.js'
import {rectified} from '../../helpers/twins/feature-builders.js'
import {checkFeatures, resolved} from '../check.js'
import type {MethodCheck} from './types.js'

/** Rectified features of random projections. */
export const rectifiedFeatures: MethodCheck = (golden, arrays, call) => {
  const {features, inputScaling, featureEpsilon} = resolved(call) as Record<string, unknown>
  if (features !== 'random') return
  checkFeatures(golden, arrays, call, rectified, (x, projection) => {
    const scale = inputScaling === 'raw' ? 1 : x.shape[3] ** -0.25
    const plain = featureMap(tf.mul(x, scale), projection, 'relu')
    return tf.add(plain, Number(featureEpsilon))
  })
}
