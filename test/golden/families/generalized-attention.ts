import * as tf from '@tensorflow/tfjs-core'
import {featureMap} from '../../../src/attention/index.js'
import {rectified, sigmoid} from '../../helpers/twins/feature-builders.js'
import {type GoldenCase, guardOfNote, numberField, textField} from '../cases.js'
import {checkAttention, checkDecoder, checkFeatures, type Request, resolved} from '../check.js'
import type {Family} from './family.js'

interface Reading extends Omit<Request, 'method'> {
  /** Default favor-relu. */
  method?: 'favor-relu' | 'favor-sigmoid'
  /** What the manifest's `eps` is: added to features (default) or to the denominator. */
  eps?: 'feature' | 'denominator'
}

const METHODS: Readonly<Record<string, Reading>> = {
  'favor+ generalized relu': {preset: 'performer-pytorch'},
  'generalized relu without projection': {
    preset: 'performer-pytorch',
    options: {features: 'deterministic'},
  },
  'favor+ relu_det': {preset: 'google-jax'},
  'favor+ relu_ortho': {preset: 'google-jax', options: {features: 'random'}},
  'slim performer relu': {preset: 'google-slim'},
  genrelu: {preset: 'fast-transformers', eps: 'denominator'},
  'kernelized relu': {preset: 'hku'},
  'kernelized relu-only': {
    preset: 'hku',
    options: {features: 'deterministic', inputScaling: 'raw', projectionScale: 'none'},
  },
  'kernelized sigmoid-only': {method: 'favor-sigmoid', preset: 'hku'},
}

/** Rectified and sigmoid features, with and without projection. */
export const generalizedAttention: Family = {
  name: 'generalised attention',
  methods: Object.keys(METHODS),
  request: requestOf,
  check(golden, arrays) {
    const request = requestOf(golden)
    checkAttention(golden, arrays, request)
    const {features, inputScaling, featureEpsilon} = resolved(request) as Record<string, unknown>
    if (features === 'random') {
      checkFeatures(golden, arrays, request, rectified, (x, projection) => {
        const scale = inputScaling === 'raw' ? 1 : x.shape[3] ** -0.25
        const plain = featureMap(tf.mul(x, scale), projection, 'relu')
        return tf.add(plain, Number(featureEpsilon))
      })
    }
    const build = request.method === 'favor-sigmoid' ? sigmoid : rectified
    if (golden.causal === true) checkDecoder(golden, arrays, request, build)
  },
}

function requestOf(golden: GoldenCase): Request {
  const {method = 'favor-relu', preset, options = {}, eps = 'feature'} = METHODS[golden.method]!
  const read: Record<string, unknown> = {...options}
  const epsilon = numberField(golden, 'eps')
  if (epsilon !== undefined && eps === 'feature') read.featureEpsilon = epsilon
  if (epsilon !== undefined && eps === 'denominator') read.denGuard = `add:${epsilon}`
  const normalizerEpsilon = numberField(golden, 'denom_eps')
  if (normalizerEpsilon !== undefined) read.normalizerEpsilon = normalizerEpsilon
  const note = textField(golden, 'denom_note')
  if (preset === 'hku' && note !== '') read.denGuard = guardOfNote(note)
  return {method, ...(preset && {preset}), options: read}
}
