/** TensorFlow.js, loaded when something of it is used first: what only plans or prints never loads it. */
import {createRequire} from 'node:module'
import type * as core from '@tensorflow/tfjs-core'

/**
 * Loads a CommonJS package. `import` would first read its whole source for the names that it exports, which takes
 * longer than running it.
 */
export const requirePackage: (name: string) => unknown = createRequire(import.meta.url)

/**
 * TensorFlow.js by its members, as `import * as tf from '@tensorflow/tfjs-core'` gives it, and the same instance: tensors
 * made with it are made where attention computes. It is empty until a member is asked for; the package then stands in its
 * place, so that no later use pays.
 */
export const tf: typeof core = Object.create(
  new Proxy(
    {},
    {
      get(_, member) {
        Object.setPrototypeOf(tf, requirePackage('@tensorflow/tfjs-core') as object)
        return Reflect.get(tf, member)
      },
    },
  ),
)

/** Registers the gradients of its operations, which the package keeps in modules that Node does not load. */
export async function registerGradients(): Promise<void> {
  const module = 'rfa/gradients' // this package by its name, built after this file is compiled
  await import(module)
}

/** The types that are used under its name. */
export declare namespace tf {
  type DataType = core.DataType
  type GradConfig = core.GradConfig
  type KernelFunc = core.KernelFunc
  type NamedAttrMap = core.NamedAttrMap
  type NamedTensorMap = core.NamedTensorMap
  type NumericDataType = core.NumericDataType
  type Optimizer = core.Optimizer
  type Scalar = core.Scalar
  type Tensor<R extends core.Rank = core.Rank> = core.Tensor<R>
  type Tensor1D = core.Tensor1D
  type Tensor2D = core.Tensor2D
  type Tensor3D = core.Tensor3D
  type Tensor4D = core.Tensor4D
  type Tensor5D = core.Tensor5D
  type TensorBuffer<R extends core.Rank = core.Rank> = core.TensorBuffer<R>
  type TensorContainer = core.TensorContainer
  type TensorInfo = core.TensorInfo
  type TensorLike = core.TensorLike
  type TypedArray = core.TypedArray
  type Variable<R extends core.Rank = core.Rank> = core.Variable<R>
  type Rank = core.Rank
  namespace Rank {
    type R0 = core.Rank.R0
    type R1 = core.Rank.R1
    type R2 = core.Rank.R2
    type R3 = core.Rank.R3
    type R4 = core.Rank.R4
    type R5 = core.Rank.R5
    type R6 = core.Rank.R6
  }
}
