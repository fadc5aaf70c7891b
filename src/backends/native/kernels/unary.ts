import {type NativeKernel, replaceKernel, required} from '../kernel.js'

/** Elementwise functions of one input, by TensorFlow.js's names; `Elu` has alpha 1 there too. */
const NAMES = ['Exp', 'Log', 'Sin', 'Cos', 'Relu', 'Elu', 'Square', 'Neg', 'Abs', 'Sqrt'] as const

const unary: NativeKernel[] = NAMES.map(name =>
  replaceKernel(name, ({inputs, backend, addon}) => {
    const x = required(inputs, 'x')
    const values = backend.floats(x)
    const out = backend.uninitialised(values.length)
    addon.unary(addon.codes.unary[name]!, values, out)
    return backend.own(out, x.shape)
  }),
)
export default unary
