/**
 * Recurrent forms on a backend that has steps of its own: state in place, nothing allocated per token but
 * the output. What they compute is defined in decoders.ts.
 */
import * as tf from '@tensorflow/tfjs-core'
import {fusedStep, type StepInputs} from '../kernels/dispatch.js'
import {formFeatures, recipeAttributes} from '../kernels/feature-spec.js'
import {MASKED} from '../kernels/masking.js'
import type {FeatureRecipe} from '../kernels/recipe.js'
import type {Decoder, Projection} from '../types.js'
import type {DecoderShape, FeatureDecoderOptions, TokenFeatures, TokenMap} from './decoders.js'

/** Rows that a fresh cache has room for. */
const FIRST_CAPACITY = 64

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
  {guard, normalizerEpsilon = 0}: FeatureDecoderOptions,
): Decoder | undefined {
  const step = fusedStep('LinearDecode')
  if (!step) return undefined
  const {batch, heads, valueDim} = shape
  const {query, key, explicit} = sides(features)
  const headDim = explicit ? featureDim : shape.headDim
  const state: Record<string, tf.Tensor> = {
    S: tf.zeros([batch, heads, featureDim, valueDim]),
    z: tf.zeros([batch, heads, featureDim, 1]),
    ...(features.keyLogWeight && {logScale: tf.fill([batch, heads, 1, 1], MASKED)}),
  }
  const attributes = {
    ...{batch, heads, headDim, valueDim, featureDim, guard, normalizerEpsilon},
    query: query.recipe,
    key: key.recipe,
  }
  // one object for all tokens, filled in by each
  const inputs: StepInputs = {
    state: state.S,
    normalizer: state.z,
    logScale: state.logScale,
    queryProjection: query.projection,
    keyProjection: key.projection,
  }
  const weightOf = features.keyLogWeight
  const run = (q: tf.Tensor4D, k: tf.Tensor4D, value: tf.Tensor4D, gate?: tf.Tensor3D) => {
    inputs.query = query.input(q)
    inputs.key = key.input(k)
    inputs.value = value
    inputs.gate = gate
    if (weightOf) inputs.keyLogWeight = tf.reshape(weightOf(k), [batch, heads, 1])
    return step(inputs, attributes)
  }
  const temporary = explicit || weightOf !== undefined
  return inPlaceDecoder(state, [query.projection, key.projection], tidied(run, temporary))
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
  const rows = batch * heads
  const state = {
    S: tf.zeros([rows, featureDim, valueDim]),
    z: tf.zeros([rows, featureDim, 1]),
    top: tf.fill([rows, featureDim, 1], MASKED),
  }
  const attributes = {
    ...{batch, heads, headDim, valueDim, featureDim},
    query: query.recipe,
    key: key.recipe,
  }
  const inputs: StepInputs = {
    state: state.S,
    normalizer: state.z,
    top: state.top,
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

/**
 * See `keyValueDecoder`; `undefined` where the backend has no such step. Full caches double; `state` and
 * `stateBytes` tell of the rows in use.
 */
export function fusedKeyValueDecoder(
  {batch, heads, headDim, valueDim}: DecoderShape,
  scale: number,
): Decoder | undefined {
  const step = fusedStep('CacheDecode')
  if (!step) return undefined
  const room = (capacity: number, width: number): tf.Tensor4D =>
    tf.keep(tf.zeros([batch, heads, capacity, width]))
  let capacity = FIRST_CAPACITY
  let caches = {keyCache: room(capacity, headDim), valueCache: room(capacity, valueDim)}
  let attributes = {batch, heads, headDim, valueDim, scale, length: 0}
  let shown: Record<string, tf.Tensor> | undefined

  const grow = () => {
    const {keyCache, valueCache} = caches
    caches = {keyCache: doubled(keyCache), valueCache: doubled(valueCache)}
    tf.dispose([keyCache, valueCache])
    capacity *= 2
    attributes = {...attributes} // a step is known by this object: the caches have moved
  }
  const forgetShown = () => {
    tf.dispose(shown)
    shown = undefined
  }
  return {
    next(query, key, value) {
      if (attributes.length === capacity) grow()
      if (shown) forgetShown()
      const out = step({...caches, query, key, value}, attributes)
      attributes.length++
      return out
    },
    get stateBytes() {
      return batch * heads * attributes.length * (headDim + valueDim) * 4
    },
    get state() {
      shown ??= tf.tidy(() => ({
        key: tf.keep(usedRows(caches.keyCache, attributes.length)),
        value: tf.keep(usedRows(caches.valueCache, attributes.length)),
      }))
      return shown
    },
    dispose() {
      forgetShown()
      tf.dispose(caches)
    },
  }
}

function doubled(cache: tf.Tensor4D): tf.Tensor4D {
  return tf.tidy(() => tf.keep(tf.concat([cache, tf.zerosLike(cache)], 2)))
}

function usedRows(cache: tf.Tensor4D, length: number): tf.Tensor4D {
  const [batch, heads, , width] = cache.shape
  return tf.slice(cache, [0, 0, 0, 0], [batch, heads, length, width])
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
      return Object.values(state).reduce((sum, tensor) => sum + tensor.size * 4, 0)
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

/** A step whose temporary tensors are freed; without any, nothing is spent on looking for them. */
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
    typeof query !== 'function' &&
    typeof key !== 'function' &&
    query.kind === key.kind &&
    query.projection === key.projection
  if (!alike) return {query: explicitSide(query), key: explicitSide(key), explicit: true}
  const projection = query.projection && transposed(query.projection)
  return {query: recipeSide(query, projection), key: recipeSide(key, projection), explicit: false}
}

function explicitSide(map: TokenMap): Side {
  const input = (token: tf.Tensor4D) =>
    typeof map === 'function' ? map(token) : formFeatures({...map, x: token})
  return {input, recipe: {kind: 'explicit'}, projection: undefined}
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
