import {describe, expect, it} from 'vitest'
import {randomStream} from '../../../src/random/index.js'
import {byGroups, mean, overDrawsAndTexts} from '../../../src/stats/index.js'

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
    const cases = 2000
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

  it('by groups has the variance of the jackknife: of a mean that of texts', () => {
    const [row] = crossed(3, {draws: 1, texts: 10, sd: [0, 1, 0]}) as [number[]]
    const without = row.map((_, left) => mean(row.filter((_, at) => at !== left)))
    const direct = overDrawsAndTexts([row])
    const grouped = byGroups([mean(row)], without)
    expect(grouped.low!).toMatchReference(direct.low!, 9)
    expect(grouped.high!).toMatchReference(direct.high!, 9)
  })
})
