import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import oprf from '../../../src/attention/estimators/oprf.js'
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
        const {variance} = oprf.kernel!
        const optimal = variance(x, y, numFeatures, oprf.options.parse({}))
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
    expect(none).toEqual({relativeVariance: 0, neededNumFeatures: 1})
    const far = {...norms, sumNorm2: 1e4}
    expect(predictRelativeVariance('positive', far, 8).neededNumFeatures).toBe(Infinity)
  })
})
