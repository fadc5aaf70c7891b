import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import oprf from '../../../src/attention/estimators/oprf.js'
import {logSecondMoment, optimalExponent} from '../../../src/theory/exponential.js'
import {
  fourierVariance,
  gaussianKernel,
  hyperbolicVariance,
  positiveVariance,
  softmaxKernel,
  squaredNorms,
  trigonometricVariance,
} from '../../../src/theory/kernels.js'
import {predictRelativeVariance, type VarianceLaw} from '../../../src/theory/predictor.js'

const component = fc.double({min: -1, max: 1, noNaN: true})
const vector = fc.array(component, {minLength: 5, maxLength: 5}).map(x => Float64Array.from(x))

/** Two double-precision routes to one number; exponentials of at most 20 amplify the last bits. */
const RELATIVE = 2 ** -40

function expectClose(got: number, expected: number): void {
  expect(Math.abs(got - expected)).toBeLessThanOrEqual(RELATIVE * Math.max(1, Math.abs(expected)))
}

describe('predicted relative variance', () => {
  it('is the variance divided by the squared kernel, for every law', () => {
    fc.assert(
      fc.property(vector, vector, fc.integer({min: 1, max: 300}), (x, y, numFeatures) => {
        const {sum, difference} = squaredNorms(x, y)
        const norms = {sumNorm2: sum, differenceNorm2: difference, headDim: x.length}
        const relative = (law: VarianceLaw) =>
          predictRelativeVariance(law, norms, numFeatures).relativeVariance
        const squared = softmaxKernel(x, y) ** 2
        expectClose(relative('positive'), positiveVariance(x, y, numFeatures) / squared)
        expectClose(relative('hyperbolic'), hyperbolicVariance(x, y, numFeatures) / squared)
        expectClose(relative('trigonometric'), trigonometricVariance(x, y, numFeatures) / squared)
        const {variance: optimal} = oprf.kernel!.moments(x, y, {
          numFeatures,
          options: oprf.options.parse({}),
          calibration: {query: [x], key: [y]},
        })
        expectClose(relative('optimal-positive'), optimal / squared)
        const gaussian = fourierVariance(x, y, numFeatures) / gaussianKernel(x, y) ** 2
        expectClose(relative('trigonometric'), gaussian)
      }),
      {numRuns: 200, seed: 5},
    )
  })

  it('needs as many features as bring the relative variance to one', () => {
    fc.assert(
      fc.property(fc.double({min: 0.01, max: 30, noNaN: true}), sum => {
        const norms = {sumNorm2: sum, differenceNorm2: 1, headDim: 4}
        const {neededNumFeatures} = predictRelativeVariance('positive', norms, 1)
        const at = (count: number) =>
          predictRelativeVariance('positive', norms, count).relativeVariance
        expect(at(neededNumFeatures)).toBeLessThanOrEqual(1)
        if (neededNumFeatures > 1) expect(at(neededNumFeatures - 1)).toBeGreaterThan(1)
      }),
      {numRuns: 200, seed: 6},
    )
  })

  it('needs one feature where there is no variance and infinitely many beyond doubles', () => {
    const norms = {sumNorm2: 3, differenceNorm2: 0, headDim: 4}
    const none = predictRelativeVariance('trigonometric', norms, 8)
    expect(none).toEqual({relativeVariance: 0, neededNumFeatures: 1, neededLog10: 0})
    const far = {...norms, sumNorm2: 1e4}
    expect(predictRelativeVariance('positive', far, 8).neededNumFeatures).toBe(Infinity)
  })
  it('says beyond doubles what power of ten is needed', () => {
    const far = {sumNorm2: 1e4, differenceNorm2: 2e4, headDim: 4}
    const log10 = (law: VarianceLaw) => predictRelativeVariance(law, far, 8).neededLog10
    expect(log10('positive')).toBe(1e4 / Math.LN10)
    expect(log10('hyperbolic')).toBe((1e4 - Math.LN2) / Math.LN10)
    expect(log10('trigonometric')).toBe((2e4 - Math.LN2) / Math.LN10)
    // grows with the number of axes, each by ln (1 + t) - ln (1 + 2t) / 2 + t / (1 + 2t) or so
    const many = {sumNorm2: 1e4, differenceNorm2: 1e4, headDim: 1000}
    const {neededNumFeatures, neededLog10} = predictRelativeVariance('optimal-positive', many, 8)
    expect(neededNumFeatures).toBe(Infinity)
    const exponent = logSecondMoment(optimalExponent(10), 1000, 1e4)
    expect(neededLog10).toBe(exponent / Math.LN10)
  })

  it('needs more features the larger the norms, across the end of doubles too', () => {
    for (const law of ['positive', 'optimal-positive', 'hyperbolic', 'trigonometric'] as const) {
      const needs = [690, 700, 708, 709, 710, 711, 720, 1400, 1420, 1500].map(norm2 => {
        const norms = {sumNorm2: norm2, differenceNorm2: norm2, headDim: 4}
        return predictRelativeVariance(law, norms, 8).neededLog10
      })
      expect(needs).toEqual([...needs].sort((a, b) => a - b))
      expect(new Set(needs).size).toBe(needs.length)
    }
  })
})
