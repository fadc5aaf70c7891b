/** The tensors of the backend: storage of the CPU backend, one typed array per tensor. */
import {MathBackendCPU} from '@tensorflow/tfjs-backend-cpu'
import type {TensorInfo} from '@tensorflow/tfjs-core'
import type {Addon} from './addon.js'

/** Below this many floats V8's zeroed arrays are cheaper than memory taken as it is. */
const SMALL = 1024

/** The CPU backend of TensorFlow.js, from which `native` starts, with the addon at hand. */
export class NativeBackend extends MathBackendCPU {
  readonly addon: Addon

  constructor(addon: Addon) {
    super()
    this.addon = addon
  }

  /** The values of a tensor as float32; other number types are converted. */
  floats({dataId}: TensorInfo): Float32Array {
    const values = this.data.get(dataId).values
    return values instanceof Float32Array ? values : Float32Array.from(values as Int32Array)
  }

  /** Which entries are nonzero, as bytes. */
  bytes({dataId}: TensorInfo): Uint8Array {
    const values = this.data.get(dataId).values as Float32Array
    return Uint8Array.from(values, value => (value === 0 ? 0 : 1))
  }

  /** A tensor over `data`, which becomes the tensor's own. */
  own(data: Float32Array, shape: number[]): TensorInfo {
    return this.makeTensorInfo(shape, 'float32', data)
  }
}

/** Where outputs come from; tests put guard zones around them. */
export const memory = {
  /** Memory for `length` floats whose content is undefined. */
  allocate(length: number): Float32Array {
    if (length < SMALL) return new Float32Array(length)
    return new Float32Array(Buffer.allocUnsafeSlow(4 * length).buffer, 0, length)
  },
}

/** Memory for an output: `length` floats that the kernel writes, every one. */
export function uninitialised(length: number): Float32Array {
  return memory.allocate(length)
}

/** Product of the axes. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, axis) => product * axis, 1)
}
