import {expect, it} from 'vitest'
import {shareOfPeak} from '../../../src/theory/peak.js'

it('a share of the peak is the rate over that of all threads', () => {
  // 3e6 operations in 10 us are 300 GFLOP/s
  expect(shareOfPeak({flops: 3e6, ns: 1e4, threads: 1}, 400)).toBe(0.75)
  expect(shareOfPeak({flops: 3e6, ns: 1e4, threads: 2}, 100)).toBe(1.5)
})

it('there is no share without a peak or a time', () => {
  expect(shareOfPeak({flops: 3e6, ns: 1e4, threads: 1}, null)).toBeNull()
  expect(shareOfPeak({flops: 3e6, ns: 0, threads: 1}, 100)).toBeNull()
})
