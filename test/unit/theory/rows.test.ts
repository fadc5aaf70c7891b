import {describe, expect, it} from 'vitest'
import {logRelativeMoment} from '../../../src/theory/exponential.js'
import {angularHybridMoments} from '../../../src/theory/hybrid.js'
import {angleShare} from '../../../src/theory/kernels.js'
import {maclaurinRow, signMoments, truncatedGeometric} from '../../../src/theory/maclaurin.js'
import {averaged, type Moments, relativeKurtosis} from '../../../src/theory/moments.js'
import {planeMean, planeMeans, planeMoments} from '../../../src/theory/plane.js'
import {
  cosineKurtosis,
  exponentialRow,
  fourierRow,
  hyperbolicRow,
  lognormalKurtosis,
  positiveRow,
  rectifiedRow,
  shiftedExponentialRow,
  trigonometricRow,
} from '../../../src/theory/rows.js'
import {smregRow} from '../../../src/theory/sphere.js'
import {sample} from '../../helpers/effort.js'

const vec = (...x: number[]) => Float64Array.from(x)
const PAIRS = [
  [vec(0.5, 0, 0), vec(0, 0.5, 0)],
  [vec(0.4, 0.3, 0), vec(0.4, 0.3, 0)],
  [vec(0.6, 0.2, -0.1), vec(0.1, 0.4, 0.2)],
  [vec(1, 0, 0), vec(0.5, Math.sqrt(0.75), 0)],
  [vec(0.3, 0.1, 0.2), vec(-0.2, 0.1, 0)],
] as const

/** Quadrature errs by 1e-13 in each panel; fourth moments lose what their terms exceed them by, here below 1e3. */
const QUADRATURE = 1e-9

function expectClose(got: Moments, wanted: Moments): void {
  for (const name of ['mean', 'variance'] as const) {
    expect(Math.abs(got[name] / wanted[name] - 1), name).toBeLessThanOrEqual(QUADRATURE)
  }
  // excess kurtosis may be near 0: kurtosis itself is at least 1
  const ratio = (got.kurtosis + 3) / (wanted.kurtosis + 3)
  expect(Math.abs(ratio - 1), 'kurtosis').toBeLessThanOrEqual(QUADRATURE)
}

/** Kurtosis of the angular hybrid by n, its mean over the binomial share added up term by term. */
function mixedKurtosis(x: Float64Array, y: Float64Array, rows: number): (n: number) => number {
  const mean = Math.exp(x.reduce((sum, value, d) => sum + value * y[d]!, 0))
  const norms = Math.exp(half(x) + half(y))
  const p = angleShare(x, y)
  const powers = planeMeans(
    (u, v) => {
      const [a, b] = [Math.cosh(u + v) / norms - mean, Math.cos(u - v) * norms - mean]
      const fourths = [a ** 4, 4 * a ** 3 * b, 6 * a * a * b * b, 4 * a * b ** 3, b ** 4]
      return [a * a, a * b, b * b, ...fourths]
    },
    8,
    x,
    y,
  )
  return n => {
    let [second, fourth, logChoose] = [0, 0, 0]
    for (let j = 0; j <= n; j++) {
      const [l, m] = [j / n, 1 - j / n]
      const weight = Math.exp(logChoose + j * Math.log(p) + (n - j) * Math.log1p(-p))
      const own2 = l * l * powers[0]! + 2 * l * m * powers[1]! + m * m * powers[2]!
      const own4 = powers.slice(3).reduce((sum, power, k) => sum + l ** (4 - k) * m ** k * power, 0)
      second += (weight * own2) / rows
      fourth += (weight * (own4 + 3 * (rows - 1) * own2 ** 2)) / rows ** 3
      logChoose += Math.log((n - j) / (j + 1))
    }
    return fourth / second ** 2 - 3
  }
}

const half = (x: Float64Array) => x.reduce((sum, value) => sum + value ** 2 / 2, 0)

describe('moments of the product of one row', () => {
  it.each(PAIRS)('are those of quadrature over w.x and w.y: %s, %s', (x, y) => {
    const norms = Math.exp(half(x) + half(y))
    const same = x.every((value, d) => value === y[d])
    expectClose(
      positiveRow(x, y),
      planeMoments((u, v) => Math.exp(u + v) / norms, x, y),
    )
    expectClose(
      exponentialRow(x, y),
      planeMoments((u, v) => Math.exp(u + v), x, y),
    )
    expectClose(
      hyperbolicRow(x, y),
      planeMoments((u, v) => Math.cosh(u + v) / norms, x, y),
    )
    if (same) return expect(fourierRow(x, y)).toMatchObject({variance: 0, kurtosis: 0})
    expectClose(
      trigonometricRow(x, y),
      planeMoments((u, v) => Math.cos(u - v) * norms, x, y),
    )
    return expectClose(
      fourierRow(x, y),
      planeMoments((u, v) => Math.cos(u - v), x, y),
    )
  })

  const epsilons = [0.01, 0.3, 5]
  it.each(epsilons)('with epsilon %d inside too, with norms and without', epsilon => {
    // each pair meets one epsilon in a quick run
    for (const [x, y] of sample(PAIRS, 3, epsilons.indexOf(epsilon))) {
      for (const h of [0, 1] as const) {
        const product = (u: number, v: number) =>
          (Math.exp(u - h * half(x)) + epsilon) * (Math.exp(v - h * half(y)) + epsilon)
        expectClose(shiftedExponentialRow(x, y, epsilon, h), planeMoments(product, x, y))
      }
    }
  })

  it('have the tabled kurtosis of exp, cosh and cos of a normal number', () => {
    // e^4 + 2 e^3 + 3 e^2 - 6; and 12 where 1 - cos t is t^2/2
    expect(lognormalKurtosis(1)).toMatchReference(110.9363921763115, 11)
    expect(lognormalKurtosis(0)).toBe(0)
    expect(cosineKurtosis(1)).toBe(12)
    expect(cosineKurtosis(0)).toBe(-1.5) // a cosine of a uniform angle
    // central moments of cosh t at q = e^s = 2, multiplied out: (q - 1)^4 (..) / 8 over (q - 1)^4 / 4
    const q = 2
    const raw = [1, (q ** 2 + 1) / 2, (q ** 5 + 3 * q) / 4, (q ** 8 + 4 * q ** 2 + 3) / 8]
    const fourth = raw[3]! - 4 * raw[2]! + 6 * q * raw[1]! - 3 * q ** 2
    expect(fourth).toBe(((q - 1) ** 4 * (q ** 4 + 4 * q ** 3 + 10 * q ** 2 + 12 * q + 3)) / 8)
    expect(cosineKurtosis(q)).toBe(fourth / ((q - 1) ** 4 / 4) - 3)
  })

  it('have no kurtosis where nothing varies', () => {
    const [x, opposite] = [vec(0.4, 0.3, 0), vec(-0.4, -0.3, 0)]
    const still = {variance: 0, kurtosis: 0}
    expect(trigonometricRow(x, x)).toMatchObject(still)
    expect(fourierRow(x, x)).toMatchObject(still)
    expect(hyperbolicRow(x, opposite)).toMatchObject(still)
    // but 12 where little does
    expect(trigonometricRow(x, vec(0.4, 0.3, 1e-6)).kurtosis).toMatchReference(12, 9)
  })

  it('of a positive number near the limit err by what the rounding of its logarithms leaves', () => {
    for (const s of [1e-6, 1e-5, 1e-4]) {
      const found = relativeKurtosis(s, 3 * s, 6 * s)
      const error = Math.abs(found - lognormalKurtosis(s))
      expect(error).toBeLessThanOrEqual(2 ** -50 / Math.expm1(s) ** 2)
    }
    expect(relativeKurtosis(9e-7, 27e-7, 54e-7)).toBe(0)
  })

  it('on the sphere have a kurtosis of -6/(D + 2) at small norms, of which 0 is a bound', () => {
    const dim = 5
    const row = (length: number) => {
      const x = new Float64Array(dim)
      x[0] = length
      return smregRow(x, new Float64Array(dim))
    }
    // relative variance v = 4e-6 of a nearly linear number: excess moves by a multiple of sqrt(v)^2, and 2^-50 / v^2
    expect(Math.abs(row(2e-3).kurtosis + 6 / (dim + 2))).toBeLessThan(16 * 4e-6 + 2 ** -50 / 16e-12)
    expect(row(5e-4).kurtosis).toBe(0)
  })

  it('with rectified features: fourth moments are those of their integral over angles', () => {
    // E r^8 = 384 in two dimensions, and the midpoint rule over a kinked but periodic integrand
    const [x, y] = [vec(0.9, 0), vec(0.3, 0.5)]
    const steps = 100_000
    let sum = 0
    for (let i = 0; i < steps; i++) {
      const angle = (2 * Math.PI * (i + 0.5)) / steps
      const a = Math.max(0, x[0]! * Math.cos(angle))
      const b = Math.max(0, y[0]! * Math.cos(angle) + y[1]! * Math.sin(angle))
      sum += (384 * (a * b) ** 4) / steps
    }
    const found = planeMean((u, v) => (Math.max(0, u) * Math.max(0, v)) ** 4, x, y)
    expect(Math.abs(found / sum - 1)).toBeLessThanOrEqual(1e-9) // (2 pi / steps)^2 and rounding
  })

  it('with rectified features vary as their closed form says, and not at all where they share nothing', () => {
    for (const [x, y] of PAIRS) {
      const product = (u: number, v: number) => Math.max(0, u) * Math.max(0, v)
      expectClose(rectifiedRow(x, y), planeMoments(product, x, y))
    }
    const [x] = PAIRS[2]!
    const opposite = x.map(value => -value)
    expect(rectifiedRow(x, opposite)).toMatchObject({variance: 0, kurtosis: 0})
    const epsilon = 0.2
    const shifted = planeMoments(
      (u, v) => (Math.max(0, u) + epsilon) * (Math.max(0, v) + epsilon),
      x,
      opposite,
    )
    expectClose(rectifiedRow(x, opposite, epsilon), shifted)
  })

  it('on the sphere are those of one coordinate', () => {
    // density of w.z / (sqrt(D) |z|): (1 - t^2)^((D - 3)/2), D = 5, so a polynomial
    const [x, y] = [vec(0.6, 0.2, -0.1, 0, 0.1), vec(0.1, 0.4, 0.2, 0.3, 0)]
    const length = Math.hypot(...x.map((value, d) => value + y[d]!))
    const steps = 20_000
    const mean = (f: (t: number) => number) => {
      let sum = 0
      for (let i = 0; i < steps; i++) {
        const t = -1 + (2 * i + 1) / steps
        sum += (f(t) * (1 - t * t) * 1.5) / steps
      }
      return sum
    }
    const product = (t: number) => Math.exp(Math.sqrt(5) * length * t - half(x) - half(y))
    const center = mean(product)
    const second = mean(t => (product(t) - center) ** 2)
    const fourth = mean(t => (product(t) - center) ** 4)
    const found = smregRow(x, y)
    // midpoint rule: relative error about (2/steps)^2 |f''/f| / 24, |f''/f| below 400
    const allowed = 1e-6
    expect(Math.abs(found.mean / center - 1)).toBeLessThanOrEqual(allowed)
    expect(Math.abs(found.variance / second - 1)).toBeLessThanOrEqual(allowed)
    expect(Math.abs((found.kurtosis + 3) / (fourth / second ** 2) - 1)).toBeLessThanOrEqual(allowed)
  })

  it('of Maclaurin features are those of all sign vectors counted out', () => {
    const [x, y] = [vec(0.5, -0.25, 0.75), vec(0.75, 0.5, -1)]
    const signs = Array.from({length: 8}, (_, n) =>
      [n & 1, n & 2, n & 4].map(bit => (bit ? 1 : -1)),
    )
    const products = signs.map(w => {
      const along = (z: Float64Array) => w.reduce((sum, sign, d) => sum + sign * z[d]!, 0)
      return along(x) * along(y)
    })
    const counted = [0, 1, 2, 3, 4].map(k => products.reduce((sum, p) => sum + p ** k / 8, 0))
    signMoments(x, y).forEach((moment, k) => {
      expect(moment).toMatchReference(counted[k]!, 12)
    })
    const {probability, weight} = truncatedGeometric(2)
    const outcomes = [
      {p: probability(0), value: weight(0)},
      ...products.map(a => ({p: probability(1) / 8, value: weight(1) * a})),
      ...products.flatMap(a =>
        products.map(b => ({p: probability(2) / 64, value: weight(2) * a * b})),
      ),
    ]
    const mean = outcomes.reduce((sum, {p, value}) => sum + p * value, 0)
    const central = (k: number) =>
      outcomes.reduce((sum, {p, value}) => sum + p * (value - mean) ** k, 0)
    const row = maclaurinRow(x, y, 2)
    expect(row.mean).toMatchReference(mean, 12)
    expect(row.variance).toMatchReference(central(2), 12)
    expect(row.kurtosis).toMatchReference(central(4) / central(2) ** 2 - 3, 10)
  })
})

describe('moments of an estimate', () => {
  it('from M rows: variance and kurtosis fall like 1/M, a factor scales', () => {
    const row = {mean: 2, variance: 3, kurtosis: 8}
    expect(averaged(row, 4, 10)).toEqual({mean: 20, variance: 75, kurtosis: 2})
  })

  it('of the angular hybrid are those of the part that is left where the angle is 0', () => {
    const [x, y] = [vec(0.3, 0.1, 0), vec(0.6, 0.2, 0)]
    expectClose(angularHybridMoments(x, y, 7, 2), averaged(trigonometricRow(x, y), 7))
    expectClose(angularHybridMoments(x, y, 7, 2, true), averaged(hyperbolicRow(x, y), 7))
  })

  it('of the angular hybrid are means over a binomial share, also of thousands of sign vectors', () => {
    for (const [x, y] of PAIRS.slice(2, 4)) {
      const mixed = mixedKurtosis(x, y, 7)
      for (const n of [1, 2, 3, 8, 1040, 3000]) {
        const {kurtosis} = angularHybridMoments(x, y, 7, n)
        const wanted = mixed(n)
        // logarithms of binomials err by n units of 2^-53 at a size of at most n
        const allowed = QUADRATURE + n ** 2 * 2 ** -52
        expect(Math.abs((kurtosis + 3) / (wanted + 3) - 1), `n ${n}`).toBeLessThan(allowed)
      }
    }
    const [x, y] = PAIRS[3]!
    const [far, further] = [1e6, 1e12].map(n => angularHybridMoments(x, y, 7, n).kurtosis)
    expect(Math.abs(far! / further! - 1)).toBeLessThan(1e-4) // shares spread like 1/n
  })

  it('of the angular hybrid have no kurtosis where rounding is all that varies', () => {
    const x = vec(Math.cos(1), Math.sin(1))
    const opposite = vec(-Math.cos(1) * (1 - 2 ** -53), -Math.sin(1))
    const {mean, variance, kurtosis} = angularHybridMoments(x, opposite, 64, 2)
    expect(Math.abs(variance)).toBeLessThan(2 ** -50 * mean ** 2)
    expect(kurtosis).toBe(0)
    // and none that a double holds where the variance leaves it
    expect(angularHybridMoments(vec(30, 0), vec(-15, 26), 7, 2).kurtosis).toBe(Infinity)
  })

  it('of generalised exponential features: those of positive ones at a = 0, none at a = 1/16', () => {
    const [u, axes] = [1.5, 3]
    const logs = [2, 3, 4].map(k => logRelativeMoment(k, 0, axes, u))
    expect(logs).toEqual([u, 3 * u, 6 * u])
    const [log2, log3, log4] = logs as [number, number, number]
    expect(relativeKurtosis(log2, log3, log4) / lognormalKurtosis(u)).toMatchReference(1, 12)
    expect(logRelativeMoment(4, 1 / 16, axes, u)).toBe(Infinity)
    expect(relativeKurtosis(log2, log3, Infinity)).toBe(Infinity)
  })

  it('of generalised exponential features with a < 0 are those of quadrature along the axis', () => {
    // one axis: D0^2 exp(2 a w^2 + (1 - 4a)^(1/2) w c - c^2/2) relative to exp(x.y), c = x + y
    const [a, c] = [-0.1, 0.8]
    const integral = (k: number) => {
      let sum = 0
      const step = 0.01
      for (let w = -12; w <= 12; w += step) {
        const log = 2 * a * w * w + Math.sqrt(1 - 4 * a) * w * c - (c * c) / 2
        sum += step * Math.exp(k * (log + Math.log1p(-4 * a) / 2) - (w * w) / 2)
      }
      return Math.log(sum / Math.sqrt(2 * Math.PI))
    }
    for (const k of [1, 2, 3, 4]) {
      // the trapezoidal rule is exact to rounding for a Gaussian integrand
      expect(Math.exp(logRelativeMoment(k, a, 1, c * c))).toMatchReference(
        Math.exp(integral(k)),
        11,
      )
    }
  })
})
