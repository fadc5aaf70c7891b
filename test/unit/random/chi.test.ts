import {describe, expect, it} from 'vitest'
import {chis, normals, randomStream} from '../../../src/random/index.js'
import {bonferroniZ} from '../../../src/stats/index.js'

const draw = (count: number, dim: number) =>
  chis({normal: randomStream(3, 'chi', dim), again: randomStream(3, 'again', dim)}, count, dim)

const DIMS = [1, 2, 3, 4, 7, 64, 1000]

describe('lengths of normal vectors', () => {
  // of Q chi-square: mean D, variance 2D, third and fourth central moments 8D and 12 D (D + 4)
  it.each(DIMS)('have the moments of chi-square numbers with %i degrees of freedom', dim => {
    const count = 40_000
    const deviations = draw(count, dim).map(length => length ** 2 - dim)
    const power = (p: number) => deviations.reduce((sum, x) => sum + x ** p, 0) / count
    const fourth = 12 * dim * (dim + 4)
    // the standard error of a mean of cubes takes the sixth central moment: 40 D (3 D^2 + 52 D + 96)
    const sixth = 40 * dim * (3 * dim ** 2 + 52 * dim + 96)
    const z = bonferroniZ(3 * DIMS.length, 1e-4) / Math.sqrt(count)
    expect(Math.abs(power(1))).toBeLessThan(z * Math.sqrt(2 * dim))
    expect(Math.abs(power(2) - 2 * dim)).toBeLessThan(z * Math.sqrt(fourth - 4 * dim ** 2))
    expect(Math.abs(power(3) - 8 * dim)).toBeLessThan(z * Math.sqrt(sixth - 64 * dim ** 2))
  })

  it.each([2, 3, 5, 64])('have the law of such lengths, %i dimensions', dim => {
    const count = 4000
    const entries = normals(randomStream(4, 'vectors', dim), count * dim)
    const measured = Float64Array.from({length: count}, (_, i) =>
      Math.hypot(...entries.subarray(i * dim, (i + 1) * dim)),
    )
    const [a, b] = [measured.sort(), draw(count, dim).sort()]
    let [largest, at] = [0, 0]
    a.forEach((value, i) => {
      while (at < count && b[at]! <= value) at++
      largest = Math.max(largest, Math.abs(i + 1 - at) / count)
    })
    // Kolmogorov-Smirnov, two samples: P(distance > c sqrt(2 / n)) = 2 exp(-2 c^2), 1e-4 for the four
    expect(largest).toBeLessThan(Math.sqrt(Math.log(2 / 2.5e-5) / 2) * Math.sqrt(2 / count))
  })

  it.each(DIMS)('begin with those of a shorter draw, %i dimensions', dim => {
    // in two dimensions one of twenty is drawn again
    const long = draw(500, dim)
    for (const count of [1, 7, 300]) expect(draw(count, dim)).toEqual(long.subarray(0, count))
  })
})
