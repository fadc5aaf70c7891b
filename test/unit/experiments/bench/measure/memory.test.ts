import {describe, expect, it} from 'vitest'
import {
  residentBytes,
  startPeakMemory,
} from '../../../../../src/experiments/bench/measure/memory.js'

const SIZE = 64 * 2 ** 20

describe.runIf(process.platform === 'linux')('startPeakMemory', () => {
  it('gives the most that was held meanwhile, over what there was', () => {
    const peak = startPeakMemory()
    new Uint8Array(SIZE).fill(1)
    expect(peak()).toBeGreaterThan(0.9 * SIZE)
    expect(peak()).toBeLessThan(2 * SIZE)
  })

  it('counts from an earlier moment where that is given: memory that is used again is new to it', () => {
    const before = residentBytes()!
    const held = new Uint8Array(SIZE).fill(1)
    const peak = startPeakMemory(before)
    expect(peak()).toBeGreaterThan(0.9 * SIZE)
    expect(held.length).toBe(SIZE)
  })
})
