import {describe, expect, it} from 'vitest'
import {type RandomStream, randomStream} from '../../../src/random/index.js'
import {cephes} from '../../../src/stats/cephes.js'
import {bonferroniZ, leaning, mean, sharedVariance, variance} from '../../../src/stats/index.js'

const EULER = 0.5772156649015329

/** Digamma and trigamma at whole and half numbers: Abramowitz and Stegun 1964, 6.3.2, 6.3.3, 6.4.3 and 6.4.4. */
function published(x: number): {psi: number; trigamma: number} {
  if (x === 1) return {psi: -EULER, trigamma: Math.PI ** 2 / 6}
  if (x === 0.5) return {psi: -EULER - 2 * Math.LN2, trigamma: Math.PI ** 2 / 2}
  const {psi, trigamma} = published(x - 1)
  return {psi: psi + 1 / (x - 1), trigamma: trigamma - 1 / (x - 1) ** 2}
}

/** How far the mean of the logarithm of a chi-square over its degrees is from 0. */
const bias = (degrees: number) => published(degrees / 2).psi - Math.log(degrees / 2)

it.each([0.5, 1, 1.5, 2, 2.5, 7, 30.5])('digamma and trigamma of %d are those published', x => {
  const {psi, trigamma} = published(x)
  // a sum of up to 30 terms, each rounded to half a unit in the last place of at most 5
  const rounding = 31 * 5 * Number.EPSILON
  expect(Math.abs(cephes('psi', x) - psi)).toBeLessThan(rounding)
  expect(Math.abs(cephes('zeta', 2, x) - trigamma)).toBeLessThan(rounding)
})

/** Six variances, three to each side of e, with this variance of their logarithms. */
function sixApart(spread: number): number[] {
  const reach = Math.sqrt((5 * spread) / 6)
  return [-1, 1, 1, -1, 1, -1].map(side => Math.exp(1 + side * reach))
}

describe('sharedVariance', () => {
  it.each([
    [2, 1],
    [2, 2],
    [2, 3],
    [4, 1],
    [4, 7],
    [1, 1],
    [1, 5],
  ])('of %d degrees each, as far apart as those of a law of %d', (degrees, degreesOfLaw) => {
    const spread = published(degrees / 2).trigamma + published(degreesOfLaw / 2).trigamma
    const found = sharedVariance(sixApart(spread), degrees)
    expect(found.degrees).toMatchReference(degreesOfLaw, 9)
    expect(found.value).toMatchReference(Math.exp(1 + bias(degreesOfLaw) - bias(degrees)), 9)
  })

  it('counts for all of them together where they are equal, or no more apart than chance makes them', () => {
    for (const variances of [new Array<number>(7).fill(3), [3, 3, 4, 3, 3, 3, 3]]) {
      const {value, degrees} = sharedVariance(variances, 2)
      expect(degrees).toBe(14)
      // psi(1) - ln 1 = -gamma
      const center = mean(variances.map(Math.log))
      expect(value).toMatchReference(Math.exp(center + EULER), 12)
    }
  })

  it('counts for no more than all of them together where they differ by hardly more than chance', () => {
    const spread = published(1).trigamma + published(30.5).trigamma
    expect(sharedVariance(sixApart(spread), 2).degrees).toBe(12)
  })

  it('counts for less, the farther they are apart', () => {
    const degrees = [2, 5, 20, 100].map(spread => sharedVariance(sixApart(spread), 2).degrees)
    expect(degrees).toEqual(degrees.toSorted((a, b) => b - a))
    // trigamma(x) is 1 / x^2 + pi^2 / 6 - 2.4 x for small x: that of x = 0.1016 is 100 - pi^2 / 6, and twice x are the degrees
    expect(Math.abs(degrees[3]! - 0.2031)).toBeLessThan(0.0002)
  })

  it('goes by those above 0', () => {
    const six = sixApart(4)
    expect(sharedVariance([0, ...six, 0], 2)).toEqual(sharedVariance(six, 2))
    expect(sharedVariance([0, ...six.slice(1)], 2)).toEqual({value: 0, degrees: 0})
    expect(sharedVariance(new Array<number>(9).fill(0), 2)).toEqual({value: 0, degrees: 0})
  })

  it('says nothing of fewer than six', () => {
    expect(sharedVariance(sixApart(4).slice(1), 2)).toEqual({value: 0, degrees: 0})
    expect(sharedVariance([], 2)).toEqual({value: 0, degrees: 0})
  })

  it('follows the unit of what varies', () => {
    const six = sixApart(4)
    const {value, degrees} = sharedVariance(six, 2)
    const scaled = sharedVariance(
      six.map(one => 1e-6 * one),
      2,
    )
    expect(scaled.value / value).toMatchReference(1e-6, 12)
    expect(scaled.degrees).toMatchReference(degrees, 9)
  })
})

/** Chi-square over its degrees. */
function meanSquare(degrees: number, stream: RandomStream): number {
  return mean(Array.from({length: degrees}, () => stream.normal() ** 2))
}

describe('sharedVariance of many that were drawn', () => {
  const COUNT = 4000
  const LAWS = [
    {degrees: 2, law: 2, scale: 0.01},
    {degrees: 2, law: 6, scale: 3},
    {degrees: 4, law: 3, scale: 1},
    {degrees: 4, law: 9, scale: 1e-4},
  ]
  /** Both numbers of each law, false alarms of 1e-4 in all. */
  const Z = bonferroniZ(2 * LAWS.length, 1e-4)

  it.each(LAWS)('finds a law of $law degrees about $scale by $degrees each', one => {
    const {degrees, law, scale} = one
    const stream = randomStream(17, `test.shared ${degrees} ${law}`)
    const drawn = Array.from(
      {length: COUNT},
      () => (scale / meanSquare(law, stream)) * meanSquare(degrees, stream),
    )
    const found = sharedVariance(drawn, degrees)
    // what logarithms vary by is a sum of two trigammas, its sampling error that of a variance with their fourth cumulants
    const ofLaw = published(law / 2).trigamma
    const spread = published(degrees / 2).trigamma + ofLaw
    const cumulant = 6 * (cephes('zeta', 4, degrees / 2) + cephes('zeta', 4, law / 2))
    const error = Math.sqrt(cumulant / COUNT + (2 * spread ** 2) / (COUNT - 1))
    const foundSpread = cephes('zeta', 2, found.degrees / 2)
    expect(Math.abs(foundSpread - ofLaw)).toBeLessThan(Z * error)
    // the centre of the logarithms, that found with its degrees and the true one
    const half = found.degrees / 2
    const center = Math.log(found.value) - (cephes('psi', half) - Math.log(half))
    const trueCenter = Math.log(scale) - bias(law)
    expect(Math.abs(center - trueCenter)).toBeLessThan(Z * Math.sqrt(spread / COUNT))
  })
})

describe('leaning', () => {
  it('is the mean of both variances by their degrees, which add up', () => {
    expect(leaning({value: 1, degrees: 2}, {value: 4, degrees: 6})).toEqual({
      value: 3.25,
      degrees: 8,
    })
  })

  it('stays where others say nothing', () => {
    expect(leaning({value: 5, degrees: 2}, {value: 0, degrees: 0})).toEqual({value: 5, degrees: 2})
  })

  it('is nearer to the truth than a sample by itself where all have one variance', () => {
    // twenty samples of three values: by themselves variances vary by 1, leaning on about 40 degrees by a twentieth
    const own = Array.from({length: 20}, (_, at) => meanSquare(2, randomStream(19, 'lean', at)))
    const shared = sharedVariance(own, 2)
    const all = own.map(value => leaning({value, degrees: 2}, shared).value)
    expect(variance(all)).toBeLessThan(variance(own) / 4)
  })
})
