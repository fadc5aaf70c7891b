import {describe, expected} from '../../../errors.js'
import {checkShape, defineKernel, required, view3, view4} from '../kernel.js'
import {sizeOf} from '../storage.js'

const NAME = 'OptimalMixture'

/** A mixture read with weights per query; see `optimalMixture` in the kernel package. */
export default defineKernel<{scale: number; coefficient: number; floor: number}>(
  NAME,
  ({inputs, attrs, backend, addon}) => {
    const query = required(inputs, 'query')
    const vectors = required(inputs, 'vectors')
    const values = required(inputs, 'values')
    const bias = required(inputs, 'bias')
    const balance = required(inputs, 'balance')
    const affinity = required(inputs, 'affinity')
    const {present} = inputs
    const [batch, heads, queryLen, headDim] = query.shape as [number, number, number, number]
    const [, , count, valueDim] = values.shape as [number, number, number, number]
    const [, , proposals] = affinity.shape as [number, number, number, number]
    checkShape(NAME, 'vectors', vectors, [batch, heads, count, headDim])
    checkShape(NAME, 'values', values, [batch, heads, count, valueDim])
    checkShape(NAME, 'bias', bias, [batch, heads, count])
    checkShape(NAME, 'balance', balance, [batch, heads, count])
    checkShape(NAME, 'affinity', affinity, [batch, heads, proposals, queryLen])
    if (proposals === 0 || count % proposals !== 0) {
      const wanted = `vectors in a multiple of the ${proposals} proposals of affinity, one at least`
      throw expected('SHAPE_MISMATCH', NAME, wanted, describe(vectors.shape))
    }
    if (present) checkShape(NAME, 'present', present, [batch, proposals])
    const shape = [batch, heads, queryLen, valueDim]
    const out = backend.uninitialised(sizeOf(shape))
    addon.optimalMixture({
      ...{batch, heads, queryLen, headDim, valueDim, count, proposals},
      query: view4(backend.floats(query), query.shape),
      vectors: view4(backend.floats(vectors), vectors.shape),
      values: view4(backend.floats(values), values.shape),
      bias: view3(backend.floats(bias), bias.shape),
      balance: view3(backend.floats(balance), balance.shape),
      affinity: view4(backend.floats(affinity), affinity.shape),
      present: present && backend.bytes(present),
      ...attrs,
      out: view4(out, shape),
    })
    return backend.own(out, shape)
  },
)
