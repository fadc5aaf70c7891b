import {expected} from '../../../errors.js'
import {checkShape, defineKernel, required, view4} from '../kernel.js'
import {sizeOf} from '../storage.js'

const NAME = 'SampleKeys'

/** Keys drawn from softmax rows; see `sampleKeys` in the kernel package. */
export default defineKernel<{scale: number; causal: boolean}>(
  NAME,
  ({inputs, attrs, backend, addon}) => {
    const query = required(inputs, 'query')
    const key = required(inputs, 'key')
    const uniform = required(inputs, 'uniform')
    const {keyMask} = inputs
    const [batch, heads, queryLen, headDim] = query.shape as [number, number, number, number]
    const [, , keyLen] = key.shape as [number, number, number, number]
    const [, , , draws] = uniform.shape as [number, number, number, number]
    checkShape(NAME, 'key', key, [batch, heads, keyLen, headDim])
    checkShape(NAME, 'uniform', uniform, [batch, heads, queryLen, draws])
    if (keyMask) checkShape(NAME, 'keyMask', keyMask, [batch, keyLen])
    if (keyLen === 0) throw expected('SHAPE_MISMATCH', NAME, 'keys to draw from', 'none')
    const index = new Int32Array(sizeOf(uniform.shape))
    const keysShape = [batch, heads, queryLen * draws, headDim]
    const keys = backend.uninitialised(sizeOf(keysShape))
    addon.sampleKeys({
      ...{batch, heads, queryLen, keyLen, headDim, draws},
      query: view4(backend.floats(query), query.shape),
      key: view4(backend.floats(key), key.shape),
      uniform: view4(backend.floats(uniform), uniform.shape),
      keyMask: keyMask && backend.bytes(keyMask),
      ...attrs,
      index,
      keys: view4(keys, keysShape),
    })
    const drawn = backend.makeTensorInfo(uniform.shape, 'int32', index)
    return [drawn, backend.own(keys, keysShape)]
  },
)
