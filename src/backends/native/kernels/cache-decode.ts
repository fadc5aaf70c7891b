import {expected} from '../../../errors.js'
import type {CacheDecoder} from '../addon.js'
import {type StepSizes, stepOutput, steps, tokenArrays} from '../decode.js'
import {checkShape, defineKernel, type KernelCall, required, view4} from '../kernel.js'

/** A new object whenever the caches move; `length` grows with every step. */
interface CacheDecodeAttributes extends StepSizes {
  scale: number
  /** Tokens already in the caches. */
  length: number
}

/** One token through exact attention over caches that are written in place; see `keyValueDecoder`. */
export default defineKernel<CacheDecodeAttributes>('CacheDecode', call => {
  const {inputs, attrs, backend} = call
  const decoder = stepOf(call)
  const rows = required(inputs, 'keyCache').shape[2]!
  if (attrs.length >= rows) {
    throw expected(
      'BAD_RANGE',
      'decoder',
      `fewer than ${rows} tokens in the cache`,
      `${attrs.length}`,
    )
  }
  const {query, key, value} = tokenArrays(call)
  return stepOutput(backend, attrs, out => decoder.step(query, key, value, out, attrs.length))
})

const stepOf = steps(
  ({inputs, attrs, backend, addon}: KernelCall<CacheDecodeAttributes>): CacheDecoder => {
    const {batch, heads, headDim, valueDim, scale} = attrs
    const keyCache = required(inputs, 'keyCache')
    const valueCache = required(inputs, 'valueCache')
    const rows = keyCache.shape[2]!
    checkShape('decoder', 'keyCache', keyCache, [batch, heads, rows, headDim])
    checkShape('decoder', 'valueCache', valueCache, [batch, heads, rows, valueDim])
    return new addon.CacheDecoder({
      ...{batch, heads, headDim, valueDim, scale},
      keyCache: view4(backend.aligned(keyCache), keyCache.shape),
      valueCache: view4(backend.aligned(valueCache), valueCache.shape),
    })
  },
)
