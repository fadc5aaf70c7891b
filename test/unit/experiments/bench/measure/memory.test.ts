import {afterAll, describe, expect, it} from 'vitest'
import {
  residentBytes,
  startPeakMemory,
} from '../../../../../src/experiments/bench/measure/memory.js'

/** Far more than what loading has left in this process, and may be freed meanwhile. */
const SIZE = 256 * 2 ** 20
const kept: Uint8Array[] = []
const hold = () => void kept.push(new Uint8Array(SIZE).fill(1))
afterAll(() => void kept.splice(0))

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
