import * as tf from '@tensorflow/tfjs-core'
import favorHyperbolic from '../../../src/attention/estimators/favor-hyperbolic.js'
import type {Projection} from '../../../src/attention/index.js'
import {hyperbolic} from '../../helpers/twins/feature-builders.js'
import {type GoldenCase, numberField} from '../cases.js'
import {checkAttention, checkFeatures, type Request} from '../check.js'
import type {Family} from './family.js'

/** Options of the manifest's methods. xformers adds 1e-6 inside the exponent, where it cancels. */
const METHODS: Readonly<Record<string, Omit<Request, 'method'> & {exponent?: number}>> = {
  favorhyp: {preset: 'fast-transformers'},
  favorhyp_stab: {preset: 'fast-transformers', options: {stabilizer: 'norm-max'}},
  'favor+ SMHyp': {preset: 'xformers', exponent: 1e-6},
  'favor+ SMReg': {preset: 'xformers', exponent: 1e-6},
}

/** Hyperbolic features. A numeric `eps` is added to the denominator. */
export const favorHyperbolicFamily: Family = {
  name: 'hyperbolic features',
  methods: Object.keys(METHODS),
  request: requestOf,
  check(golden, arrays) {
    const {options = {}, exponent = 0} = METHODS[golden.method]!
    const request = requestOf(golden)
    checkAttention(golden, arrays, request)
    const stabilizer = options.stabilizer ?? 'none'
    const explicit = {...request, options: {...request.options, stabilizer}}
    checkFeatures(
      golden,
      arrays,
      explicit,
      hyperbolic,
      (x, projection) => peerFeatures(x, projection, exponent, stabilizer === 'norm-max'),
      Math.exp(exponent),
    )
  },
}

function requestOf(golden: GoldenCase): Request {
  const {preset, options} = METHODS[golden.method]!
  const epsilon = numberField(golden, 'eps')
  const guard = epsilon === undefined ? {} : {denGuard: `add:${epsilon}`}
  return {method: 'favor-hyp', ...(preset && {preset}), options: {...options, ...guard}}
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
