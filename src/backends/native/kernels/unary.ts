import {type KernelCall, type NativeKernel, replaceKernel, required} from '../kernel.js'

/** Elementwise functions of one input, by TensorFlow.js's names; `Elu` has alpha 1 there too. */
const NAMES = [
  ...['Exp', 'Log', 'Sin', 'Cos', 'Relu', 'Elu', 'Square', 'Neg', 'Abs', 'Sqrt'],
  ...['Rsqrt', 'Reciprocal', 'Sign', 'Sigmoid'],
] as const

const unary: NativeKernel[] = [
  ...NAMES.map(name => replaceKernel(name, call => apply(call, name))),
  // 1 above zero; below it alpha, for which the addon has 0
  replaceKernel<{alpha: number}>('Step', call =>
    call.attrs.alpha === 0 ? apply(call, 'Step') : undefined,
  ),
]
export default unary

function apply({inputs, backend, addon}: KernelCall<unknown>, name: string) {
  const x = required(inputs, 'x')
  const values = backend.floats(x)
  const out = backend.uninitialised(values.length)
  addon.unary(addon.codes.unary[name]!, values, out)
  return backend.own(out, x.shape)
}
