/** Outputs that start as a recognisable NaN, at a misaligned address, between guard zones. */
import {memory} from '../../src/backends/native/storage.js'

/** A quiet NaN that no arithmetic makes. */
const SENTINEL = 0x7fc0dead
/** Floats before and after each output; odd, so that outputs lie off every vector's alignment. */
const ZONE = 33

interface Output {
  bits: Uint32Array
  length: number
}

/**
 * Runs `body` with guarded outputs and checks each of them afterwards.
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
  try {
    return body()
  } finally {
    Object.assign(memory, plain)
    outputs.forEach(check)
  }
}

function check({bits, length}: Output, index: number): void {
  const isSentinel = (bit: number) => bit === SENTINEL
  const where = `output ${index} of ${length} floats`
  if (!bits.subarray(0, ZONE).every(isSentinel)) throw new Error(`${where}: written before`)
  if (!bits.subarray(ZONE + length).every(isSentinel)) throw new Error(`${where}: written beyond`)
  const gap = bits.subarray(ZONE, ZONE + length).findIndex(isSentinel)
  if (gap >= 0) throw new Error(`${where}: element ${gap} was not written`)
}
