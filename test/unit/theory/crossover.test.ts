import {describe, expect, it} from 'vitest'
import {positiveOvertakesAt, unitVariance} from '../../../src/theory/crossover.js'
import {
  hyperbolicVariance,
  positiveVariance,
  softmaxKernel,
  trigonometricVariance,
} from '../../../src/theory/kernels.js'

const radians = (degrees: number) => (degrees * Math.PI) / 180
const BUDGETS = ['M', 'F'] as const

describe('unitVariance', () => {
  it('is M times the variance over the squared kernel; F counts twice where a row makes two features', () => {
    const [norm, angle] = [0.8, radians(110)]
    const x = Float64Array.of(norm, 0)
    const y = Float64Array.of(norm * Math.cos(angle), norm * Math.sin(angle))
    const squared = softmaxKernel(x, y) ** 2
    const laws = {
      positive: positiveVariance,
      hyperbolic: hyperbolicVariance,
      trigonometric: trigonometricVariance,
    }
    for (const map of ['positive', 'hyperbolic', 'trigonometric'] as const) {
      const wanted = laws[map](x, y, 1) / squared
      expect(unitVariance(map, norm, angle, 'M') / wanted).toMatchReference(1, 13)
      const features = map === 'positive' ? 1 : 2
      expect(unitVariance(map, norm, angle, 'F') / wanted).toMatchReference(features, 13)
    }
  })
})

describe('the norm from which positive features vary less than trigonometric ones', () => {
  it.each(BUDGETS)('at equal %s: parts the norms, at obtuse angles', budget => {
    for (const degrees of [95, 120, 150, 179]) {
      const angle = radians(degrees)
      const at = positiveOvertakesAt(angle, budget)
      for (let norm = 0.05; norm < 13; norm += 0.05) {
        const positive = unitVariance('positive', norm, angle, budget)
        const trigonometric = unitVariance('trigonometric', norm, angle, budget)
        expect(positive < trigonometric, `${degrees} degrees, norm ${norm}`).toBe(norm >= at)
      }
    }
  })

  it('is the root at 120 degrees: s = t, u = 3 t', () => {
    const t = positiveOvertakesAt(radians(120), 'M') ** 2
    expect(Math.expm1(t)).toMatchReference((Math.exp(3 * t) - 2 + Math.exp(-3 * t)) / 2, 12)
  })

  it('comes earlier at equal F, where trigonometric features have half the rows', () => {
    for (const degrees of [100, 120, 150]) {
      const angle = radians(degrees)
      expect(positiveOvertakesAt(angle, 'F')).toBeLessThan(positiveOvertakesAt(angle, 'M'))
    }
  })

  it('is none up to a right angle, where trigonometric ones vary less at every norm', () => {
    for (const degrees of [0, 45, 90]) {
      const angle = radians(degrees)
      for (const budget of BUDGETS) {
        expect(positiveOvertakesAt(angle, budget)).toBe(Number.POSITIVE_INFINITY)
        for (const norm of [0.01, 0.5, 2, 8]) {
          expect(unitVariance('trigonometric', norm, angle, budget)).toBeLessThan(
            unitVariance('positive', norm, angle, budget),
          )
        }
      }
    }
    expect(positiveOvertakesAt(Math.PI, 'M')).toBe(0)
  })
})

describe('hyperbolic features', () => {
  it('never vary more than positive ones, and less than trigonometric ones at obtuse angles alone', () => {
    for (const degrees of [0, 30, 89, 91, 150]) {
      for (const norm of [0.1, 1, 3]) {
        for (const budget of BUDGETS) {
          const of = (map: 'positive' | 'hyperbolic' | 'trigonometric') =>
            unitVariance(map, norm, radians(degrees), budget)
          expect(of('hyperbolic')).toBeLessThanOrEqual(of('positive'))
          expect(of('hyperbolic') < of('trigonometric')).toBe(degrees > 90)
        }
      }
    }
  })
})
