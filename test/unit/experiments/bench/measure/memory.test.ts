import {describe, expect, it} from 'vitest'
import {
  residentBytes,
  startPeakMemory,
} from '../../../../../src/experiments/bench/measure/memory.js'

const SIZE = 64 * 2 ** 20
const kept: Uint8Array[] = []

/** Pages that this process has not had before, and keeps: what is freed stays resident for a while, and is used again. */
function hold(): void {
  const {buffer} = new WebAssembly.Memory({initial: SIZE / 2 ** 16})
  kept.push(new Uint8Array(buffer).fill(1))
}

describe.runIf(process.platform === 'linux')('startPeakMemory', () => {
  it('gives the most that was held meanwhile, over what there was', () => {
    const peak = startPeakMemory()
    hold()
    expect(peak()).toBeGreaterThan(SIZE / 2)
    expect(peak()).toBeLessThan(2 * SIZE)
  })

  it('counts from an earlier moment where that is given: memory that is used again is new to it', () => {
    const before = residentBytes()!
    hold()
    const peak = startPeakMemory(before)
    expect(peak()).toBeGreaterThan(SIZE / 2)
  })
})
