import {expect, it} from 'vitest'
import {OutputMoments} from '../../src/experiments/error-sweep/measure/moments.js'
import {normals, randomStream} from '../../src/random/index.js'

const SIZES = {heads: 1, queryLen: 6, valueDim: 4}
const ENTRIES = 24
const RUNS = 2000

/** How often bias^2 is above 1.645 of its standard errors where estimates are right on average. */
function falseAlarms(replicates: number, noise: (normal: number) => number): number {
  let alarms = 0
  for (let run = 0; run < RUNS; run++) {
    const draws = normals(randomStream(7, 'bias-noise', replicates, run), replicates * ENTRIES)
    const moments = new OutputMoments(new Float64Array(ENTRIES), [SIZES], replicates)
    for (let r = 0; r < replicates; r++) {
      const rows = Array.from({length: SIZES.queryLen}, (_, row) => [
        ...draws.subarray(r * ENTRIES + row * 4, r * ENTRIES + row * 4 + 4).map(noise),
        1,
      ])
      moments.add(Float32Array.from(rows.flat()))
    }
    const {value, standardError} = moments.split().biasSquared
    if (value! > 1.645 * standardError!) alarms++
  }
  return alarms / RUNS
}

it.each([
  ['normal', 10, (x: number) => x],
  ['normal', 25, (x: number) => x],
  ['skewed', 20, (x: number) => x * x - 1],
] as const)(
  '%s noise of %d replicates shows a bias in at most one run of twenty',
  (_, replicates, noise) => {
    // nominally 5 %, and 4.4 standard errors of so many runs: one false alarm in 1e5
    const bound = 0.05 + 4.4 * Math.sqrt((0.05 * 0.95) / RUNS)
    expect(falseAlarms(replicates, noise)).toBeLessThanOrEqual(bound)
    // a seen bias is one: half a standard deviation in each entry
    expect(falseAlarms(replicates, x => noise(x) + 0.5)).toBeGreaterThan(0.9)
  },
)
