import {describe, expect, it} from 'vitest'
import type {Sample} from '../../../../src/check/draws/samples.js'
import {drawSamples, type Source} from '../../../../src/check/draws/sampling.js'
import {tiltRows, tiltsOf} from '../../../../src/check/draws/tilts.js'
import {normals, randomStream} from '../../../../src/random/index.js'

/** Normal estimates of 1, counted. */
function source(spread: number, finds?: number): Source & {batches: number[]} {
  const batches: number[] = []
  return {
    batches,
    draw(batch, draws) {
      batches.push(draws)
      const values = Float64Array.from(
        normals(randomStream(5, `b${batch}`), draws),
        x => 1 + spread * x,
      )
      return {values, weights: new Float64Array(draws).fill(1), size: 1, unit: 1}
    },
    sample: ({values}): Sample => ({
      ...{label: 'a', values, truth: 1, scale: 1, slack: 0},
      ...(finds !== undefined && {finds}),
    }),
  }
}

const counts = async (
  sources: readonly Source[],
  extent: Partial<Parameters<typeof drawSamples>[1]>,
) => {
  const samples = await drawSamples(sources, {draws: undefined, seconds: 60, ...extent})
  return samples.map(({values}) => values.length)
}

describe('draws of statistical checks', () => {
  it('are as many as the spread takes: (z / 0.1)^2 variances', async () => {
    const [few, many] = await counts([source(0.2), source(3)], {})
    expect(few).toBe(1000)
    // z = 4.16 for two comparisons at 1e-4 / cosh(1): 15,600 for a standard deviation of 3, known to some per cent
    expect(many).toBeGreaterThan(14_000)
    expect(many).toBeLessThan(18_000)
  })

  it('are raised until the bias that is looked for is found', async () => {
    // ((4.0 + 3.09) / 0.02)^2 variances of 0.04
    const [count] = await counts([source(0.2, 0.02)], {})
    expect(count).toBeGreaterThan(4500)
    expect(count).toBeLessThan(5600)
  })

  it('are those of the first batch where the time is up', async () => {
    expect(await counts([source(0.2), source(100)], {seconds: 0})).toEqual([1000, 1000])
  })

  it('are exactly those that are given', async () => {
    const one = source(100)
    expect(await counts([one], {draws: 2500})).toEqual([2500])
    expect(one.batches).toEqual([1000, 1000, 500])
  })
})

describe('rows by importance sampling', () => {
  const [x, y] = [Float64Array.of(1, 0, 0), Float64Array.of(0.75, 1.3, 0)]
  const draws = 20_000
  const drawn = (numFeatures: number) => {
    const rows = Float32Array.from(normals(randomStream(3, 'rows'), draws * numFeatures * 3))
    const shape = {draws, numFeatures, headDim: 3}
    const weights = tiltRows(rows, shape, tiltsOf([[x, y]], [1]), randomStream(3, 'tilts'))
    return {rows, weights}
  }

  it.each([1, 2, 5])('have weights of at most 2 and of mean 1 (M = %i)', numFeatures => {
    const {weights} = drawn(numFeatures)
    expect(Math.max(...weights)).toBeLessThanOrEqual(2)
    const mean = weights.reduce((sum, each) => sum + each, 0) / draws
    // the variance of numbers from 0 to 2 with mean 1 is at most 1; z = 4.9 of one in a million
    expect(Math.abs(mean - 1)).toBeLessThan(4.9 / Math.sqrt(draws))
  })

  it('estimate exp(x.y) at norms of 1 and 1.5 from few draws', () => {
    const numFeatures = 2
    const {rows, weights} = drawn(numFeatures)
    const sum = x.map((each, d) => each + y[d]!)
    const squares = (v: Float64Array) => v.reduce((total, each) => total + each * each, 0)
    let mean = 0
    for (let row = 0; row < draws * numFeatures; row++) {
      const product = sum.reduce((total, each, d) => total + each * rows[3 * row + d]!, 0)
      const estimate = Math.exp(product - (squares(x) + squares(y)) / 2) / numFeatures
      mean += (weights[Math.floor(row / numFeatures)]! * estimate) / draws
    }
    // at most 1 / 0.375 of the kernel each, so of a relative variance of at most 1.67
    expect(Math.abs(mean / Math.exp(0.75) - 1)).toBeLessThan(4.9 * Math.sqrt(1.67 / draws))
  })
})
