/**
 * Methods that are a feature map: from one statement of phi come attention, the recurrent form, costs, the
 * size of the state and kernel estimates.
 */

import type {z} from 'zod'
import {tf} from '../../tf.js'
import type {CallShape, Cost, Decoder, Parameters, Projection} from '../types.js'
import {featureCost, featureStateBytes} from './costs.js'
import {featureDecoder} from './decoders/features.js'
import {extendedDecoder} from './decoders/stateful.js'
import {
  mapKeys,
  mapTokens,
  type ScaledMap,
  type TokenFeatures,
  type TokenMap,
} from './decoders/tokens.js'
import {
  type AttendInputs,
  type AttendPart,
  type DecoderInputs,
  type Estimator,
  EVERY_FORM,
  type ExplicitFeatures,
  type FeatureDraw,
  type KernelFacts,
} from './estimator.js'
import {mappedAttention} from './feature-attention.js'
import type {Noise} from './noise.js'
import {guardOf} from './options.js'
import {logParts, sumParts} from './parts.js'
import {
  isLogarithmic,
  type LogPhi,
  logAttention,
  logarithms,
  logDecoder,
  logFeatures,
} from './positive-attention.js'
import {logRows, sumRows} from './row-weights.js'

/** What phi depends on in addition to the token. */
export interface PhiInputs<Options = unknown> {
  /** x = inputScale q and y = inputScale k. */
  inputScale: number
  /** Its rows are M; absent where the options use none. */
  projection?: Projection | undefined
  headDim: number
  /** Those of the method's `parameters` that the caller gave. */
  parameters: Parameters
  causal: boolean
  /** The whole call, where there is one: none in decoding, and none for kernel estimates. */
  call?: Pick<AttendInputs, 'query' | 'key' | 'keyMask'>
  options: Options
}

/** What tensors of a method's own are made of. */
export interface MakeInputs<Options = unknown> extends PhiInputs<Options> {
  /** Every array that the method's `noise` names. */
  noise: Noise
}

/**
 * Features of raw tokens: one map for both sides, or one for each, or logarithms of positive features. A
 * recipe is followed by fused kernels tile by tile; a function gives features ready made.
 */
export type Phi = TokenMap | TokenFeatures | LogPhi

/** Facts of {@link Estimator} that most feature maps share, and what stands in for those that follow from phi. */
type Shared = 'unbiasedFor' | 'rowsSumToOne' | 'supports' | 'keyOrderMatters' | 'target' | 'presets'
type Derived =
  | 'featureDim'
  | 'cost'
  | 'stateBytes'
  | 'attend'
  | 'features'
  | 'rowWeights'
  | 'parts'
  | 'decoder'
  | 'kernel'

/**
 * A method that is a feature map. Its guard is read from the options `denGuard` and `causalDenGuard`, the
 * epsilon of its normaliser from `normalizerEpsilon`, where it has them.
 */
export interface FeatureMap<Schema extends z.ZodObject, Made>
  extends Omit<Estimator<Schema>, Shared | Derived>,
    Partial<Pick<Estimator<Schema>, Shared>> {
  /** F, the length of phi, for M rows of the projection. */
  featureDim: Estimator<Schema>['featureDim']
  /** Vectors that each token is multiplied by. Default: M with a projection, else none. */
  products?(numFeatures: number, options: z.output<Schema>): number
  /** Tensors that phi needs in addition to its inputs, made once for a call; a decoder keeps and frees them. */
  make?(inputs: MakeInputs<z.output<Schema>>): Made
  /** Features of one or both sides. @param made - what {@link FeatureMap.make} gave */
  phi(inputs: PhiInputs<z.output<Schema>>, made: Made): Phi
  kernel?: PhiFacts<z.output<Schema>>
}

/** {@link KernelFacts}, the features being those of phi unless others are given. */
export interface PhiFacts<Options> extends Omit<KernelFacts<Options>, 'features'> {
  features?: KernelFacts<Options>['features']
  /** What phi lacks for its products to be the estimate, e.g. M^(-1/2). Default 1. */
  factor?(numFeatures: number, options: Options): number
}

/**
 * An estimator from its feature map: `out_i = phi(x_i) S / guard(phi(x_i).z)`, `S = sum_j phi(y_j) v_j^T`,
 * `z = sum_j phi(y_j)`, in O((L + S) F Dv) time and O(F Dv) memory besides the tokens, by sums or, for
 * features given by logarithms, in the log domain.
 *
 * Facts that are left out: weights sum to one, estimate nothing (`unbiasedFor: 'none'`, no target), do not
 * depend on the order of keys; every form is there, and no preset.
 *
 * Source: Katharopoulos et al. 2020, arXiv:2006.16236, eq. 4-12.
 */
export function defineFeatureMap<Schema extends z.ZodObject, Made = undefined>({
  products,
  make,
  phi,
  kernel,
  ...facts
}: FeatureMap<Schema, Made>): Estimator<Schema> {
  type Options = z.output<Schema>
  const phiOf = (inputs: MakeInputs<Options>) => phi(inputs, make?.(inputs) as Made)
  const phiOfCall = (inputs: AttendInputs<Options>) =>
    phiOf({...inputs, headDim: inputs.query.shape[3], call: inputs})
  return {
    unbiasedFor: 'none',
    rowsSumToOne: true,
    supports: EVERY_FORM,
    keyOrderMatters: false,
    target: () => undefined,
    presets: {},
    ...facts,
    ...featureSizes<Options>(facts.featureDim, (numFeatures, options) => {
      if (products) return products(numFeatures, options)
      return facts.projection && (facts.projection.used?.(options) ?? true) ? numFeatures : 0
    }),
    ...(kernel && {kernel: {...kernel, features: kernel.features ?? featuresOf(phiOf, kernel)}}),
    attend: inputs => {
      const found = phiOfCall(inputs)
      return isLogarithmic(found)
        ? {out: logAttention(inputs, found)}
        : mappedAttention(inputs, bothSides(found), readOptions(inputs.options, inputs.causal))
    },
    features: inputs => explicitFeatures(inputs, phiOfCall(inputs)),
    rowWeights: (inputs, rows) => {
      const found = phiOfCall(inputs)
      return isLogarithmic(found)
        ? logRows(inputs, found, rows)
        : sumRows(inputs, bothSides(found), readOptions(inputs.options, inputs.causal), rows)
    },
    parts: inputs => partsOf(inputs, () => phiOfCall(inputs)),
    decoder: inputs =>
      decoderOf(inputs, {noise: facts.noise, featureDim: facts.featureDim, make, phi}),
  }
}

/**
 * What follows from F: the cost of a call and the bytes of a decoder.
 *
 * @param products - vectors that each token is multiplied by
 */
export function featureSizes<Options>(
  featureDim: (numFeatures: number, headDim: number, options: Options) => number,
  products: (numFeatures: number, options: Options) => number,
) {
  return {
    cost: (shape: CallShape, options: Options): Cost =>
      featureCost(
        shape,
        featureDim(shape.numFeatures, shape.headDim, options),
        products(shape.numFeatures, options),
      ),
    stateBytes: (
      {numFeatures, headDim, valueDim}: {numFeatures: number; headDim: number; valueDim: number},
      options: Options,
    ) => featureStateBytes(featureDim(numFeatures, headDim, options), valueDim),
  }
}

function bothSides(phi: TokenMap | TokenFeatures): TokenFeatures {
  return 'query' in phi ? phi : {query: phi, key: phi}
}

/** The features of a call as whole tensors. */
function explicitFeatures({query, key}: AttendInputs, found: Phi): ExplicitFeatures {
  if (isLogarithmic(found)) {
    const [queryLogs, keyLogs] = [query, key].map(tokens => logarithms(found, tokens))
    return {query: queryLogs!, key: keyLogs!, logarithmic: true}
  }
  const maps = bothSides(found)
  const {features, logWeight} = mapKeys(maps, key)
  const queries = mapKeys({key: maps.query}, query)
  return {
    query: queries.features,
    queryLogWeight: queries.logWeight,
    key: features,
    keyLogWeight: logWeight,
    logarithmic: false,
  }
}

/** The parts of a call. @param phiOf - making it is part of the features */
function partsOf(inputs: AttendInputs<Record<string, unknown>>, phiOf: () => Phi): AttendPart[] {
  const form = tf.tidy(() => (isLogarithmic(phiOf()) ? 'logarithms' : 'sums'))
  return form === 'logarithms'
    ? logParts(inputs, () => phiOf() as LogPhi)
    : sumParts(
        inputs,
        () => bothSides(phiOf() as TokenMap | TokenFeatures),
        readOptions(inputs.options, inputs.causal),
      )
}

/** How sums are read under these options. */
function readOptions(options: Record<string, unknown>, causal: boolean) {
  const {normalizerEpsilon = 0} = options as {normalizerEpsilon?: number}
  return {guard: guardOf(options, causal), normalizerEpsilon}
}

/** {@link KernelFacts.features}: phi of x that is scaled already, times what phi lacks. */
function featuresOf<Options>(
  phiOf: (inputs: MakeInputs<Options>) => Phi,
  {factor}: Pick<PhiFacts<Options>, 'factor'>,
): KernelFacts<Options>['features'] {
  return (x, projection, options, {side, noise, headDim = x.shape[3]}: FeatureDraw) => {
    const found = phiOf({
      ...{projection, noise, options, headDim},
      inputScale: 1,
      parameters: {},
      causal: false,
    })
    const plain = isLogarithmic(found)
      ? logFeatures(found, x)
      : wholeFeatures(bothSides(found)[side], x)
    const lacking = factor?.(projection.shape.at(-2)!, options) ?? 1
    return lacking === 1 ? plain : tf.mul(plain, lacking)
  }
}

/** Features with their scale, which may overflow. */
function wholeFeatures(map: TokenMap | ScaledMap, x: tf.Tensor4D): tf.Tensor4D {
  if (!('scaled' in map)) return mapTokens(map, x)
  const {features, logScale} = map.scaled(x)
  return tf.mul(features, tf.expandDims(tf.exp(logScale), -1))
}

type Recurrent<Schema extends z.ZodObject, Made> = Pick<
  FeatureMap<Schema, Made>,
  'noise' | 'featureDim' | 'make' | 'phi'
>

function decoderOf<Schema extends z.ZodObject, Made>(
  inputs: DecoderInputs<z.output<Schema>>,
  {noise, featureDim, make, phi}: Recurrent<Schema, Made>,
): Decoder {
  const {inputScale, projection, headDim, numFeatures, parameters, options} = inputs
  // arrays that a map is made of are the same for every token, so their first rows are all there are
  const draw = () => noise?.({...inputs, queryLen: 1, keyLen: 1, causal: true}, options) ?? {}
  const given = {inputScale, projection, headDim, parameters, options, causal: true}
  // what is drawn and not kept goes with the scope; what is kept outlives the caller's
  const made = tf.tidy(() => {
    const specs = make ? Object.entries(draw()) : []
    const arrays = specs.map(([name, spec]) => [name, inputs.noiseRows(name, spec, 0)])
    return make?.({...given, noise: Object.fromEntries(arrays)}) as tf.TensorContainer
  })
  const owned = tensorsMade(made, [projection, ...Object.values(parameters)])
  const found = phi(given, made as Made)
  const count = featureDim(numFeatures, headDim, options)
  const inner = isLogarithmic(found)
    ? logDecoder(inputs, count, found)
    : featureDecoder(inputs, count, bothSides(found), readOptions(options, true))
  return owned.length > 0 ? extendedDecoder(inner, owned) : inner
}

/** The tensors of a container that are none of those given, kept. */
function tensorsMade(made: tf.TensorContainer, given: (tf.Tensor | undefined)[]): tf.Tensor[] {
  const own = tf.tensor_util.getTensorsInContainer(made).filter(tensor => !given.includes(tensor))
  return own.map(tensor => tf.keep(tensor))
}
