import {describe, expect, it} from 'vitest'
import {normals, randomStream} from '../../../src/random/index.js'
import {LEAST_FOR_FLIPS, type SignFlipOptions, signFlips} from '../../../src/stats/index.js'

const stream = () => randomStream(0, 'test')
const flips = (differences: readonly ArrayLike<number>[], options: Partial<SignFlipOptions> = {}) =>
  signFlips(differences, {stream: stream(), ...options})

/** t of the mean, whose order the statistic has. */
function studentT(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
  return mean / Math.sqrt(squares / values.length / (values.length - 1))
}

/** The definition, step by step: the share of all signs with which a comparison among the rest has as large a |t|. */
function byDefinition(lists: readonly (readonly number[])[]): number[] {
  const replicates = lists[0]!.length
  const size = (list: readonly number[], code = 0) =>
    Math.abs(studentT(list.map((value, at) => ((code >> at) & 1 ? -value : value))))
  const order = lists.map((_, at) => at).sort((a, b) => size(lists[b]!) - size(lists[a]!))
  const found = lists.map(() => 0)
  let least = 0
  order.forEach((at, rank) => {
    const rest = order.slice(rank)
    let count = 0
    for (let code = 0; code < 2 ** replicates; code++) {
      const largest = Math.max(...rest.map(other => size(lists[other]!, code)))
      if (largest >= size(lists[at]!) * (1 - 1e-9)) count++
    }
    least = Math.max(least, count / 2 ** replicates)
    found[at] = least
  })
  return found
}

describe('signFlips', () => {
  it('is the step-down share of signs with which the largest t is as large', () => {
    const lists = [0.9, 0.4, 0, -0.7].map((shift, at) =>
      Array.from(normals(randomStream(3, 'lists', at), 7), value => value + shift),
    )
    const expected = byDefinition(lists)
    for (const [at, p] of flips(lists).entries()) expect(p).toMatchReference(expected[at]!, 12)
  })

  it('has the smallest p that so many replicates allow, for however many comparisons', () => {
    const one = (count: number) => Array.from({length: count}, (_, at) => 1 + at / 10)
    expect(flips([one(8)])).toEqual([2 ** -7])
    expect(flips([one(8)], {alternative: 'greater'})).toEqual([2 ** -8])
    expect(flips(Array.from({length: 300}, () => one(8)))).toEqual(
      Array.from({length: 300}, () => 2 ** -7),
    )
    expect(flips([one(LEAST_FOR_FLIPS)])[0]).toBeLessThanOrEqual(0.05)
    expect(flips([one(LEAST_FOR_FLIPS - 1)])[0]).toBeGreaterThan(0.05)
  })

  it('takes what is within the margin for nothing, and the other side for nothing where asked', () => {
    const list = [0.9, 1, 1.1, 0.95, 1.05, 1, 1.02]
    expect(flips([list], {margin: 1.1})).toEqual([1])
    expect(flips([list], {margin: 0.5})).toEqual([2 ** -6])
    const turned = list.map(value => -value)
    expect(flips([turned], {margin: 0.5})).toEqual([2 ** -6])
    expect(flips([turned], {margin: 0.5, alternative: 'greater'})).toEqual([1])
    expect(flips([[0, 0, 0, 0, 0, 0]])).toEqual([1])
  })

  it('draws signs where there are too many to count, the same each time', () => {
    const list = Array.from(normals(randomStream(5, 'list'), 12), value => value + 0.35)
    const [p] = flips([list])
    expect(flips([list])).toEqual([p])
    const [exact] = byDefinition([list])
    // 2000 draws, at four standard errors: one in 16,000
    const error = Math.sqrt((exact! * (1 - exact!)) / 2000)
    expect(Math.abs(p! - exact!)).toBeLessThan(4 * error + 1 / 2000)
    expect(error).toBeGreaterThan(0)
  })

  it('has no p of what is not a number, and takes shorter lists for the first replicates', () => {
    const [p, ...others] = flips([[1, 2, 1, 2, 1, 2], [], [1, Number.NaN]])
    expect(p).toBe(2 ** -5)
    expect(others).toEqual([Number.NaN, Number.NaN])
    expect(
      flips([
        [1, 1, 1, 1, 1, 1],
        [2, 2, 2, 2, 2, 2, 2],
      ]),
    ).toEqual([2 ** -5, 2 ** -6])
    expect(() => flips([[1]], {margin: -1})).toThrow(/margin/)
  })

  it('raises few false alarms among many comparisons that depend on each other', () => {
    // each row of ten against each other one: 45 pairs of what has one law, log-normal
    const runs = 400
    let alarms = 0
    for (let run = 0; run < runs; run++) {
      const rows = Array.from({length: 10}, (_, row) =>
        normals(randomStream(7, 'alarms', run, row), 7).map(Math.exp),
      )
      const pairs = rows.flatMap((a, at) =>
        rows.slice(0, at).map(b => a.map((value, place) => value - b[place]!)),
      )
      if (Math.min(...flips(pairs)) <= 0.05) alarms++
    }
    // binomial of 400 runs at 5 %: above 37 in one case of ten thousand
    expect(alarms).toBeLessThanOrEqual(37)
  })
})
