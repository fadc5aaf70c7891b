import {describe, expect, it} from 'vitest'
import {hodgesLehmann, signedRank} from '../../../src/stats/index.js'
import {REFERENCE, SIDES, TAIL_BOUND} from '../../helpers/stats-reference.js'

const {exact, tied, normal} = REFERENCE.signed_rank
const nothing = {value: Number.NaN, low: Number.NaN, high: Number.NaN}

describe('signedRank', () => {
  it.each(exact.map(one => [one.values.length, one] as const))(
    'counts signs of %i untied differences',
    (_, {values, p}) => {
      for (const alternative of SIDES) {
        const test = signedRank(values, {alternative})
        expect(test).toMatchObject({method: 'exact', used: values.length})
        // counts are exact, SciPy's probabilities are rounded sums of up to n (n + 1) / 4 terms
        expect(Math.abs(test.pValue / p[alternative] - 1)).toBeLessThan(1300 * Number.EPSILON)
      }
    },
  )

  it.each(tied)('counts signs on the condition of ties and zeros, $zeros', one => {
    for (const alternative of ['greater', 'less'] as const) {
      const test = signedRank(one.values, {alternative, zeros: one.zeros})
      expect(test).toMatchObject({statistic: one.statistic, used: 9, method: 'exact'})
      expect(test.pValue).toBe(one[alternative])
    }
    expect(signedRank(one.values, {zeros: one.zeros}).pValue).toBe(2 * one.greater)
  })

  it.each(normal.map(one => [one.zeros, one] as const))(
    'is normal beyond 50 differences, with ties, zeros %s',
    (zeros, {values, p}) => {
      for (const alternative of SIDES) {
        const test = signedRank(values, {alternative, zeros})
        expect(test.method).toBe('normal')
        expect(Math.abs(test.pValue / p[alternative] - 1)).toBeLessThan(TAIL_BOUND)
      }
    },
  )

  it('ranks zeros with the others by default', () => {
    const {values} = tied[0]!
    expect(signedRank(values)).toEqual(signedRank(values, {zeros: 'pratt'}))
    expect(signedRank(values).statistic).not.toBe(signedRank(values, {zeros: 'wilcox'}).statistic)
  })

  it('can give no smaller p than 2^-n', () => {
    expect(signedRank([3, 1, 2, 5], {alternative: 'greater'}).pValue).toBe(2 ** -4)
    expect(signedRank([3, 1, 2, 5], {alternative: 'less'}).pValue).toBe(1)
  })

  it('ranks infinite differences last', () => {
    const far = Number.POSITIVE_INFINITY
    const test = signedRank([1, -2, far, 3, 4, 5])
    expect(test.pValue).toBe(signedRank([1, -2, 9, 3, 4, 5]).pValue)
    expect(test.estimate.high).toBe(far)
    expect(test.estimate.low).toBe(-2)
  })

  it('finds nothing in zeros, and has no answer to NaN or no differences', () => {
    expect(signedRank([0, 0, 0])).toMatchObject({statistic: 0, used: 0, pValue: 1})
    expect(signedRank([1, Number.NaN])).toMatchObject({pValue: Number.NaN, estimate: nothing})
    expect(signedRank([])).toMatchObject({pValue: Number.NaN, estimate: nothing})
  })
})

describe('hodgesLehmann', () => {
  it.each(exact.map(one => [one.values.length, one] as const))(
    'is the median of the Walsh averages of %i values',
    (_, {values, estimate}) => {
      const [value, low, high] = estimate
      expect(hodgesLehmann(values)).toEqual({value, low, high})
    },
  )

  it('has an interval from six values on, of other confidences from others', () => {
    expect(hodgesLehmann([1, 2, 3, 4, 5])).toMatchObject({value: 3, low: Number.NaN})
    expect(hodgesLehmann([1, 2, 3, 4, 5, 6])).toEqual({value: 3.5, low: 1, high: 6})
    expect(hodgesLehmann([1, 2, 3, 4, 5], 0.9)).toEqual({value: 3, low: 1, high: 5})
  })

  it('of many values takes the rank from the normal distribution', () => {
    const values = Float64Array.from({length: 201}, (_, at) => (at - 100) ** 3)
    const {value, low, high} = hodgesLehmann(values)
    const averages: number[] = []
    values.forEach((x, i) => {
      for (const y of values.subarray(i)) averages.push((x + y) / 2)
    })
    averages.sort((a, b) => a - b)
    // of 20301 averages the k-th smallest and largest, k = mean + 1/2 - 1.96 standard deviations of the statistic
    const spread = Math.sqrt((201 * 202 * 403) / 24)
    const k = Math.floor((201 * 202) / 4 + 0.5 - 1.9599639845400543 * spread)
    expect({value, low, high}).toEqual({value: 0, low: averages[k - 1], high: averages.at(-k)})
  })

  it('has no answer to NaN, and opposite infinities have no mean', () => {
    const far = Number.POSITIVE_INFINITY
    for (const values of [[], [1, Number.NaN], [-far, 1, far]]) {
      expect(hodgesLehmann(values)).toEqual(nothing)
    }
    expect(hodgesLehmann([far, far])).toMatchObject({value: far})
    expect(hodgesLehmann([-far, -far, 1]).value).toBe(-far)
  })

  it.each([0, 1, Number.NaN])('refuses the confidence %d', confidence => {
    const act = () => hodgesLehmann([1, 2], confidence)
    expect(act).toThrow(/Hodges-Lehmann, `confidence`: expected a number between 0 and 1, got/)
    expect(act).toThrow(expect.objectContaining({code: 'BAD_OPTION'}))
  })
})
