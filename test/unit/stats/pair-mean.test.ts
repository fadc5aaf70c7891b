import {describe, expect, it} from 'vitest'
import {randomStream} from '../../../src/random/index.js'
import {mean, pairMeanError} from '../../../src/stats/index.js'
import {assertNear, moments} from '../../helpers/statistics.js'

/** Values of all pairs, `h(i, j)` in place `[j][i]`. */
function table(draws: number, h: (i: number, j: number) => number): number[][] {
  return Array.from({length: draws}, (_, j) => Array.from({length: j}, (_, i) => h(i, j)))
}

/** The textbook's way: every draw left out in turn. */
function leaveOneOut(values: number[][]): number {
  const draws = values.length
  const without = Array.from({length: draws}, (_, out) =>
    mean(values.flatMap((row, j) => row.filter((_, i) => i !== out && j !== out))),
  )
  const centre = mean(without)
  const squares = without.reduce((sum, x) => sum + (x - centre) ** 2, 0)
  return Math.sqrt(((draws - 1) / draws) * squares)
}

describe('pairMeanError', () => {
  it.each([3, 4, 7])('is the jackknife with one of %i draws left out', draws => {
    const stream = randomStream(3, `pairs of ${draws}`)
    const values = table(draws, () => stream.normal())
    const expected = leaveOneOut(values)
    const got = pairMeanError(draws, (i, j) => values[j]![i]!)
    expect(Math.abs(got - expected)).toBeLessThanOrEqual(2 ** -44 * expected)
  })

  it('is the ordinary standard error where h is the mean of both draws', () => {
    const x = [1, 4, 9, 16, 25]
    const got = pairMeanError(x.length, (i, j) => (x[i]! + x[j]!) / 2)
    const {standardError} = moments(x)
    expect(Math.abs(got - standardError)).toBeLessThanOrEqual(2 ** -44 * standardError)
  })

  it('has the expectation that is derived, never below the variance', () => {
    // h = x y of normals with mean b: z1 = b^2, z2 = 1
    const [draws, runs] = [8, 4000]
    for (const b of [0, 0.5, 2]) {
      const stream = randomStream(7, `products around ${b}`)
      const squares = Float64Array.from({length: runs}, () => {
        const x = Float64Array.from({length: draws}, () => b + stream.normal())
        return pairMeanError(draws, (i, j) => x[i]! * x[j]!) ** 2
      })
      const {mean: got, standardError} = moments(squares)
      const perPair = 4 / (draws * (draws - 2))
      assertNear(`around ${b}`, got, (4 * b * b) / draws + perPair, standardError)
      expect(perPair).toBeGreaterThan(2 / (draws * (draws - 1)))
    }
  })

  it('is not a number where a pair is none, and refuses two draws', () => {
    expect(pairMeanError(4, (i, j) => (i + j === 3 ? Number.NaN : 1))).toBeNaN()
    expect(() => pairMeanError(2, () => 1)).toThrowError(
      expect.objectContaining({
        code: 'BAD_OPTION',
        message: 'pairs: expected at least 3 draws, got 2',
      }),
    )
  })
})
