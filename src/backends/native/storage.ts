/** The tensors of the backend: storage of the CPU backend, one typed array per tensor. */
import {MathBackendCPU} from '@tensorflow/tfjs-backend-cpu'
import type {TensorInfo} from '@tensorflow/tfjs-core'
import type {Addon} from './addon.js'

/** Below this many floats V8's zeroed arrays are cheaper than memory taken as it is. */
const SMALL = 1024

/** Bytes of a cache line. */
const LINE = 64

/** Bytes from which an output gets large pages where the system has them: several of them fit. */
const LARGE = 2 ** 23

/** Bytes of a block of outputs of decode steps: 32 tokens of 8 heads of 64. */
const BLOCK = 65536

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

  /**
   * The values of a tensor that many calls go through, moved to the start of a cache line if they are not
   * there: where rows straddle lines a decode step takes a quarter longer.
   */
  aligned(tensor: TensorInfo): Float32Array {
    const values = this.floats(tensor)
    if (this.addon.lineOffset(values) === 0) return values
    const moved = alignedMemory(this.addon, values.length)
    moved.set(values)
    this.data.get(tensor.dataId).values = moved
    return moved
  }

  /** Memory for an output: `length` floats that the kernel writes, every one. */
  uninitialised(length: number): Float32Array {
    const out = memory.allocate(length)
    if (4 * length >= LARGE) this.addon.adviseLargePages(out)
    return out
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
  /**
   * The same for one token, cut from a block of many: a tenth of the time of an array of its own. Tokens
   * of a block keep it alive together, as they are made and dropped together.
   */
  allocateToken(length: number): Float32Array {
    const bytes = 4 * length
    if (bytes > BLOCK / 8) return memory.allocate(length)
    if (used + bytes > block.byteLength) {
      block = Buffer.allocUnsafeSlow(BLOCK).buffer
      used = 0
    }
    const out = new Float32Array(block, used, length)
    used += bytes
    return out
  },
}

let block = new ArrayBuffer(0)
let used = 0

/** Zeros from the start of a cache line on. */
function alignedMemory(addon: Addon, length: number): Float32Array {
  const room = new Float32Array(length + LINE / 4 - 1)
  const skipped = (LINE - addon.lineOffset(room)) % LINE
  return room.subarray(skipped / 4, skipped / 4 + length)
}

/** Product of the axes. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, axis) => product * axis, 1)
}
