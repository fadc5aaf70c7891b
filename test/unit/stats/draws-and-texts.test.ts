import {describe, expect, it} from 'vitest'
import {randomStream} from '../../../src/random/index.js'
import {byGroups, linearised, mean, overDrawsAndTexts} from '../../../src/stats/index.js'
import {FULL} from '../../helpers/effort.js'

/** A table of draw + text + rest, each N(0, its variance). */
function crossed(
  seed: number,
  {draws, texts, sd}: {draws: number; texts: number; sd: [number, number, number]},
): number[][] {
  const normals = new Float32Array(draws + texts + draws * texts)
  randomStream(seed, 'crossed').fillNormals(normals)
  const [ofDraw, ofText, rest] = sd
  return Array.from({length: draws}, (_, draw) =>
    Array.from(
      {length: texts},
      (_, text) =>
        ofDraw * normals[draw]! +
        ofText * normals[draws + text]! +
        rest * normals[draws + texts + draw * texts + text]!,
    ),
  )
}

describe('the interval of a mean over draws and texts', () => {
  it.each([
    {draws: 3, texts: 40, sd: [1, 1, 1] as [number, number, number]},
    {draws: 5, texts: 20, sd: [0.1, 1, 0.5] as [number, number, number]},
    {draws: 8, texts: 50, sd: [1, 3, 0] as [number, number, number]},
  ])('holds the true mean in 95 % of cases or more: %o', how => {
    const cases = FULL ? 2000 : 500
    let held = 0
    for (let seed = 0; seed < cases; seed++) {
      const {low, high} = overDrawsAndTexts(crossed(seed, how))
      if (low! <= 0 && high! >= 0) held++
    }
    // 5 standard errors of a binomial share of 95 %
    expect(held / cases).toBeGreaterThanOrEqual(0.95 - 5 * Math.sqrt((0.95 * 0.05) / cases))
    // conservative by the variance that is counted twice, and by few degrees of freedom: not by everything
    expect(held / cases).toBeLessThan(0.999)
  })

  it('is that of texts alone where nothing is drawn', () => {
    const [row] = crossed(1, {draws: 1, texts: 25, sd: [0, 1, 0]}) as [number[]]
    const {mean: center, low, high} = overDrawsAndTexts([row])
    const squares = row.reduce((sum, value) => sum + (value - mean(row)) ** 2, 0)
    // Student's t with 24 degrees of freedom
    const reach = 2.0638985616280205 * Math.sqrt(squares / 24 / 25)
    expect(center).toMatchReference(mean(row), 12)
    expect(high! - low!).toMatchReference(2 * reach, 10)
  })

  it('is a point where all are alike, and unknown with a single text or without a number', () => {
    const alike = [
      [2, 2],
      [2, 2],
    ]
    expect(overDrawsAndTexts(alike)).toEqual({mean: 2, low: 2, high: 2})
    expect(overDrawsAndTexts([[1], [3]])).toEqual({mean: 2, low: null, high: null})
    expect(overDrawsAndTexts([[1, Number.NaN]])).toEqual({mean: null, low: null, high: null})
  })

  it('of texts that count by their tokens is a ratio of sums, as wide as residuals by tokens are', () => {
    const [row] = crossed(2, {draws: 1, texts: 12, sd: [0, 1, 0]}) as [number[]]
    const tokens = row.map((_, at) => 5 + 7 * at)
    const sums = row.map((value, at) => value * tokens[at]!)
    const total = tokens.reduce((sum, count) => sum + count, 0)
    const ratio = sums.reduce((sum, value) => sum + value, 0) / total
    const {mean: center, low, high} = overDrawsAndTexts(linearised([row], tokens))
    expect(center).toMatchReference(ratio, 12)
    // Cochran 6.4: (sum of (y - R n)^2 / (T - 1)) / (T mean(n)^2)
    const squares = sums.reduce((sum, y, at) => sum + (y - ratio * tokens[at]!) ** 2, 0)
    const error = Math.sqrt(squares / 11 / 12) / (total / 12)
    // Student's t with 11 degrees of freedom
    expect(high! - low!).toMatchReference(2 * 2.200985160082949 * error, 9)
    // another unit of tokens changes nothing, and equal ones count as none
    expect(
      overDrawsAndTexts(
        linearised(
          [row],
          tokens.map(count => 2 * count),
        ),
      ),
    ).toEqual({mean: center, low, high})
    const alike = row.map(() => 64)
    const linear = overDrawsAndTexts(linearised([row], alike))
    expect(linear.high!).toMatchReference(overDrawsAndTexts([row]).high!, 12)
  })

  it.each([
    {draws: 3, texts: 40},
    {draws: 1, texts: 40},
    {draws: 5, texts: 100},
  ])('holds the true mean over tokens where loss goes with length: %o', ({draws, texts}) => {
    const cases = FULL ? 1500 : 500
    // tokens 2^0 to 2^6 alike often; a text of length 2^k loses k / 6 more: sum 2^k k / 6 over sum 2^k
    const lengths = [0, 1, 2, 3, 4, 5, 6]
    const tokensOf = (k: number) => 2 ** k
    const truth =
      lengths.reduce((sum, k) => sum + (tokensOf(k) * k) / 6, 0) /
      lengths.reduce((sum, k) => sum + tokensOf(k), 0)
    let held = 0
    for (let seed = 0; seed < cases; seed++) {
      const stream = randomStream(seed, 'lengths')
      const ks = Array.from({length: texts}, () => stream.integer(lengths.length))
      const table = crossed(seed, {draws, texts, sd: [draws === 1 ? 0 : 0.3, 0.5, 0.3]}).map(row =>
        row.map((value, at) => value + ks[at]! / 6),
      )
      const {low, high} = overDrawsAndTexts(linearised(table, ks.map(tokensOf)))
      if (low! <= truth && high! >= truth) held++
    }
    // linearised: the residuals of few long texts decide, so that a part of the 5 % is lost
    expect(held / cases).toBeGreaterThanOrEqual(0.93 - 3 * Math.sqrt((0.95 * 0.05) / cases))
    expect(held / cases).toBeLessThan(0.999)
  })

  it('by groups has the variance of the jackknife: of a mean that of texts', () => {
    const [row] = crossed(3, {draws: 1, texts: 10, sd: [0, 1, 0]}) as [number[]]
    const without = row.map((_, left) => mean(row.filter((_, at) => at !== left)))
    const direct = overDrawsAndTexts([row])
    const grouped = byGroups([mean(row)], without)
    expect(grouped.low!).toMatchReference(direct.low!, 9)
    expect(grouped.high!).toMatchReference(direct.high!, 9)
  })
})
