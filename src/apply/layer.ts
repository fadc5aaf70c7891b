/** One estimator on one layer of an input. */
import {recordOperations} from '../attention/index.js'
import {hostData} from '../attention/internal.js'
import {projectionNamed} from '../attention/names.js'
import type {ResolvedMethod} from '../experiments/method.js'
import type {AttentionArray, AttentionInput} from '../inputs/attention-input.js'
import {hiddenKeys, type KeyMask} from '../inputs/key-mask.js'
import type {Layout} from '../inputs/layout.js'
import {tf} from '../tf.js'
import {attendTuned, type TunedCall} from '../tuned/call.js'
import {outputErrors} from './errors.js'
import {type Extras, extraTensors, usedNames} from './extras.js'
import {type AppliedArray, MOST_GROWTH, type SettledRequest} from './record.js'

export interface AppliedLayer {
  /** `[B, H, L, Dv]` */
  out: AttentionArray
  operations: ReturnType<typeof recordOperations>['operations']
  /** What records say of it, except its name and axes in the output. */
  facts: Omit<AppliedArray, 'name' | 'layer' | 'shape'>
}

interface LayerRequest {
  request: SettledRequest
  method: ResolvedMethod
  input: AttentionInput
  /** Of the file, which a gate follows. */
  layout: Layout
  /** Learned parameters. Default: none */
  tuned?: TunedCall | undefined
}

/**
 * Runs the estimator of a request.
 *
 * @throws {UNSUPPORTED | SHAPE_MISMATCH} for arrays of the file that do not fit the method, see {@link extraTensors}
 */
export function applyLayer({request, method, input, layout, tuned}: LayerRequest): AppliedLayer {
  const {numFeatures, causal} = request
  const scale = request.scale ?? input.logitScale ?? input.query.shape[3] ** -0.5
  const extras = extraTensors(input, {numFeatures, causal, layout}, method)
  try {
    const {result: out, operations} = recordOperations(() =>
      forward({...request, scale}, input, extras, tuned),
    )
    return {out, operations, facts: factsOf(request, method, {input, extras, scale, out})}
  } finally {
    tf.dispose(extras as unknown as tf.TensorContainer)
  }
}

/** What one layer was computed from, and what came of it. */
interface LayerRun {
  input: AttentionInput
  extras: Extras
  scale: number
  out: AttentionArray
}

function factsOf(
  request: SettledRequest,
  {estimator, projected, options}: ResolvedMethod,
  {input, extras, scale, out}: LayerRun,
): AppliedLayer['facts'] {
  const learned = typeof request.tuned?.draws === 'number'
  const given = learned ? undefined : extras.projection
  const own = projected ? (request.projection ?? estimator.projection!.default) : null
  return {
    feature_dim: estimator.featureDim(
      given?.shape.at(-2) ?? request.numFeatures,
      input.query.shape[3],
      options,
    ),
    logit_scale: scale,
    hidden_keys: hiddenKeys(input.keyMask),
    projection: learned ? 'learned' : given ? 'from the file' : own,
    orth_sign:
      learned || given || !own || !projectionNamed(own).takesOrthSign ? null : request.orthSign,
    used_extras: usedNames(extras),
    not_finite: out.data.reduce((count, x) => count + (Number.isFinite(x) ? 0 : 1), 0),
    ill_conditioned: estimator.nonNegative ? 0 : countBeyond(out.data, input.value.data),
    errors: outputErrors(input, out, {
      scale,
      view: {causal: request.causal, causalAlign: request.causalAlign},
    }),
  }
}

/**
 * How many outputs are more than {@link MOST_GROWTH} times the largest value. A mean with weights of both signs is so only where
 * these cancel to less than that part of their sizes, by which rounding then grows.
 */
function countBeyond(out: Float32Array, values: Float32Array): number {
  const largest = values.reduce((most, x) => Math.max(most, Math.abs(x)), 0)
  const bound = MOST_GROWTH * largest
  return out.reduce((count, x) => count + (Number.isFinite(x) && Math.abs(x) > bound ? 1 : 0), 0)
}

/** @param keys - `[B, H, S, D]` */
function maskTensor(mask: KeyMask, [batch, , keyLen]: AttentionArray['shape']): tf.Tensor2D {
  return tf.tensor2d(Float32Array.from(mask), [batch, keyLen])
}

function forward(
  request: SettledRequest & {scale: number},
  {query, key, value, keyMask}: AttentionInput,
  {projection, gate, noise, parameters}: Extras,
  tuned: TunedCall | undefined,
): AttentionArray {
  const {method, preset, options, causal, causalAlign, numFeatures, orthSign, seed, scale} = request
  const {out} = hostData(() => {
    const {out} = attendTuned(
      tf.tensor4d(query.data, query.shape),
      tf.tensor4d(key.data, key.shape),
      tf.tensor4d(value.data, value.shape),
      {
        ...options,
        method,
        preset,
        causal,
        ...(causalAlign && {causalAlign}),
        numFeatures,
        seed,
        orthSign,
        noise,
        parameters,
        scale,
        tuned,
        ...(gate && {gate}),
        ...(keyMask && {keyMask: maskTensor(keyMask, key.shape)}),
        ...(projection ? {projection} : request.projection && {projection: request.projection}),
      },
    )
    return {out}
  })
  const [batch, heads, queryLen] = query.shape
  return {shape: [batch, heads, queryLen, value.shape[3]], data: out as AttentionArray['data']}
}
