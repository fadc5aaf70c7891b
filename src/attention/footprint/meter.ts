/** A backend that computes nothing: its tensors have sizes only, and it counts their bytes. */
import type {BackendValues, DataId, DataType, TensorInfo} from '@tensorflow/tfjs-core'
import {tf} from '../../tf.js'

/** The backends with memory that can be counted. */
export type MeteredBackend = 'native' | 'tensorflow' | 'wasm' | 'cpu'

/** The name under which a backend's meter is registered while it counts. */
export function meterName(backend: MeteredBackend): string {
  return `sizes of ${backend}`
}

/** What is kept of a tensor. */
interface Held {
  size: number
  dtype: DataType
  bytes: number
  references: number
  /** The value of an entry, should somebody read it. */
  valueAt(index: number): number
}

/** Makes tensors without content and remembers the most bytes that they took at one time. */
export class Meter extends tf.KernelBackend {
  /** The backend that it stands for. */
  readonly stands: MeteredBackend
  /** Bytes of the tensors that there are. */
  held = 0
  /** The most there were. */
  peak = 0
  /** Time of what the backend leaves to plain JavaScript. */
  plainNanoseconds = 0
  readonly #tensors = new Map<DataId, Held>()

  constructor(stands: MeteredBackend) {
    super()
    this.stands = stands
  }

  /** Counts another call. */
  restart(): void {
    this.peak = this.held
    this.plainNanoseconds = 0
  }

  /** Room for a tensor of zeros, or of the values given. */
  allocate(
    shape: readonly number[],
    dtype: DataType = 'float32',
    valueAt: Held['valueAt'] = () => 0,
  ): TensorInfo {
    const dataId = {}
    const size = tf.util.sizeFromShape([...shape])
    const bytes = size * tf.util.bytesPerElement(dtype)
    this.#tensors.set(dataId, {size, dtype, bytes, references: 1, valueAt})
    this.held += bytes
    this.peak = Math.max(this.peak, this.held)
    return {dataId, shape: [...shape], dtype}
  }

  /** The same data under another shape. */
  share({dataId, dtype}: TensorInfo, shape: readonly number[]): TensorInfo {
    this.incRef(dataId)
    return {dataId, shape: [...shape], dtype}
  }

  /** Bytes that are taken and given back at once, in addition to what is held. */
  borrow(bytes: number): void {
    this.peak = Math.max(this.peak, this.held + bytes)
  }

  /** Bytes that a kernel keeps for as long as a tensor lives. */
  attach({dataId}: TensorInfo, bytes: number): void {
    this.#tensors.get(dataId)!.bytes += bytes
    this.held += bytes
    this.peak = Math.max(this.peak, this.held)
  }

  override write(values: BackendValues, shape: number[], dtype: DataType): DataId {
    const numbers = values as Float32Array
    return this.allocate(shape, dtype, i => numbers[i]!).dataId
  }

  override readSync(dataId: DataId): BackendValues {
    const {size, dtype, valueAt} = this.#tensors.get(dataId)!
    const values = dtype === 'float32' ? new Float32Array(size) : new Int32Array(size)
    return values.map((_, i) => valueAt(i))
  }

  override refCount(dataId: DataId): number {
    return this.#tensors.get(dataId)?.references ?? 0
  }

  override incRef(dataId: DataId): void {
    this.#tensors.get(dataId)!.references++
  }

  override disposeData(dataId: DataId): boolean {
    const tensor = this.#tensors.get(dataId)
    if (!tensor || --tensor.references > 0) return false
    this.held -= tensor.bytes
    return this.#tensors.delete(dataId)
  }

  override numDataIds(): number {
    return this.#tensors.size
  }

  override memory(): {unreliable: boolean} {
    return {unreliable: false}
  }

  override floatPrecision(): 32 {
    return 32
  }

  override dispose(): void {
    this.#tensors.clear()
  }
}
