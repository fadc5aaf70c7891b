/**
 * Draws where estimates have their moments: coverage of the intervals of variances and ratios against exact series,
 * and moments of rows without a series against real matrices.
 */
import {describe, expect, it} from 'vitest'
import {drawProjection, type ProjectionName} from '../../src/attention/projections/index.js'
import {tiltedRows} from '../../src/attention/projections/tilted.js'
import {
  pairedError,
  type WeightedMoments,
  weightedMoments,
} from '../../src/experiments/variance/measure/weighted.js'
import {bonferroniZ} from '../../src/stats/index.js'
import {ratioToIid} from '../../src/theory/dependent-rows.js'
import {relativeRowVariance} from '../../src/theory/row-product.js'
import {logSphereMean} from '../../src/theory/sphere.js'
import {EFFORT, moments} from '../helpers/statistics.js'

interface Setting {
  name: ProjectionName
  shape: 'exp' | 'cosh'
  headDim: number
  numFeatures: number
  /** |x + y|^2 */
  squaredNorm: number
  draws: number
  seed: number
  /** What is taken of rows is of length sqrt(D), and so are rows. */
  sphere?: boolean
}

/** Moments of estimates, relative to those of normal rows or of rows on the sphere. */
function measured({name, shape, headDim, numFeatures, ...rest}: Setting): WeightedMoments {
  const {squaredNorm: s, draws, seed, sphere = false} = rest
  const along = [0.6 * Math.sqrt(s), 0.8 * Math.sqrt(s)] as const
  const tilt = {squaredNorm: s, even: shape === 'cosh', sphere}
  const size = {numFeatures, headDim, columns: 2} as const
  const {rows, weights} = tiltedRows({name, draws, ...size, seed, tilt, along})
  const logMean = sphere ? logSphereMean(headDim, s) : s / 2
  const estimates = Float64Array.from({length: draws}, (_, draw) => {
    let sum = 0
    for (let row = draw * numFeatures; row < (draw + 1) * numFeatures; row++) {
      const product = rows[2 * row]! * along[0] + rows[2 * row + 1]! * along[1]
      sum += shape === 'exp' ? Math.exp(product - logMean) : Math.cosh(product) * Math.exp(-logMean)
    }
    return sum / numFeatures
  })
  return weightedMoments({estimates, weights}, 1, numFeatures)
}

function exactVariance({name, headDim, numFeatures, ...rest}: Setting): number {
  const product = {shape: rest.shape, squaredNorm: rest.squaredNorm, sphere: rest.sphere ?? false}
  const rows = name === 'orth-sqrt-d' ? 'orth' : name
  const dependent = rows === 'orth' || rows === 'simplex' || rows === 'antithetic'
  const ratio = dependent ? ratioToIid(rows, product, {headDim, numFeatures}) : 1
  return (ratio * relativeRowVariance(product, headDim)) / numFeatures
}

const QUICK = EFFORT === 1
const RUNS = QUICK ? 120 : 300
const DRAWS = QUICK ? 300 : 667 // of 2000 replicates
const NORMS = QUICK ? [0.25, 1, 3] : [0.25, 0.5, 1, 2, 3]
const SIZES = (QUICK ? [8] : [8, 32, 128]).flatMap(headDim =>
  (QUICK ? [headDim] : [4, headDim, 4 * headDim]).map(numFeatures => ({headDim, numFeatures})),
)
const NAMES = ['iid', 'orth', 'simplex'] as const
const CELLS = SIZES.flatMap(size => NORMS.map(norm => ({...size, norm})))
/** What coverage between these is seen as, all checks together at 1e-4. */
const [LEAST, MOST] = [0.93, 0.97]
const Z = bonferroniZ(CELLS.length * 8, 1e-4)
const allowed = (share: number) => Z * Math.sqrt((share * (1 - share)) / RUNS)

describe('95 % intervals of draws with weights', () => {
  it.each(CELLS)(
    'D=$headDim M=$numFeatures norm $norm: cover the exact series in 93 to 97 % of runs',
    ({headDim, numFeatures, norm}) => {
      const covered = {variance: [0, 0, 0], ratio: [0, 0, 0], mean: [0, 0, 0]}
      for (let seed = 0; seed < RUNS; seed++) {
        const common = {headDim, numFeatures, draws: DRAWS, seed, shape: 'exp'} as const
        const found = NAMES.map(name => {
          const setting = {...common, name, squaredNorm: 4 * norm * norm}
          return {own: measured(setting), exact: exactVariance(setting)}
        })
        found.forEach(({own, exact}, at) => {
          const inside = (z: number) => (Math.abs(z) <= 1.959964 ? 1 : 0)
          const [iid] = found
          covered.variance[at]! += inside(Math.log(own.variance / exact) / own.error)
          covered.mean[at]! += inside((own.mean - 1) / own.meanError)
          const ratio = own.variance / iid!.own.variance / (exact / iid!.exact)
          if (at > 0) covered.ratio[at]! += inside(Math.log(ratio) / pairedError(own, iid!.own))
        })
      }
      for (const count of [...covered.variance, ...covered.mean]) {
        expect(count / RUNS).toBeGreaterThan(LEAST - allowed(LEAST))
        expect(count / RUNS).toBeLessThan(MOST + allowed(MOST))
      }
      // float32 is part of the errors of ratios near 1: they may cover more often
      for (const count of covered.ratio.slice(1)) {
        expect(count / RUNS).toBeGreaterThan(LEAST - allowed(LEAST))
      }
    },
    600_000,
  )
})

const LAW_NAMES = ['iid', 'orth', 'simplex', 'antithetic', 'orth-sqrt-d'] as const

describe('rows that are tilted', () => {
  const size = {headDim: 6, numFeatures: 9, draws: 4000 * EFFORT, seed: 7}
  it.each(LAW_NAMES)('%s: estimates have the exact mean and variance', name => {
    const z = bonferroniZ(LAW_NAMES.length * 6 * 2, 1e-4)
    for (const shape of name === 'orth-sqrt-d' ? (['exp'] as const) : (['exp', 'cosh'] as const)) {
      for (const squaredNorm of [0.5, 4, 20]) {
        const setting = {...size, name, shape, squaredNorm, sphere: name === 'orth-sqrt-d'}
        const {mean, meanError, variance, error} = measured(setting)
        const label = `${shape} ${squaredNorm}`
        expect(Math.abs(mean - 1) / meanError, label).toBeLessThan(z)
        const exact = exactVariance(setting)
        expect(Math.abs(Math.log(variance / exact)) / error, label).toBeLessThan(z)
      }
    }
  })

  it.each(['simplex-plus', 'orth-tall'] as const)(
    '%s: have the variance that real matrices give them',
    name => {
      const squaredNorm = 0.8
      const {variance, error} = measured({...size, name, shape: 'exp', squaredNorm})
      const {headDim, numFeatures, draws} = size
      const rows = drawProjection({name, heads: draws, numFeatures, headDim, seed: 8})
      const direction = Math.sqrt(squaredNorm / headDim)
      const estimates = Array.from({length: draws}, (_, draw) => {
        let sum = 0
        for (let row = draw * numFeatures; row < (draw + 1) * numFeatures; row++) {
          let product = 0
          for (let d = 0; d < headDim; d++) product += direction * rows[row * headDim + d]!
          sum += Math.exp(product - squaredNorm / 2)
        }
        return sum / numFeatures
      })
      const real = moments(estimates)
      const spread = Math.hypot(error, real.varianceError / real.variance)
      expect(Math.abs(Math.log(variance / real.variance))).toBeLessThan(4.5 * spread)
    },
  )
})
