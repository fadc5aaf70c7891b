import {type SoftmaxAttributes, sampleKeysSizes} from '../../../attention/fused-kernels.js'
import {defineKernel, required, view4} from '../kernel.js'
import {sizeOf} from '../storage.js'

/** Keys drawn from softmax rows; see `sampleKeys` in the kernel package. */
export default defineKernel<SoftmaxAttributes>('SampleKeys', ({inputs, attrs, backend, addon}) => {
  const sizes = sampleKeysSizes(inputs, attrs)
  const {batch, heads, queryLen, headDim, draws} = sizes
  const {keyMask} = inputs
  const view = (name: string) => {
    const tensor = required(inputs, name)
    return view4(backend.floats(tensor), tensor.shape)
  }
  const indexShape = [batch, heads, queryLen, draws]
  const index = new Int32Array(sizeOf(indexShape))
  const keysShape = [batch, heads, queryLen * draws, headDim]
  // also returns the drawn keys: gathering them would read them once more
  const keys = backend.uninitialised(sizeOf(keysShape))
  addon.sampleKeys({
    ...sizes,
    query: view('query'),
    key: view('key'),
    uniform: view('uniform'),
    keyMask: keyMask && backend.bytes(keyMask),
    scale: attrs.scale,
    causal: attrs.causal,
    index,
    keys: view4(keys, keysShape),
  })
  return [backend.makeTensorInfo(indexShape, 'int32', index), backend.own(keys, keysShape)]
})
