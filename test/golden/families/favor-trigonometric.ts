import * as tf from '@tensorflow/tfjs-core'
import favorTrigonometric from '../../../src/attention/estimators/favor-trigonometric.js'
import type {Projection} from '../../../src/attention/index.js'
import {trigonometric} from '../../helpers/twins/feature-builders.js'
import {type GoldenCase, guardOfNote, numberField, textField} from '../cases.js'
import {checkAttention, checkDecoder, checkFeatures, type Request, resolved} from '../check.js'
import type {Family} from './family.js'

const METHODS: Readonly<Record<string, Omit<Request, 'method'>>> = {
  'favor+ sincos': {preset: 'google-jax'},
  'kernelized fourier': {preset: 'hku'},
  rff: {preset: 'fast-transformers'},
  rff_smooth: {preset: 'fast-transformers', options: {constantFeature: 1}},
}

/** sin/cos features on canonical inputs. */
export const favorTrigonometricFamily: Family = {
  name: 'trigonometric features',
  methods: Object.keys(METHODS),
  request: requestOf,
  check(golden, arrays) {
    const request = requestOf(golden)
    checkAttention(golden, arrays, request)
    const options = resolved(request) as ReturnType<typeof favorTrigonometric.options.parse>
    if (options.norms !== 'none') return
    checkFeatures(golden, arrays, request, trigonometric, (x, projection) =>
      cosinesFirst(x, projection, options),
    )
    if (golden.causal === true) checkDecoder(golden, arrays, request, trigonometric)
  },
}

function requestOf(golden: GoldenCase): Request {
  const {preset, options = {}} = METHODS[golden.method]!
  const epsilon = numberField(golden, 'eps')
  const read: Record<string, unknown> = {...options}
  if (preset === 'fast-transformers' && epsilon !== undefined) read.denGuard = `add:${epsilon}`
  const note = textField(golden, 'denom_note')
  if (preset === 'hku' && note !== '') read.denGuard = guardOfNote(note)
  return {method: 'favor-trig', ...(preset && {preset}), options: read}
}

/** fast-transformers puts cosines before sines. */
function cosinesFirst(
  x: tf.Tensor4D,
  projection: Projection,
  options: ReturnType<typeof favorTrigonometric.options.parse>,
): tf.Tensor4D {
  const canonical: tf.Tensor4D = tf.mul(x, x.shape[3] ** -0.25)
  const features = favorTrigonometric.kernel!.features(canonical, projection, options, {
    side: 'query',
    noise: {},
    calibration: {query: [], key: []},
  })
  const count = projection.shape.at(-2)!
  const extra = features.shape[3] - 2 * count
  return tf.concat(
    tf
      .split(features, [count, count, ...(extra > 0 ? [extra] : [])], 3)
      .map((part, n, parts) => (n < 2 ? parts[1 - n]! : part)),
    3,
  ) as tf.Tensor4D
}
