/** A cache of keys and values on a backend with a fused step. What it computes is defined in cache.ts. */
import {tf} from '../../../tf.js'
import {fusedStep} from '../../kernels/dispatch.js'
import type {Decoder} from '../../types.js'
import type {DecoderShape} from './tokens.js'

/** Rows of a fresh cache if the number of tokens is not given. */
const FIRST_CAPACITY = 64

/**
 * See `keyValueDecoder`; `undefined` where the backend has no such step. Full caches double, which copies them;
 * `state` and `stateBytes` cover the rows in use.
 */
export function fusedKeyValueDecoder(
  {batch, heads, headDim, valueDim, capacity: first = FIRST_CAPACITY}: DecoderShape,
  scale: number,
): Decoder | undefined {
  const step = fusedStep('CacheDecode')
  if (!step) return undefined
  const room = (capacity: number, width: number): tf.Tensor4D =>
    tf.keep(tf.zeros([batch, heads, capacity, width]))
  let capacity = first
  let caches = {keyCache: room(capacity, headDim), valueCache: room(capacity, valueDim)}
  let attributes = {batch, heads, headDim, valueDim, scale, length: 0}
  let shown: Record<string, tf.Tensor> | undefined

  // doubling keeps the copying at O(1) rows per token
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
