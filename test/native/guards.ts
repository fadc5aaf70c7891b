/** Inputs at misaligned addresses; outputs too, starting as a recognisable NaN between guard zones. */
import * as tf from '@tensorflow/tfjs-core'
import {memory, NativeBackend} from '../../src/backends/native/storage.js'

/** A quiet NaN that no arithmetic makes; its last byte is no truth value. */
const SENTINEL = 0x7fc0dead
/** Floats before and after each output; odd, so that outputs lie off every vector's alignment. */
const ZONE = 33

interface Output {
  bits: Uint32Array | Uint8Array
  length: number
}

/**
 * Runs `body` on the native backend with misaligned inputs and guarded outputs, and checks each output
 * afterwards.
 *
 * @throws Error when a kernel wrote outside of an output, or left a part of it unwritten
 */
export function guarded<T>(body: () => T): T {
  const outputs: Output[] = []
  const plain = {...memory}
  memory.allocate = length => {
    const bits = new Uint32Array(length + 2 * ZONE).fill(SENTINEL)
    outputs.push({bits, length})
    return new Float32Array(bits.buffer, 4 * ZONE, length)
  }
  memory.allocateToken = memory.allocate
  memory.allocateOf = (dtype, length) => {
    const bits = new (dtype === 'bool' ? Uint8Array : Uint32Array)(length + 2 * ZONE).fill(SENTINEL)
    outputs.push({bits, length})
    if (bits instanceof Uint8Array) return bits.subarray(ZONE, ZONE + length)
    return new Int32Array(bits.buffer, 4 * ZONE, length)
  }
  const backend = tf.backend()
  if (!(backend instanceof NativeBackend))
    throw new Error(`expected native, got ${tf.getBackend()}`)
  backend.write = (values, ...rest) =>
    NativeBackend.prototype.write.call(backend, misaligned(values), ...rest)
  try {
    return body()
  } finally {
    Reflect.deleteProperty(backend, 'write')
    Object.assign(memory, plain)
    outputs.forEach(check)
  }
}

/** The same floats, an odd number of them after the start of their memory, as outputs are already. */
function misaligned(values: tf.BackendValues): tf.BackendValues {
  if (!(values instanceof Float32Array) || values.byteOffset === 4 * ZONE) return values
  const moved = new Float32Array(new ArrayBuffer(4 * (ZONE + values.length)), 4 * ZONE)
  moved.set(values)
  return moved
}

function check({bits, length}: Output, index: number): void {
  const sentinel = bits instanceof Uint8Array ? SENTINEL & 0xff : SENTINEL
  const isSentinel = (bit: number) => bit === sentinel
  const where = `output ${index} of ${length} numbers`
  if (!bits.subarray(0, ZONE).every(isSentinel)) throw new Error(`${where}: written before`)
  if (!bits.subarray(ZONE + length).every(isSentinel)) throw new Error(`${where}: written beyond`)
  const gap = bits.subarray(ZONE, ZONE + length).findIndex(isSentinel)
  if (gap >= 0) throw new Error(`${where}: element ${gap} was not written`)
}
