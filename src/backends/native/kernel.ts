/** How a kernel of this backend is written: a name and a function; checks and views are shared. */
import type {DataType, KernelConfig, KernelFunc, TensorInfo} from '@tensorflow/tfjs-core'
import {given, type Inputs} from '../../attention/fused-kernels.js'
import type {Addon, Array3, Array4} from './addon.js'
import type {NativeBackend} from './storage.js'

export interface KernelCall<Attributes = Record<string, unknown>> {
  inputs: Inputs<TensorInfo>
  attrs: Attributes
  backend: NativeBackend
  addon: Addon
}

/** A kernel as `kernels/` defines it: its config record but for the backend. */
export interface NativeKernel {
  kernelName: string
  /** @param fallback - the CPU backend's kernel of that name, which exists for tfjs's own names */
  kernelFunc(fallback: KernelFunc | undefined): KernelFunc
}

/** A kernel of this package's own, which checks its call. */
export function defineKernel<Attributes>(
  kernelName: string,
  run: (call: KernelCall<Attributes>) => TensorInfo | TensorInfo[],
): NativeKernel {
  return {kernelName, kernelFunc: () => params => run(callOf<Attributes>(params))}
}

/** Types that are moved as they are. */
export const NUMBERS: readonly DataType[] = ['float32', 'int32', 'bool']

/**
 * A kernel of TensorFlow.js itself, replaced for the cases that matter.
 *
 * @param run - `undefined` leaves the case to the CPU backend's kernel
 * @param types - that `run` takes; inputs of others are left to the CPU backend as well. Default float32
 */
export function replaceKernel<Attributes>(
  kernelName: string,
  run: (call: KernelCall<Attributes>) => TensorInfo | TensorInfo[] | undefined,
  types: readonly DataType[] = ['float32'],
): NativeKernel {
  return {
    kernelName,
    kernelFunc: fallback => {
      const others = guardedKernel(fallback!)
      return params => {
        const taken = Object.values(params.inputs).every(
          input => !input || types.includes(input.dtype),
        )
        return (taken ? run(callOf<Attributes>(params)) : undefined) ?? others(params)
      }
    },
  }
}

function callOf<Attributes>(params: Parameters<KernelFunc>[0]): KernelCall<Attributes> {
  const backend = params.backend as NativeBackend
  const attrs = (params.attrs ?? {}) as Attributes
  return {inputs: params.inputs ?? {}, attrs, backend, addon: backend.addon}
}

/** The config records of kernels for a backend's name. */
export function toConfigs(
  kernels: readonly NativeKernel[],
  backendName: string,
  fallback: (kernelName: string) => KernelConfig | undefined,
): KernelConfig[] {
  return kernels.map(({kernelName, kernelFunc}) => ({
    kernelName,
    backendName,
    kernelFunc: kernelFunc(fallback(kernelName)?.kernelFunc),
  }))
}

/** An input that must be there. @throws {BAD_OPTION} */
export function required(inputs: KernelCall['inputs'], name: string): TensorInfo {
  return given('native', inputs, name)
}

/** Kernels that return another tensor on the same memory, counted as such: nothing else holds it. */
const SHARING = new Set(['Reshape', 'ExpandDims', 'Identity'])

/**
 * A kernel of the CPU backend for the tensors of this one: it reads whatever memory it finds, so that is
 * looked at before.
 */
export function guardedKernel(kernelFunc: KernelFunc, kernelName?: string): KernelFunc {
  const shares = kernelName !== undefined && SHARING.has(kernelName)
  return params => {
    const backend = params.backend as NativeBackend
    for (const input of Object.values(params.inputs)) {
      if (!input || input.dtype === 'complex64') continue
      if (shares) backend.values(input)
      else backend.lend(input)
    }
    return kernelFunc(params)
  }
}

/** A dense `[B or 1, H or 1, rows, columns]` array; a leading axis of 1 repeats. */
export function view4(data: Float32Array, shape: readonly number[]): Array4 {
  const [batch, heads, rows, columns] = shape as [number, number, number, number]
  return {
    data,
    batchStride: batch === 1 ? 0 : heads * rows * columns,
    headStride: heads === 1 ? 0 : rows * columns,
    rowStride: columns,
  }
}

/** A dense `[B or 1, H or 1, n]` array. */
export function view3(data: Float32Array, shape: readonly number[]): Array3 {
  const [batch, heads, length] = shape as [number, number, number]
  return {data, batchStride: batch === 1 ? 0 : heads * length, headStride: heads === 1 ? 0 : length}
}
