/** Cross entropy from class indices, and its gradient; see `softmaxCrossEntropy` in the kernel package. */
import {
  checkLabels,
  crossEntropyGradientSizes,
  crossEntropySizes,
} from '../../../attention/fused-kernels.js'
import {defineKernel, type KernelCall, type NativeKernel, required} from '../kernel.js'

const crossEntropies: NativeKernel[] = [
  defineKernel('SoftmaxCrossEntropy', ({inputs, backend, addon}) => {
    const {rows, columns} = crossEntropySizes(inputs)
    const labels = labelsOf({inputs, backend}, columns)
    const losses = new Float32Array(rows)
    addon.crossEntropy(backend.floats(required(inputs, 'logits')), labels, losses, columns)
    const out = backend.uninitialised(1)
    addon.reduce(addon.codes.reduction.Mean!, losses, out, 1, rows, 1)
    return backend.own(out, [])
  }),
  defineKernel('SoftmaxCrossEntropyGradient', ({inputs, backend, addon}) => {
    const {rows, columns} = crossEntropyGradientSizes(inputs)
    const labels = labelsOf({inputs, backend}, columns)
    const out = backend.uninitialised(rows * columns)
    const slope = backend.floats(required(inputs, 'slope'))[0]! / rows
    addon.crossEntropyGradient(
      backend.floats(required(inputs, 'logits')),
      labels,
      out,
      columns,
      slope,
    )
    return backend.own(out, [rows, columns])
  }),
]
export default crossEntropies

/** The kernel reads where labels say. @throws {BAD_RANGE} unless labels are columns */
function labelsOf(
  {inputs, backend}: Pick<KernelCall, 'inputs' | 'backend'>,
  columns: number,
): Int32Array {
  const labels = backend.numbers(required(inputs, 'labels')) as Int32Array
  checkLabels(labels, columns)
  return labels
}
