/**
 * Recurrent forms on a backend with fused steps: state in place, nothing allocated per token but
 * the output. What they compute is defined in features.ts and log-features.ts.
 */
import {tf} from '../../../tf.js'
import {fusedStep, type StepInputs} from '../../kernels/dispatch.js'
import {recipeAttributes} from '../../kernels/feature-spec.js'
import type {FeatureRecipe} from '../../kernels/recipe.js'
import type {Decoder, Projection} from '../../types.js'
import {bytesOf} from './stateful.js'
import {emptyLogSums, emptySums, type ReadOptions} from './sums.js'
import {
  type DecoderShape,
  isRecipe,
  mapKeys,
  mapTokens,
  type ScaledMap,
  type TokenFeatures,
  type TokenMap,
  weighsKeys,
} from './tokens.js'

/** How a step gets the features of one side: what to pass it, and the constants of its recipe. */
interface Side {
  /** The token, or its features where a step cannot form them itself. */
  input(token: tf.Tensor4D): tf.Tensor4D
  recipe: object
  /** Transposed, `[1 or H, D, M]`; owned. */
  projection: tf.Tensor3D | undefined
}

/** See `featureDecoder`; `undefined` where the backend has no such step. */
export function fusedFeatureDecoder(
  shape: DecoderShape,
  featureDim: number,
  features: TokenFeatures,
  {guard, normalizerEpsilon = 0}: ReadOptions,
): Decoder | undefined {
  const step = fusedStep('LinearDecode')
  if (!step) return undefined
  const {batch, heads, valueDim} = shape
  const {query, key, explicit} = sides(features)
  // features that come ready are tokens of F columns to the step
  const headDim = explicit ? featureDim : shape.headDim
  const state = emptySums(shape, featureDim, features)
  const attributes = {
    ...{batch, heads, headDim, valueDim, featureDim, guard, normalizerEpsilon},
    query: query.recipe,
    key: key.recipe,
  }
  // one object for all tokens, filled in by each
  const inputs: StepInputs = {
    ...state,
    queryProjection: query.projection,
    keyProjection: key.projection,
  }
  const weighs = weighsKeys(features)
  const run = (q: tf.Tensor4D, k: tf.Tensor4D, value: tf.Tensor4D, gate?: tf.Tensor3D) => {
    inputs.query = query.input(q)
    // a step that forms features takes the token itself
    const made = explicit ? mapKeys(features, k) : undefined
    inputs.key = made?.features ?? k
    inputs.value = value
    inputs.gate = gate
    if (weighs) inputs.keyLogWeight = made ? made.logWeight : features.keyLogWeight?.(k)
    return step(inputs, attributes)
  }
  return inPlaceDecoder(state, [query.projection, key.projection], tidied(run, explicit || weighs))
}

/** See `logFeatureDecoder`; `undefined` where the backend has no such step. */
export function fusedLogFeatureDecoder(
  shape: DecoderShape,
  featureDim: number,
  features: Pick<TokenFeatures, 'query' | 'key'>,
): Decoder | undefined {
  const step = fusedStep('LogFeatureDecode')
  if (!step) return undefined
  const {batch, heads, valueDim} = shape
  const {query, key, explicit} = sides(features)
  const headDim = explicit ? featureDim : shape.headDim
  const state = emptyLogSums(shape, featureDim)
  const attributes = {
    ...{batch, heads, headDim, valueDim, featureDim},
    query: query.recipe,
    key: key.recipe,
  }
  const inputs: StepInputs = {
    ...state,
    queryProjection: query.projection,
    keyProjection: key.projection,
  }
  const run = (q: tf.Tensor4D, k: tf.Tensor4D, value: tf.Tensor4D) => {
    inputs.query = query.input(q)
    inputs.key = key.input(k)
    inputs.value = value
    return step(inputs, attributes)
  }
  return inPlaceDecoder(state, [query.projection, key.projection], tidied(run, explicit))
}

/** A decoder over state tensors that `next` changes in place. */
function inPlaceDecoder(
  state: Record<string, tf.Tensor>,
  owned: (tf.Tensor | undefined)[],
  next: Decoder['next'],
): Decoder {
  for (const tensor of Object.values(state)) tf.keep(tensor)
  return {
    next,
    get stateBytes() {
      return bytesOf(state)
    },
    get state() {
      return state
    },
    dispose() {
      tf.dispose(state)
      tf.dispose([...new Set(owned)].filter(tensor => tensor !== undefined))
    },
  }
}

/** A step that frees its temporary tensors; without any it does not look for them. */
function tidied(next: Decoder['next'], temporary: boolean): Decoder['next'] {
  return temporary ? (...token) => tf.tidy(() => next(...token)) : next
}

/**
 * Both sides. A step forms features itself where both have one kind and one projection, which it then reads
 * once for both; otherwise they come to it explicit.
 */
function sides({query, key}: Pick<TokenFeatures, 'query' | 'key'>): {
  query: Side
  key: Side
  explicit: boolean
} {
  const alike =
    isRecipe(query) &&
    isRecipe(key) &&
    query.kind === key.kind &&
    query.projection === key.projection
  if (!alike) return {query: explicitSide(query), key: explicitSide(key), explicit: true}
  const projection = query.projection && transposed(query.projection)
  return {query: recipeSide(query, projection), key: recipeSide(key, projection), explicit: false}
}

function explicitSide(map: TokenMap | ScaledMap): Side {
  return {input: token => mapTokens(map, token), recipe: {kind: 'explicit'}, projection: undefined}
}

function recipeSide(recipe: FeatureRecipe, projection: tf.Tensor3D | undefined): Side {
  return {input: token => token, recipe: recipeAttributes(recipe), projection}
}

/** `[1 or H, D, M]`: a step goes through the features of a token one dimension at a time. */
function transposed(projection: Projection): tf.Tensor3D {
  return tf.tidy(() => {
    const [rows, columns] = projection.shape.slice(-2) as [number, number]
    const perHead = tf.reshape(projection, [-1, rows, columns])
    return tf.keep(tf.transpose(perHead, [0, 2, 1])) as tf.Tensor3D
  })
}
