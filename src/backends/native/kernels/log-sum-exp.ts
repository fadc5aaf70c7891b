import {checkRows} from '../../../attention/fused-kernels.js'
import {defineKernel, required} from '../kernel.js'
import {sizeOf} from '../storage.js'

/** Log-sum-exp over the last axis, which is kept with length 1; see `logSumExp` in the kernel package. */
export default defineKernel('LogSumExp', ({inputs, backend, addon}) => {
  checkRows(inputs)
  const x = required(inputs, 'x')
  const kept = x.shape.slice(0, -1)
  const rows = sizeOf(kept)
  const out = backend.uninitialised(rows)
  const columns = x.shape.at(-1)!
  addon.reduce(addon.codes.reduction.LogSumExp!, backend.floats(x), out, rows, columns, 1)
  return backend.own(out, [...kept, 1])
})
