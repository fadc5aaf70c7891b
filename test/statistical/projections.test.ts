import {beforeAll, describe, expect, it} from 'vitest'
import {
  drawProjection,
  loadEstimators,
  PROJECTION_NAMES,
  type ProjectionName,
  projectionNamed,
} from '../../src/attention/index.js'
import {useBackend} from '../../src/backends/index.js'
import {positiveVariance, softmaxKernel, trigonometricVariance} from '../../src/theory/kernels.js'
import {smregKernel} from '../../src/theory/sphere.js'
import {assertNear, EFFORT, moments, Z} from '../helpers/statistics.js'
import {kernelEstimates, vector} from './kernel-estimates.js'

await loadEstimators()
beforeAll(() => useBackend('cpu'))

const HEAD_DIM = 7
const NUM_FEATURES = 9 // one block and the beginning of another
const DRAWS = 2000 * EFFORT

const law = (name: ProjectionName) => projectionNamed(name).rows
const namesWith = (...laws: string[]) => PROJECTION_NAMES.filter(name => laws.includes(law(name)))

const drawn = new Map<string, Float64Array>()

/** One sample per draw of a function of one matrix; the draws of a projection are made once. */
function sampleOf(
  name: ProjectionName,
  read: (matrix: Float64Array) => number,
  orthSign: 'haar' | 'raw' = 'haar',
): Float64Array {
  const size = NUM_FEATURES * HEAD_DIM
  const request = {name, heads: DRAWS, numFeatures: NUM_FEATURES, headDim: HEAD_DIM, orthSign}
  const all = drawn.get(name + orthSign) ?? drawProjection({...request, seed: 21})
  drawn.set(name + orthSign, all)
  return Float64Array.from({length: DRAWS}, (_, i) => read(all.subarray(i * size, (i + 1) * size)))
}

/** The diagonal is where a factor that is not uniform shows; the last row belongs to another block. */
const ENTRIES = [0, 1, HEAD_DIM + 1, NUM_FEATURES * HEAD_DIM - 1]

describe('rows of projections', () => {
  it.each(namesWith('normal'))('%s: every entry has the moments of a standard normal', name => {
    for (const entry of ENTRIES) {
      const sample = sampleOf(name, matrix => matrix[entry]!)
      // moments of N(0, 1): 0, 1, 0, 3, with variances 1, 2, 15, 96
      ;[0, 1, 0, 3].forEach((expected, p) => {
        const {mean} = moments(sample.map(x => x ** (p + 1)))
        const spread = Math.sqrt([1, 2, 15, 96][p]! / DRAWS)
        assertNear(`${name} entry ${entry}, moment ${p + 1}`, mean, expected, spread)
      })
    }
  })

  it.each(namesWith('near-normal', 'padded-sphere'))(
    '%s: entries have mean 0 and variance 1 and no correlation',
    name => {
      for (const entry of ENTRIES) {
        const first = moments(sampleOf(name, matrix => matrix[entry]!))
        assertNear(`${name} entry ${entry}: mean`, first.mean, 0, first.standardError)
        const second = moments(sampleOf(name, matrix => matrix[entry]! ** 2))
        assertNear(`${name} entry ${entry}: square`, second.mean, 1, second.standardError)
      }
      const product = moments(sampleOf(name, matrix => matrix[0]! * matrix[1]!))
      assertNear(`${name}: product of two entries`, product.mean, 0, product.standardError)
    },
  )

  it.each(namesWith('sphere'))('%s: entries are those of a uniform direction', name => {
    for (const entry of ENTRIES) {
      // of a unit vector: E x^2 = 1/D, E x^4 = 3/(D (D+2)); times powers of sqrt(D)
      ;[0, 1, 0, (3 * HEAD_DIM) / (HEAD_DIM + 2)].forEach((expected, p) => {
        const {mean, standardError} = moments(sampleOf(name, m => m[entry]! ** (p + 1)))
        assertNear(`${name} entry ${entry}, moment ${p + 1}`, mean, expected, standardError)
      })
    }
  })

  it('orth-coupled: the first entry varies more, lengths depend on directions', () => {
    const {mean, standardError} = moments(sampleOf('orth-coupled', m => m[0]! ** 2))
    // |G_1|^2 Q_11^2 with Q_1 = the first column of G over its length c: E G_11^4/c^2 = 3/(D+2), and D - 1 others
    const expected = 3 / (HEAD_DIM + 2) + (HEAD_DIM - 1) / HEAD_DIM
    assertNear('square', mean, expected, standardError)
    expect(law('orth-coupled')).toBe('other')
    expect(expected).not.toBe(1)
  })

  it('householder: the first row leans to the first axis', () => {
    const {mean, standardError} = moments(sampleOf('householder', m => m[0]!))
    // only reflection 1 moves e_1: 1 - 2 v_1^2 with E v_1^2 = 1/D
    assertNear('mean', mean, Math.sqrt(HEAD_DIM) * (1 - 2 / HEAD_DIM), standardError)
    expect(law('householder')).toBe('other')
  })

  it('orth: squared lengths have the moments of chi-squared with D degrees of freedom', () => {
    for (const row of [0, NUM_FEATURES - 1]) {
      const squared = sampleOf('orth', matrix =>
        matrix.subarray(row * HEAD_DIM, (row + 1) * HEAD_DIM).reduce((sum, x) => sum + x * x, 0),
      )
      const {mean, variance, varianceError} = moments(squared)
      assertNear('mean', mean, HEAD_DIM, Math.sqrt((2 * HEAD_DIM) / DRAWS))
      assertNear('variance', variance, 2 * HEAD_DIM, varianceError)
    }
  })

  it('sorf: rows have length sqrt(D) where D is a power of two, else a squared length of mean D', () => {
    const lengths = (headDim: number) => {
      const request = {name: 'sorf', heads: DRAWS, numFeatures: 1, headDim, seed: 5} as const
      const rows = drawProjection(request)
      return Float64Array.from({length: DRAWS}, (_, i) =>
        rows.subarray(i * headDim, (i + 1) * headDim).reduce((sum, x) => sum + x * x, 0),
      )
    }
    for (const x of lengths(16)) expect(Math.abs(x - 16)).toBeLessThan(1e-12)
    const squared = moments(lengths(11))
    assertNear('mean', squared.mean, 11, squared.standardError)
    // D coordinates of a uniform point of squared radius P: variance 2 D (P - D) / (P + 2)
    expect(Math.sqrt(squared.variance)).toBeGreaterThan(Math.sqrt((2 * 11 * 5) / 18) / 1.5)
    expect(projectionNamed('sorf').title).toContain('if D is a power of two')
  })

  it('raw signs: the first entry of the first row is minus its Haar size, never positive', () => {
    const haar = sampleOf('orth', matrix => matrix[0]!)
    const raw = sampleOf('orth', matrix => matrix[0]!, 'raw')
    expect(raw).toEqual(haar.map(x => -Math.abs(x)))
  })
})

const apart = {x: vector('a', HEAD_DIM, 0.5), y: vector('b', HEAD_DIM, 0.4)}
const equal = {x: vector('c', HEAD_DIM, 0.5), y: vector('c', HEAD_DIM, 0.5)}

describe('positive features', () => {
  it.each(namesWith('normal'))('%s: estimates of the softmax kernel are unbiased', name => {
    for (const {x, y} of [apart, equal]) {
      const request = {method: 'favor-pos', projection: name, numFeatures: NUM_FEATURES} as const
      const {mean, standardError} = moments(
        kernelEstimates(x, y, {...request, draws: DRAWS, seed: 9}),
      )
      assertNear(name, mean, softmaxKernel(x, y), standardError, 2 ** -20)
    }
  })

  it('givens: entries have heavier tails than normal ones, as its title says of estimates', () => {
    // along an axis exp(z w) has the mean 1 + z^2/2 + z^4 E w^4 / 24 + ..: with E w^4 > 3 estimates and their
    // squares lie above those of iid rows
    const [headDim, draws] = [8, 4 * DRAWS]
    const rows = drawProjection({name: 'givens', heads: draws, numFeatures: 1, headDim, seed: 6})
    const sample = Float64Array.from({length: draws}, (_, i) => rows[i * headDim]! ** 4)
    const {mean, standardError} = moments(sample)
    expect(mean).toBeGreaterThan(3 + 4 * standardError)
    expect(projectionNamed('givens').title).toMatch(/biased upwards, more variance than iid/)
  })

  it.each(['orth-sqrt-d', 'sorf'] as const)(
    '%s: lengths sqrt(D) put estimates below the kernel',
    name => {
      const request = {
        method: 'favor-pos',
        projection: name,
        numFeatures: 16,
        draws: DRAWS,
        seed: 3,
      } as const
      // longer vectors: the bias grows with the fourth power of |x + y|
      const {x, y} = {x: vector('e', 16, 0.9), y: vector('e', 16, 0.9)}
      const {mean, standardError} = moments(kernelEstimates(x, y, request))
      expect(mean + Z * standardError).toBeLessThan(softmaxKernel(x, y))
    },
  )

  it.each(namesWith('sphere'))('%s: estimates of the regularised kernel are unbiased', name => {
    for (const {x, y} of [apart, equal]) {
      const request = {method: 'favor-pos', projection: name, numFeatures: NUM_FEATURES} as const
      const {mean, standardError} = moments(
        kernelEstimates(x, y, {...request, draws: DRAWS, seed: 29}),
      )
      assertNear(name, mean, smregKernel(x, y), standardError, 2 ** -20)
    }
  })

  it.each(namesWith('sphere'))('%s: rows on the sphere are those of smreg', name => {
    const request = {projection: name, numFeatures: NUM_FEATURES, draws: 50, seed: 2} as const
    const plain = kernelEstimates(apart.x, apart.y, {...request, method: 'favor-pos'})
    const scaled = kernelEstimates(apart.x, apart.y, {...request, method: 'smreg'})
    // scaling a row of the right length moves it by D/2 + 5 roundings; its product with x+y is below 3
    const relative = 3 * (1.5 * HEAD_DIM + 16) * 2 ** -24
    plain.forEach((estimate, i) => {
      expect(Math.abs(scaled[i]! / estimate - 1)).toBeLessThanOrEqual(relative)
    })
  })

  it('raw signs are biased along the axes, Haar signs are not', () => {
    const axis = Float64Array.from({length: HEAD_DIM}, (_, d) => (d === 0 ? 0.5 : 0))
    const estimate = (orthSign: 'raw' | 'haar') =>
      moments(
        kernelEstimates(axis, axis, {
          method: 'favor-pos',
          projection: 'orth',
          orthSign,
          numFeatures: HEAD_DIM,
          draws: DRAWS,
          seed: 5,
        }),
      )
    const truth = softmaxKernel(axis, axis)
    const [raw, haar] = [estimate('raw'), estimate('haar')]
    expect(Math.abs(raw.mean - truth)).toBeGreaterThan(Z * raw.standardError)
    assertNear('haar', haar.mean, truth, haar.standardError)
  })

  it('simplex rows vary less than orthogonal ones, these less than independent ones', () => {
    const {x, y} = {x: vector('f', HEAD_DIM, 0.5), y: vector('f', HEAD_DIM, 0.5)}
    const spread = (projection: ProjectionName) =>
      moments(
        kernelEstimates(x, y, {
          method: 'favor-pos',
          projection,
          numFeatures: HEAD_DIM,
          draws: 12_000,
          seed: 13,
        }),
      )
    const independent = positiveVariance(x, y, HEAD_DIM)
    const [orth, simplex, plus] = (['orth', 'simplex', 'simplex-plus'] as const).map(spread)
    const apartBy = (a: typeof orth, b: typeof orth) =>
      (a!.variance - b!.variance) / Math.hypot(a!.varianceError, b!.varianceError)
    expect((independent - orth!.variance) / orth!.varianceError).toBeGreaterThan(Z)
    expect(apartBy(orth, simplex)).toBeGreaterThan(Z)
    expect(apartBy(orth, plus)).toBeGreaterThan(Z)
  })
})

describe('trigonometric features', () => {
  it('antithetic pairs count as one row: the variance doubles', () => {
    const {x, y} = apart
    const numFeatures = 8
    const sample = kernelEstimates(x, y, {
      method: 'favor-trig',
      projection: 'antithetic',
      numFeatures,
      draws: DRAWS,
      seed: 17,
    })
    const {variance, varianceError} = moments(sample)
    assertNear('variance', variance, 2 * trigonometricVariance(x, y, numFeatures), varianceError)
  })
})

describe('quasi-random rows', () => {
  it.each(['sobol', 'halton'] as const)('%s: vary less than independent rows', name => {
    const {x, y} = equal
    const numFeatures = 64
    const {variance, varianceError} = moments(
      kernelEstimates(x, y, {
        method: 'favor-pos',
        projection: name,
        numFeatures,
        draws: 2000,
        seed: 23,
      }),
    )
    expect(variance + Z * varianceError).toBeLessThan(positiveVariance(x, y, numFeatures))
  })
})
