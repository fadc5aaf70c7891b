import {type MixtureAttributes, optimalMixtureSizes} from '../../../attention/fused-kernels.js'
import {defineKernel, required, view3, view4} from '../kernel.js'
import {sizeOf} from '../storage.js'

/** A mixture read with weights per query; see `optimalMixture` in the kernel package. */
export default defineKernel<MixtureAttributes>(
  'OptimalMixture',
  ({inputs, attrs: {scale, coefficient, floor}, backend, addon}) => {
    const sizes = optimalMixtureSizes(inputs, {scale, coefficient, floor})
    const {batch, heads, queryLen, valueDim} = sizes
    const {present} = inputs
    const view = (name: string) => {
      const tensor = required(inputs, name)
      return view4(backend.floats(tensor), tensor.shape)
    }
    const row = (name: string) => {
      const tensor = required(inputs, name)
      return view3(backend.floats(tensor), tensor.shape)
    }
    const shape = [batch, heads, queryLen, valueDim]
    const out = backend.uninitialised(sizeOf(shape))
    addon.optimalMixture({
      ...sizes,
      query: view('query'),
      vectors: view('vectors'),
      values: view('values'),
      bias: row('bias'),
      balance: row('balance'),
      affinity: view('affinity'),
      present: present && backend.bytes(present),
      ...{scale, coefficient, floor},
      out: view4(out, shape),
    })
    return backend.own(out, shape)
  },
)
