/** TensorFlow.js, loaded when something of it is used first: what only plans or prints never loads it. */
import {createRequire} from 'node:module'
import type * as core from '@tensorflow/tfjs-core'

/**
 * Loads a CommonJS package. `import` would first read its whole source for the names that it exports, which takes
 * longer than running it.
 */
export const requirePackage = createRequire(import.meta.url)

/**
 * TensorFlow.js by its members, as `import * as tf` gives it, and the same instance. It is empty until a member is
 * asked for; the package then stands in its place, so that no later use pays.
 */
export const tf: typeof core = Object.create(
  new Proxy(
    {},
    {
      get(_, member) {
        Object.setPrototypeOf(tf, requirePackage('@tensorflow/tfjs-core'))
        return Reflect.get(tf, member)
      },
    },
  ),
)

/** The types that are used under its name. */
export declare namespace tf {
  type DataType = core.DataType
  type KernelFunc = core.KernelFunc
  type NamedAttrMap = core.NamedAttrMap
  type NamedTensorMap = core.NamedTensorMap
  type Tensor<R extends core.Rank = core.Rank> = core.Tensor<R>
  type Tensor1D = core.Tensor1D
  type Tensor2D = core.Tensor2D
  type Tensor3D = core.Tensor3D
  type Tensor4D = core.Tensor4D
  type Tensor5D = core.Tensor5D
  type TensorContainer = core.TensorContainer
  type TensorInfo = core.TensorInfo
  type TypedArray = core.TypedArray
  namespace Rank {
    type R2 = core.Rank.R2
    type R3 = core.Rank.R3
    type R4 = core.Rank.R4
  }
}
