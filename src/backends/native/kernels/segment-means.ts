import {checkSegments} from '../../../attention/fused-kernels.js'
import {defineKernel, required} from '../kernel.js'
import {sizeOf} from '../storage.js'

/** Means of runs of rows in one pass; see `segmentMeans` in the kernel package. */
export default defineKernel<{starts: readonly number[]}>(
  'SegmentMeans',
  ({inputs, attrs, backend, addon}) => {
    const given: unknown = attrs.starts
    checkSegments(inputs, given)
    const x = required(inputs, 'x')
    const [batch, heads, , columns] = x.shape as [number, number, number, number]
    const shape = [batch, heads, given.length - 1, columns]
    const out = backend.uninitialised(sizeOf(shape))
    // checked above, and then trusted: the addon reads rows as far as these say
    const starts = Int32Array.from(given)
    addon.segmentMeans(backend.floats(x), out, batch * heads, columns, starts)
    return backend.own(out, shape)
  },
)
