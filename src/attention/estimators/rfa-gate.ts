import {z} from 'zod'
import {tf} from '../../tf.js'
import {extendedDecoder} from '../forms/decoders/stateful.js'
import {type AttendInputs, type DecoderInputs, EVERY_FORM} from '../forms/estimator.js'
import {featureAttention} from '../forms/feature-attention.js'
import {defineFeatureMap} from '../forms/feature-map.js'
import type {NoiseSpec} from '../forms/noise.js'
import {guardOf} from '../forms/options.js'
import {
  deviated,
  sigmaParameter,
  tauOption,
  unitOptions,
  unitRecipe,
} from '../forms/unit-features.js'
import {denominatorGuard} from '../kernels/guard.js'
import {formFeatures} from '../kernels/index.js'
import {presence} from '../kernels/masking.js'
import type {AttendResult, CallShape, Decoder, Parameters} from '../types.js'

/**
 * Random feature attention with a forget gate per head: recent tokens count for more.
 *
 * `S_t = g_t S_{t-1} + (1 - g_t) phi(k_t) v_t^T`, z likewise, `out_t = phi(q_t)^T S_t / phi(q_t).z_t`, phi as in
 * rfa. Key i has at t the weight `phi(q_t).phi(k_i) (1 - g_i) prod_{j = i+1..t} g_j`. Gates come from the
 * caller, or are constant, or `g_t = sigmoid(w.k_t + b)`: the paper applies w to the input of the layer,
 * which attention does not see, so the head's raw key stands in for it. `w` is the parameter `gateWeight`
 * `[H, D]` or, without it, drawn from `N(0, I / D)`; w and b of all heads are H (D + 1) numbers. A masked key
 * does not enter the state, and its gate does not act. Without a guard gates keep to the log domain, and then
 * numerator and denominator share a positive factor per query, which cancels.
 *
 * Source: Peng et al. 2021, arXiv:2103.02143, section 3.2.
 */
const options = z.object({
  gating: z
    .enum(['constant', 'sigmoid'])
    .default('constant')
    .describe('gates where none are given: one number, or sigmoid(w.k + b) of each key'),
  constantGate: z
    .number()
    .gt(0)
    .lt(1)
    .default(0.95)
    .describe('g of constant gates: some 1 / (1 - g) tokens are remembered'),
  gateBias: z
    .number()
    .default(3)
    .describe('b of sigmoid gates: some 1 + e^b tokens are remembered'),
  tau: tauOption,
  ...unitOptions,
  denGuard: denominatorGuard
    .default('none')
    .describe('guard on the denominator, which gates shrink by their factors 1 - g'),
})
type Options = z.output<typeof options>

// gates make of its features something else than their products
const {
  features: _,
  parts: _parts,
  rowWeights: _rowWeights,
  ...map
} = defineFeatureMap({
  name: 'rfa-gate',
  title: 'Random feature attention with forget gates',
  citation: 'Peng et al. 2021, arXiv:2103.02143',
  formula: 'S_t = g_t S_{t-1} + (1 - g_t) phi(k_t) v_t^T, phi as in rfa',
  advice:
    'For causal models trained with it: a learned preference for recent tokens, with a state as small as in rfa. It does not estimate softmax, and a guard of fixed size acts far more often than in rfa.',
  nonNegative: false,
  supports: {...EVERY_FORM, bidirectional: false, cross: false},
  keyOrderMatters: true,
  takesGate: true,
  maskedTokens: () => 'in-place',
  projection: {default: 'orth'},
  noise: ({headDim}, {gating}): Record<string, NoiseSpec> =>
    gating === 'sigmoid' ? {gateWeight: weightSpec(headDim)} : {},
  parameters: (shape, {gating}) => ({
    ...sigmaParameter(shape),
    ...(gating === 'sigmoid' && {gateWeight: [shape.heads, shape.headDim]}),
  }),
  featureDim: numFeatures => 2 * numFeatures,
  options,
  inputs: () => 'raw',
  make: ({projection, parameters}) => deviated(projection!, parameters),
  phi: ({options}, rows) => unitRecipe('trigonometric', rows, options),
})

export default {
  ...map,
  cost: (shape: CallShape, options: Options) => {
    const logits = 2 * shape.batch * shape.heads * shape.keyLen * shape.headDim
    const {flops} = map.cost(shape, options)
    return {flops: options.gating === 'sigmoid' ? flops + logits : flops}
  },
  attend,
  decoder,
}

function attend(inputs: AttendInputs<Options>): AttendResult {
  const {query, key, value, keyMask, projection, parameters, options} = inputs
  const recipe = unitRecipe('trigonometric', deviated(projection!, parameters), options)
  const queries = {...recipe, x: query}
  const keys = {...recipe, x: key}
  // products of gates underflow after some hundred tokens; sums of their logarithms do not
  const {keep, take} = logGates(inputs)
  // a masked key leaves the state as it is: log g = 0
  const present = keyMask && tf.expandDims(presence(keyMask), 1) // [B, 1, S]
  const shared = {
    value,
    causal: true,
    keyMask,
    logGate: (present ? tf.mul(keep, present) : keep) as tf.Tensor3D,
    guard: guardOf(options, true),
  } as const
  if (options.denGuard === 'none') {
    return featureAttention({
      queryFeatures: queries,
      keyFeatures: keys,
      keyLogWeight: take,
      ...shared,
    })
  }
  // a guard needs the sums as they are, not relative to the largest weight
  return featureAttention({
    queryFeatures: formFeatures(queries),
    keyFeatures: tf.mul(formFeatures(keys), tf.expandDims(tf.exp(take), -1)),
    ...shared,
  })
}

/** log g and log(1 - g), `[B, H, S]`. */
interface LogGates {
  keep: tf.Tensor3D
  take: tf.Tensor3D
}

/** Gates of exactly 0 or 1 count as this far from it. */
const SMALLEST = 2 ** -126

function logGates({gate, key, noise, parameters, options}: AttendInputs<Options>): LogGates {
  if (gate) {
    return {
      keep: tf.log(tf.maximum(gate, SMALLEST)),
      take: tf.log(tf.maximum(tf.sub(1, gate), SMALLEST)),
    }
  }
  if (options.gating === 'constant') {
    const [batch, heads, keyLen] = key.shape
    const everywhere = (x: number) => tf.fill<tf.Rank.R3>([batch, heads, keyLen], x)
    const {constantGate} = options
    return {keep: everywhere(Math.log(constantGate)), take: everywhere(Math.log1p(-constantGate))}
  }
  const weight = gateWeight(parameters, () => noise.gateWeight!)
  const logits = gateLogits(key, weight, options)
  return {keep: logSigmoid(logits), take: logSigmoid(tf.neg(logits))}
}

/** log(1 / (1 + e^-x)), without overflow. */
function logSigmoid(x: tf.Tensor3D): tf.Tensor3D {
  // the exponential of a number that is never positive
  return tf.sub(tf.minimum(x, 0), tf.log(tf.add(1, tf.exp(tf.neg(tf.abs(x))))))
}

/** w.k + b, `[B, H, n]`. @param weight - `[1, H, 1, D]` */
function gateLogits(key: tf.Tensor4D, weight: tf.Tensor4D, {gateBias}: Options): tf.Tensor3D {
  return tf.add(tf.sum(tf.mul(key, weight), -1), gateBias)
}

/** The learned w, or the drawn one times D^-1/2, `[1, H, 1, D]`. */
function gateWeight({gateWeight}: Parameters, drawn: () => tf.Tensor4D): tf.Tensor4D {
  if (gateWeight) return tf.reshape(gateWeight, [1, gateWeight.shape[0]!, 1, gateWeight.shape[1]!])
  // N(0, I / D), so that logits of unit-variance keys have unit variance
  const noise = drawn()
  return tf.mul(noise, noise.shape[3] ** -0.5)
}

/** One vector per head, shared by the batch. */
function weightSpec(headDim: number): NoiseSpec {
  return {distribution: 'normal', rows: 1, columns: headDim, shared: true}
}

function decoder(inputs: DecoderInputs<Options>): Decoder {
  const inner = map.decoder!(inputs)
  const {owned, gateOf} = tokenGates(inputs)
  return extendedDecoder(inner, [tf.keep(owned)], (query, key, value, gate) =>
    tf.tidy(() => inner.next(query, key, value, gate ?? gateOf(key as tf.Tensor4D))),
  )
}

/** Gates of single tokens, `[B, H, 1]`, and the tensor that they are made of. */
function tokenGates({
  batch,
  heads,
  headDim,
  noiseRows,
  parameters,
  options,
}: DecoderInputs<Options>): {
  owned: tf.Tensor
  gateOf(key: tf.Tensor4D): tf.Tensor3D
} {
  if (options.gating === 'constant') {
    const gate = tf.fill<tf.Rank.R3>([batch, heads, 1], options.constantGate)
    return {owned: gate, gateOf: () => gate}
  }
  const weight = tf.tidy(() =>
    gateWeight(parameters, () => noiseRows('gateWeight', weightSpec(headDim), 0)),
  )
  return {owned: weight, gateOf: key => tf.sigmoid(gateLogits(key, weight, options))}
}
