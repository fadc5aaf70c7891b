import * as tf from '@tensorflow/tfjs-core'
import favorPositive from '../../../src/attention/estimators/favor-positive.js'
import {featureMap, type PresetName, type Projection} from '../../../src/attention/index.js'
import {positive} from '../../helpers/twins/feature-builders.js'
import {type GoldenCase, numberField} from '../cases.js'
import {checkAttention, checkDecoder, checkFeatures, type Request, resolved} from '../check.js'
import type {Family} from './family.js'

/** Which of our options reproduces each of the manifest's methods. */
const PRESETS: Readonly<Record<string, PresetName>> = {
  'favor+ softmax': 'performer-pytorch',
  'favor+ pos': 'google-jax',
  'kernelized favorp': 'hku',
  'slim performer favor+_2': 'google-slim',
  'favor+ SMOrf': 'xformers',
}

/** Positive features. `eps` is added to features; a text means that it cancels. */
export const favorPositiveFamily: Family = {
  name: 'positive features',
  methods: Object.keys(PRESETS),
  request: requestOf,
  check(golden, arrays) {
    const request = requestOf(golden)
    checkAttention(golden, arrays, request)
    const options = resolved(request) as ReturnType<typeof favorPositive.options.parse>
    if (options.stabilizer === 'log') {
      const plain: Request = {...request, options: {...request.options, stabilizer: 'none'}}
      checkFeatures(golden, arrays, plain, positive, exponentEpsilon(options), Math.exp(EXPONENT))
      if (golden.causal === true) checkDecoder(golden, arrays, request, positive)
    } else {
      checkFeatures(golden, arrays, request, positive, (x, projection, side) =>
        shifted(x, projection, options, side),
      )
    }
  },
}

function requestOf(golden: GoldenCase): Request {
  const options: Record<string, unknown> = {}
  const featureEpsilon = numberField(golden, 'eps')
  if (featureEpsilon !== undefined) options.featureEpsilon = featureEpsilon
  const normalizerEpsilon = numberField(golden, 'denom_eps')
  if (normalizerEpsilon !== undefined) options.normalizerEpsilon = normalizerEpsilon
  return {method: 'favor-pos', preset: PRESETS[golden.method]!, options}
}

/** xformers adds this inside the exponent. */
const EXPONENT = 1e-6

type Options = ReturnType<typeof favorPositive.options.parse>

function exponentEpsilon(options: Options) {
  return (x: tf.Tensor4D, projection: Projection): tf.Tensor4D => {
    const canonical: tf.Tensor4D = tf.mul(x, x.shape[3] ** -0.25)
    const features = favorPositive.kernel!.features(canonical, projection, options, {
      side: 'query',
      noise: {},
      calibration: {query: [], key: []},
    })
    return tf.mul(features, Math.exp(EXPONENT))
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
