import {checkArray, checkNumber, fourAxes} from '../../../attention/fused-kernels.js'
import {expected} from '../../../errors.js'
import type {CacheDecoder} from '../addon.js'
import {type StepSizes, stateArray, stepOutput, steps, tokenArrays} from '../decode.js'
import {defineKernel, type KernelCall, required, view4} from '../kernel.js'

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
  const {length} = attrs
  // the addon writes row `length` without looking: beyond the caches lies memory of others
  if (!(Number.isInteger(length) && length >= 0 && length < rows)) {
    throw expected('BAD_RANGE', 'decoder', `fewer than ${rows} tokens in the cache`, `${length}`)
  }
  const {query, key, value} = tokenArrays(call)
  return stepOutput(backend, attrs, out => decoder.step(query, key, value, out, length))
})

const stepOf = steps(
  ({keyCache, valueCache}) => [keyCache, valueCache],
  (call: KernelCall<CacheDecodeAttributes>): CacheDecoder => {
    const {inputs, attrs, addon} = call
    const {batch, heads, headDim, valueDim, scale} = attrs
    checkNumber('decoder.scale', scale)
    const [, , rows] = fourAxes('decoder', inputs, 'keyCache')
    checkArray('decoder', inputs, 'keyCache', [batch, heads, rows, headDim])
    checkArray('decoder', inputs, 'valueCache', [batch, heads, rows, valueDim])
    return new addon.CacheDecoder({
      ...{batch, heads, headDim, valueDim, scale},
      keyCache: view4(...stateArray(call, 'keyCache', rows, headDim)),
      valueCache: view4(...stateArray(call, 'valueCache', rows, valueDim)),
    })
  },
)
