import {describe, expect, it} from 'vitest'
import {randomStream} from '../../../src/random/index.js'
import {crossedMean, meanOfTable, studentTail} from '../../../src/stats/index.js'

/** A table of draw + text + rest, each N(0, its variance). */
function table(seed: number, draws: number, texts: number, sd: readonly number[]): number[][] {
  const stream = randomStream(seed, 'crossed-mean')
  const [ofDraw, ofText, rest] = sd
  const columns = Array.from({length: texts}, () => ofText! * stream.normal())
  return Array.from({length: draws}, () => {
    const row = ofDraw! * stream.normal()
    return columns.map(column => row + column + rest! * stream.normal())
  })
}

describe('a mean over crossed samples', () => {
  it('is Student t where one axis varies', () => {
    const {estimate, above, below} = meanOfTable([[1, 2, 4]])
    const error = Math.sqrt(7 / 3 / 3)
    expect(estimate.value).toMatchReference(7 / 3, 14)
    expect(above(1)).toMatchReference(studentTail((7 / 3 - 1) / error, 2), 12)
    expect(below(1)).toMatchReference(1 - above(1), 12)
  })

  it('has p-values of 2.5 % at the ends of its interval', () => {
    const {estimate, above, below} = meanOfTable(table(1, 4, 6, [1, 2, 0.5]))
    expect(above(estimate.low)).toMatchReference(0.025, 6)
    expect(below(estimate.high)).toMatchReference(0.025, 6)
    expect(above(estimate.value)).toMatchReference(0.5, 6)
  })

  it.each([
    {draws: 3, groups: 10, sd: [1, 1, 1]},
    {draws: 6, groups: 10, sd: [1, 0.2, 0.5]},
    {draws: 10, groups: 10, sd: [0.3, 1, 1]},
  ])('raises a false alarm in 1 %% of tests or less: %j', ({draws, groups, sd}) => {
    const cases = 1000
    let alarms = 0
    for (let seed = 0; seed < cases; seed++) {
      const {estimate, above} = meanOfTable(table(seed, draws, groups, sd))
      // p-values take time: those below 2.5 % are looked at
      if (estimate.low > 0 && above(0) < 0.01) alarms++
    }
    // 4 standard errors of a binomial share of 1 %
    expect(alarms / cases).toBeLessThanOrEqual(0.01 + 4 * Math.sqrt((0.01 * 0.99) / cases))
  })

  it('is a point where nothing varies, and has no interval without two values', () => {
    const alike = crossedMean(2, [[2, 2]])
    expect(alike.estimate).toEqual({value: 2, low: 2, high: 2})
    expect([alike.above(1), alike.above(2), alike.above(3)]).toEqual([0, 1, 1])
    expect(crossedMean(2, [[2]]).estimate.low).toBeNaN()
    expect(crossedMean(2, [[2]]).above(1)).toBeNaN()
  })
})
