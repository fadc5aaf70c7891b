import {describe, expected} from '../../../errors.js'
import {defineKernel, required} from '../kernel.js'
import {sizeOf} from '../storage.js'

/** Means of runs of rows in one pass; see `segmentMeans` in the kernel package. */
export default defineKernel<{starts: readonly number[]}>(
  'SegmentMeans',
  ({inputs, attrs, backend, addon}) => {
    const x = required(inputs, 'x')
    const [batch, heads, , columns] = x.shape as [number, number, number, number]
    checkStarts(attrs.starts, x.shape[2]!)
    const shape = [batch, heads, attrs.starts.length - 1, columns]
    const out = backend.uninitialised(sizeOf(shape))
    const starts = Int32Array.from(attrs.starts)
    addon.segmentMeans(backend.floats(x), out, batch * heads, columns, starts)
    return backend.own(out, shape)
  },
)

/** @throws {BAD_RANGE} unless starts rise from 0 to the number of rows */
function checkStarts(starts: readonly number[], rows: number): void {
  const rise = starts.every((start, i) => i === 0 || start >= starts[i - 1]!)
  if (starts[0] === 0 && starts.at(-1) === rows && rise) return
  const wanted = `starts of segments that rise from 0 to ${rows}`
  throw expected('BAD_RANGE', 'SegmentMeans', wanted, describe([...starts]))
}
