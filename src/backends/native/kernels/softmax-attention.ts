import {checkShape, defineKernel, required, view3, view4} from '../kernel.js'
import {sizeOf} from '../storage.js'

const NAME = 'SoftmaxAttention'

/** Exact attention in tiles; see `softmaxAttention` in the kernel package. */
export default defineKernel<{scale: number; causal: boolean}>(
  NAME,
  ({inputs, attrs, backend, addon}) => {
    const query = required(inputs, 'query')
    const key = required(inputs, 'key')
    const value = required(inputs, 'value')
    const {keyBias, keyMask} = inputs
    const tensors = [query, key, value]
    const batch = Math.max(...tensors.map(({shape}) => shape[0] ?? 0))
    const heads = Math.max(...tensors.map(({shape}) => shape[1] ?? 0))
    const [, , queryLen, headDim] = query.shape as [number, number, number, number]
    const [, , keyLen, valueDim] = value.shape as [number, number, number, number]
    checkShape(NAME, 'query', query, [batch, heads, queryLen, headDim], 2)
    checkShape(NAME, 'key', key, [batch, heads, keyLen, headDim], 2)
    checkShape(NAME, 'value', value, [batch, heads, keyLen, valueDim], 2)
    if (keyBias) checkShape(NAME, 'keyBias', keyBias, [batch, heads, keyLen], 2)
    if (keyMask) checkShape(NAME, 'keyMask', keyMask, [batch, keyLen])
    const outShape = [batch, heads, queryLen, valueDim]
    const lseShape = [batch, heads, queryLen]
    const out = backend.uninitialised(sizeOf(outShape))
    const lse = backend.uninitialised(sizeOf(lseShape))
    addon.softmaxAttention({
      ...{batch, heads, queryLen, keyLen, headDim, valueDim},
      query: view4(backend.floats(query), query.shape),
      key: view4(backend.floats(key), key.shape),
      value: view4(backend.floats(value), value.shape),
      keyBias: keyBias && view3(backend.floats(keyBias), keyBias.shape),
      keyMask: keyMask && backend.bytes(keyMask),
      ...attrs,
      out: view4(out, outShape),
      lse: view3(lse, lseShape),
    })
    return [backend.own(out, outShape), backend.own(lse, lseShape)]
  },
)
