import {cumulativeAxes} from '../../../attention/fused-kernels.js'
import {defineKernel, required} from '../kernel.js'

/** Logarithms of running sums in one pass; see `cumulativeLogSumExp` in the kernel package. */
export default defineKernel('CumulativeLogSumExp', ({inputs, backend, addon}) => {
  const shape = cumulativeAxes(inputs)
  const [outer, rows, columns] = shape
  const out = backend.uninitialised(outer * rows * columns)
  addon.runningLogSums(backend.floats(required(inputs, 'x')), out, outer, rows, columns)
  return backend.own(out, shape)
})
