import {describe, expect, it} from 'vitest'
import {
  momentBytes,
  OutputMoments,
} from '../../../../../src/experiments/error-sweep/measure/moments.js'
import {normals, randomStream} from '../../../../../src/random/index.js'
import {FLOAT32_ROUNDOFF} from '../../../../../src/theory/rounding.js'
import {FULL} from '../../../../helpers/effort.js'
import {assertNear, moments, Z} from '../../../../helpers/statistics.js'

/** Moments of outputs of one row. */
const momentsOf = (exact: number[], replicates: number) =>
  new OutputMoments(
    Float64Array.from(exact),
    [{heads: 1, queryLen: 1, valueDim: exact.length}],
    replicates,
  )

/** A row of an output with the sum of its weights. */
const row = (output: number[]) => Float32Array.of(...output, 1)

const split = (outputs: number[][], exact: number[]) => {
  const sums = momentsOf(exact, outputs.length)
  for (const output of outputs) sums.add(row(output))
  return sums.split()
}

describe('the split of the mean squared error', () => {
  it('is right for two replicates', () => {
    // entry 0: mean 2, variance 2, squared bias 1; entry 1: mean 0, variance 0, squared bias 0
    const {biasSquared, variance} = split(
      [
        [1, 0],
        [3, 0],
      ],
      [1, 0],
    )
    expect(variance.value).toBe(1)
    expect(biasSquared.value).toBe((1 + 0) / 2 - 1 / 2)
  })

  it('is the mean product of different replicates, also of many', () => {
    const stream = randomStream(4, 'replicates')
    const outputs = Array.from({length: 23}, () =>
      [3 + stream.normal(), stream.normal()].map(Math.fround),
    )
    const products = outputs.flatMap((a, r) =>
      outputs.slice(0, r).map(b => (a[0]! * b[0]! + a[1]! * b[1]!) / 2),
    )
    const expected = products.reduce((sum, x) => sum + x, 0) / products.length
    const {biasSquared} = split(outputs, [0, 0])
    // R updates of a mean in single precision, each off by at most half a unit of the largest difference
    const largest = Math.max(...outputs.flat().map(Math.abs))
    const meanError = outputs.length * FLOAT32_ROUNDOFF * largest
    const bound = 2 * meanError * Math.sqrt(expected) + meanError ** 2
    expect(Math.abs(biasSquared.value! - expected)).toBeLessThanOrEqual(bound)
  })

  it('adds up to the mean squared error over replicates', () => {
    const outputs = [
      [1, 5],
      [2, 7],
      [4, 3],
    ]
    const exact = [2, 4]
    const {biasSquared, variance} = split(outputs, exact)
    const mse =
      outputs.flatMap(o => o.map((x, i) => (x - exact[i]!) ** 2)).reduce((a, b) => a + b) / 6
    // E[(1/R) sum of squares] = bias^2 + variance; for the sample: bias^2 + var/R + var (R-1)/R
    // three updates of a mean in single precision, each off by at most half a unit of the largest difference, 3
    const meanError = outputs.length * FLOAT32_ROUNDOFF * 3
    expect(Math.abs(biasSquared.value! + variance.value! - mse)).toBeLessThanOrEqual(
      2 * meanError * 3,
    )
  })

  it('says nothing about one replicate or about entries that are not finite', () => {
    const unknown = {value: null, standardError: null}
    const nothing = {biasSquared: unknown, variance: unknown}
    expect(split([[1, 2]], [1, 2])).toEqual(nothing)
    expect(split([[1], [Number.NaN]], [1])).toEqual(nothing)
    const broken = [[1], [2], [3], [4], [5], [Number.NaN]]
    expect(split(broken, [1])).toEqual(nothing)
  })

  it('has no standard errors below six replicates', () => {
    const five = split([[1], [2], [3], [4], [6]], [0])
    expect(five.biasSquared).toEqual({value: expect.any(Number), standardError: null})
    expect(five.variance).toEqual({value: expect.any(Number), standardError: null})
    const six = split([[1], [2], [3], [4], [6], [5]], [0])
    expect(six.biasSquared.standardError).toBeGreaterThan(0)
    expect(six.variance.standardError).toBeGreaterThan(0)
  })

  it('has none either before all of the replicates have come', () => {
    const sums = momentsOf([0], 10)
    for (let i = 0; i < 5; i++) sums.add(row([i]))
    expect(sums.split().biasSquared.standardError).toBeNull()
  })
})

/** 0.975 quantiles of Student's t with five and nine degrees of freedom: groups less one. */
const QUANTILES: Record<number, number> = {6: 2.5706, 10: 2.2622}
const RUNS = 1500
const ENTRIES = 8

/** Splits of outputs with independent normal entries of variance 1 around `bias`. */
function simulate(replicates: number, bias: number) {
  const stream = randomStream(9, `split ${replicates} ${bias}`)
  return Array.from({length: RUNS}, () =>
    split(
      Array.from({length: replicates}, () =>
        Array.from({length: ENTRIES}, () => bias + stream.normal()),
      ),
      Array.from({length: ENTRIES}, () => 0),
    ),
  )
}

const CASES = [6, 10, 30].flatMap(replicates =>
  [0, 0.3, 3].map(bias => [replicates, bias] as const),
)

describe.each(CASES)('%i replicates with normal entries around %f', (replicates, bias) => {
  const splits = simulate(replicates, bias)
  const groups = Math.min(replicates, 10)
  /** Least coverage that chance allows a true 95 %. */
  const least = 0.95 - Z * Math.sqrt((0.95 * 0.05) / RUNS)
  const reach = QUANTILES[groups]!

  it('estimates bias^2 without bias, and its error as derived', () => {
    const values = moments(splits.map(({biasSquared}) => biasSquared.value!))
    assertNear('bias^2', values.mean, bias ** 2, values.standardError)
    const perDraw = bias ** 2 / ENTRIES // variance of d . bias
    const truth = (4 * perDraw) / replicates + 2 / ENTRIES / (replicates * (replicates - 1))
    assertNear('variance of bias^2', values.variance, truth, values.varianceError)
    const squares = moments(splits.map(({biasSquared}) => biasSquared.standardError! ** 2))
    const size = replicates / groups
    const jackknife = (4 * perDraw) / replicates + 4 / ENTRIES / size ** 2 / (groups * (groups - 2))
    assertNear('squared error of bias^2', squares.mean, jackknife, squares.standardError)
    expect(jackknife).toBeGreaterThan(truth)
  })

  it('covers bias^2 with an interval of 95 %', () => {
    const covered = splits.filter(
      ({biasSquared: {value, standardError}}) =>
        Math.abs(value! - bias ** 2) <= reach * standardError!,
    )
    expect(covered.length / RUNS).toBeGreaterThanOrEqual(least)
  })

  it('has the right error of the variance', () => {
    const values = moments(splits.map(({variance}) => variance.value!))
    assertNear('variance', values.mean, 1, values.standardError)
    const squares = moments(splits.map(({variance}) => variance.standardError! ** 2))
    // (R - 1) ENTRIES times it is chi^2; to this the jackknife's slack of pairs comes
    const truth = 2 / ((replicates - 1) * ENTRIES)
    expect(squares.mean + Z * squares.standardError).toBeGreaterThanOrEqual(truth)
    const slack = 4 / ENTRIES / (replicates / groups) ** 2 / (groups * (groups - 2))
    expect(squares.mean - Z * squares.standardError).toBeLessThanOrEqual(truth + slack)
  })
})

describe.runIf(FULL)('an output of many entries', () => {
  const [queryLen, valueDim] = [2 ** 15, 40] // 1.3 million entries: every third row
  const replicates = 12

  /** Differences of all rows that one draw shares, as heads share a projection. */
  const outputs = () => {
    const stream = randomStream(11, 'large')
    const directions = normals(stream, valueDim)
    return Array.from({length: replicates}, () => {
      const shared = stream.normal()
      const out = new Float32Array(queryLen * (valueDim + 1)).fill(1)
      for (let i = 0; i < out.length; i++) {
        const d = i % (valueDim + 1)
        if (d < valueDim) out[i] = 0.5 + shared * directions[d]!
      }
      return out
    })
  }

  it('has standard errors from some of its rows that are those of all rows', () => {
    const large = new OutputMoments(
      new Float64Array(queryLen * valueDim),
      [{heads: 1, queryLen, valueDim}],
      replicates,
    )
    const small = new OutputMoments(
      new Float64Array(valueDim),
      [{heads: 1, queryLen: 1, valueDim}],
      replicates,
    )
    for (const output of outputs()) {
      large.add(output)
      small.add(output.slice(0, valueDim + 1))
    }
    // all rows are alike, so that one says what all say, but for the rounding of sums
    const [all, one] = [large.split(), small.split()]
    for (const part of ['biasSquared', 'variance'] as const) {
      const [a, b] = [all[part].standardError!, one[part].standardError!]
      expect(Math.abs(a / b - 1)).toBeLessThan(replicates ** 2 * FLOAT32_ROUNDOFF)
    }
    const bytes = momentBytes(queryLen * valueDim, replicates)
    expect(bytes).toBeLessThan((4 + 40) * queryLen * valueDim)
  })
})
