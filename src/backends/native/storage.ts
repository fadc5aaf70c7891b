/** The tensors of the backend: storage of the CPU backend, one typed array per tensor. */
import type * as cpu from '@tensorflow/tfjs-backend-cpu'
import type {BackendValues, DataType, TensorInfo} from '@tensorflow/tfjs-core'
import {checkElements, disposed, MASK_TYPES} from '../../attention/fused-kernels.js'
import {describe, expected} from '../../errors.js'
import {requirePackage, tf} from '../../tf.js'
import type {Addon, NumberArray} from './addon.js'
import {SpareMemory} from './spare.js'

const {MathBackendCPU} = requirePackage('@tensorflow/tfjs-backend-cpu') as typeof cpu

/** Arrays by the types of their elements. */
const ARRAYS: Record<string, new (values: ArrayLike<number>) => NumberArray> = {
  ...{float32: Float32Array, int32: Int32Array, bool: Uint8Array},
}

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
  /** How many tensors went to another backend so far; where none did, memory is where it was. */
  departures = 0
  /** Outputs of kernels with arrays that only their tensors hold: these may be used again. */
  private readonly unseen = new WeakSet<object>()

  constructor(addon: Addon) {
    super()
    this.addon = addon
  }

  /**
   * What a tensor holds, which kernels read as far as its shape says: the only way from a tensor to its
   * memory, and the only place where the two are compared.
   *
   * @throws {BAD_OPTION} for a disposed tensor
   * @throws {SHAPE_MISMATCH} for memory of another size than the shape's, e.g. an array with a buffer that was
   * transferred to another thread or resized
   */
  values({dataId, shape}: TensorInfo): BackendValues {
    const {values} = this.entry(dataId)
    const size = sizeOf(shape)
    if (values?.length === size) return values
    const wanted = `memory of ${size} elements behind a tensor of ${describe(shape)}`
    throw expected('SHAPE_MISMATCH', 'native', wanted, `${values?.length}`, WHOLE)
  }

  /**
   * {@link values} for those who may hold on to them, or to a part of them, for longer than the tensor lives:
   * kernels of the CPU backend, which may return views of their inputs, and callers that read a tensor. Such memory
   * is left to garbage collection.
   */
  lend(tensor: TensorInfo): BackendValues {
    const values = this.values(tensor)
    this.unseen.delete(values)
    return values
  }

  /** Whether an array is the memory of a tensor still, which it is not after a visit to another backend. */
  holds(dataId: object, data: Float32Array): boolean {
    return this.entry(dataId).values === data
  }

  /** The record of a tensor, fetched from another backend where it lies there. */
  private entry(dataId: object) {
    try {
      return this.data.get(dataId)
    } catch (error) {
      throw tf.engine().state.tensorInfo.has(dataId) ? error : disposed('native')
    }
  }

  /**
   * The values of a float32 tensor; numbers that the CPU backend keeps in another type are converted.
   *
   * @throws as {@link values} does; {BAD_OPTION} for a tensor of another type
   */
  floats(tensor: TensorInfo): Float32Array {
    if (tensor.dtype !== 'float32') checkElements('native', tensor)
    const values = this.values(tensor)
    // the constructor: a tenth of the time of Float32Array.from
    return values instanceof Float32Array ? values : new Float32Array(values as Int32Array)
  }

  /**
   * The values of a tensor in an array of its type: the CPU backend casts to a wider one and leaves them as they are.
   *
   * @throws as {@link values} does
   */
  numbers(tensor: TensorInfo): NumberArray {
    const values = this.values(tensor)
    const Type = ARRAYS[tensor.dtype]!
    return values instanceof Type ? values : new Type(values as ArrayLike<number>)
  }

  /**
   * The values of a tensor that many calls go through, moved to the start of a cache line if they are not
   * there: where rows straddle lines a decode step takes a quarter longer.
   */
  aligned(tensor: TensorInfo): Float32Array {
    const values = this.floats(tensor)
    this.unseen.delete(values)
    if (this.addon.lineOffset(values) === 0) return values
    const moved = alignedMemory(this.addon, values.length)
    moved.set(values)
    this.data.get(tensor.dataId).values = moved
    return moved
  }

  /** Memory for an output: `length` floats that the kernel writes, every one. */
  uninitialised(length: number): Float32Array {
    const out = memory.allocate(length)
    if (length >= SMALL) this.unseen.add(out)
    if (4 * length >= LARGE) this.addon.adviseLargePages(out)
    return out
  }

  /** {@link uninitialised}, of another type of numbers. */
  uninitialisedOf(dtype: DataType, length: number): NumberArray {
    return dtype === 'float32' ? this.uninitialised(length) : memory.allocateOf(dtype, length)
  }

  /** Which entries of a mask are nonzero, as bytes. @throws as {@link values} does */
  bytes(tensor: TensorInfo): Uint8Array {
    checkElements('native', tensor, MASK_TYPES)
    return Uint8Array.from(this.values(tensor) as Float32Array, value => (value === 0 ? 0 : 1))
  }

  /** A tensor over `data`, which becomes the tensor's own. */
  own(data: Float32Array, shape: number[]): TensorInfo {
    return this.makeTensorInfo(shape, 'float32', data)
  }

  /** @param force - said of data that move to another backend, and of no others */
  override disposeData(dataId: object, force = false): boolean {
    if (force) this.departures++
    const values = this.data.has(dataId) ? this.data.get(dataId).values : undefined
    const gone = super.disposeData(dataId, force)
    // not of a tensor that shares its memory with others, nor of what moves elsewhere
    if (gone && !force && values instanceof Float32Array && this.unseen.delete(values)) {
      memory.free(values)
    }
    return gone
  }

  /**
   * What the caller of `dataSync` gets. A token leaves the block that it shares with others at the first
   * reading: whoever reads it may send away or overwrite the whole buffer.
   */
  override readSync(dataId: object): BackendValues {
    const entry = this.data.get(dataId)
    const {values} = entry
    if (values) this.unseen.delete(values)
    if (values instanceof Float32Array && blocks.has(values.buffer)) entry.values = values.slice()
    return super.readSync(dataId)
  }
}

const WHOLE =
  'give away a copy of what dataSync() returns (dataSync().slice()), not the array itself'

const spare = new SpareMemory()
/** Memory that outputs were given. */
const outputs = new WeakSet<ArrayBufferLike>()

/** Where outputs come from; tests put guard zones around them. */
export const memory = {
  /** Memory for `length` floats with undefined content. */
  allocate(length: number): Float32Array {
    if (length < SMALL) return new Float32Array(length)
    const kept = spare.take(length)
    if (kept) return kept
    const out = new Float32Array(Buffer.allocUnsafeSlow(4 * length).buffer, 0, length)
    outputs.add(out.buffer)
    return out
  },
  /** Memory for integers or truth values. */
  allocateOf(dtype: DataType, length: number): Int32Array | Uint8Array {
    return dtype === 'bool' ? new Uint8Array(length) : new Int32Array(length)
  },
  /**
   * The same for one token, cut from a block of many: a tenth of the time of a separate array. Tokens of a block
   * keep it alive together until they are read; they are made and dropped together.
   */
  allocateToken(length: number): Float32Array {
    const bytes = 4 * length
    if (bytes > BLOCK / 8) return memory.allocate(length)
    if (used + bytes > block.byteLength) {
      block = Buffer.allocUnsafeSlow(BLOCK).buffer
      blocks.add(block)
      used = 0
    }
    const out = new Float32Array(block, used, length)
    used += bytes
    return out
  },
  /** Takes back an array that was read and is looked at no more; memory from elsewhere is left alone. */
  recycle(data: Float32Array): void {
    if (outputs.has(data.buffer) && data.byteLength === data.buffer.byteLength) spare.expect(data)
  },
  /** Leaves all that was taken back to garbage collection. */
  release(): void {
    spare.clear()
  },
  /** Takes back memory that nothing holds any more. */
  free(array: Float32Array): void {
    spare.give(array)
  },
}

let block: ArrayBufferLike = new ArrayBuffer(0)
let used = 0
/** Memory that tensors share. */
const blocks = new WeakSet<ArrayBufferLike>()

/** Zeros from the start of a cache line on. */
function alignedMemory(addon: Addon, length: number): Float32Array {
  const room = new Float32Array(length + LINE / 4 - 1)
  const skipped = (LINE - addon.lineOffset(room)) % LINE
  return room.subarray(skipped / 4, skipped / 4 + length)
}

export function sizeOf(shape: readonly number[]): number {
  let size = 1
  for (let i = 0; i < shape.length; i++) size *= shape[i]!
  return size
}
