/**
 * Whole matrices where estimates have their moments: means and variances against exact series, in any number of
 * dimensions, and of rows without a series against plain draws under rotations.
 */
import {describe, expect, it} from 'vitest'
import {PROJECTION_NAMES, type ProjectionName} from '../../src/attention/projections/index.js'
import {tiltedTurnedRows} from '../../src/attention/projections/tilted-turned.js'
import {turnedRows} from '../../src/attention/projections/turned.js'
import {
  type WeightedMoments,
  weightedMoments,
} from '../../src/experiments/variance/measure/weighted.js'
import {bonferroniZ} from '../../src/stats/index.js'
import {ratioToIid} from '../../src/theory/dependent-rows.js'
import {relativeRowVariance} from '../../src/theory/row-product.js'
import type {RowTilt} from '../../src/theory/row-tilt.js'
import {EFFORT, moments} from '../helpers/statistics.js'

interface Setting {
  name: ProjectionName
  headDim: number
  numFeatures: number
  draws: number
  tilt: RowTilt
}

const along = (columns: number, squaredNorm: number) =>
  Float64Array.from({length: columns}, () => Math.sqrt(squaredNorm / columns))

/** Products of rows, over the mean of N(0, I). */
function estimatesOf(
  rows: Float32Array,
  {headDim, numFeatures, draws, tilt}: Setting,
): Float64Array {
  const columns = Math.min(2, headDim)
  const z = along(columns, tilt.squaredNorm)
  return Float64Array.from({length: draws}, (_, draw) => {
    let sum = 0
    for (let row = draw * numFeatures; row < (draw + 1) * numFeatures; row++) {
      const product = z.reduce((total, entry, d) => total + entry * rows[row * columns + d]!, 0)
      sum += (tilt.even ? Math.cosh(product) : Math.exp(product)) * Math.exp(-tilt.squaredNorm / 2)
    }
    return sum / numFeatures
  })
}

function measured(setting: Setting): WeightedMoments {
  const columns = Math.min(2, setting.headDim)
  const z = along(columns, setting.tilt.squaredNorm)
  const {rows, weights} = tiltedTurnedRows({...setting, columns, seed: 11, along: z})
  return weightedMoments({estimates: estimatesOf(rows, setting), weights}, 1, setting.numFeatures)
}

const KNOWN = ['iid', 'orth', 'simplex', 'antithetic'] as const
const SIZES = [1, 2, 5].map(headDim => ({headDim, numFeatures: 2 * headDim + 1}))
const CASES = KNOWN.flatMap(name =>
  SIZES.flatMap(size =>
    // a simplex in one dimension has one vertex
    name === 'simplex' && size.headDim === 1 ? [] : [{name, ...size}],
  ),
)

describe('whole matrices that are tilted', () => {
  it.each(CASES)(
    '$name D=$headDim: estimates have the exact mean and variance',
    ({name, ...size}) => {
      const z = bonferroniZ(CASES.length * 6 * 2, 1e-4)
      for (const even of [false, true]) {
        for (const squaredNorm of [0.5, 4, 16]) {
          const setting = {name, ...size, draws: 900 * EFFORT, tilt: {squaredNorm, even}}
          const {mean, meanError, variance, error} = measured(setting)
          const product = {shape: even ? ('cosh' as const) : ('exp' as const), squaredNorm}
          const ratio = name === 'iid' ? 1 : ratioToIid(name, product, size)
          const exact = (ratio * relativeRowVariance(product, size.headDim)) / size.numFeatures
          const label = `${even} ${squaredNorm}`
          expect(Math.abs(mean - 1) / meanError, label).toBeLessThan(z)
          expect(Math.abs(Math.log(variance / exact)) / error, label).toBeLessThan(z)
        }
      }
    },
  )

  const others = PROJECTION_NAMES.filter(name => !(KNOWN as readonly string[]).includes(name))
  it.each(others)('%s: have the mean and variance of plain draws', name => {
    const size = {headDim: 5, numFeatures: 12} // several blocks; padded to 8 columns by Hadamard transforms
    const setting = {name, ...size, draws: 1500 * EFFORT, tilt: {squaredNorm: 0.6}}
    const own = measured(setting)
    const plain = {...setting, draws: 6000 * EFFORT}
    const found = moments(
      Array.from(estimatesOf(turnedRows({...plain, columns: 2, seed: 12}), plain)),
    )
    const z = bonferroniZ(2 * others.length, 1e-4)
    const meanError = Math.hypot(own.meanError, Math.sqrt(found.variance / plain.draws))
    expect(Math.abs(own.mean - found.mean) / meanError).toBeLessThan(z)
    const error = Math.hypot(own.error, found.varianceError / found.variance)
    expect(Math.abs(Math.log(own.variance / found.variance)) / error).toBeLessThan(z)
  })
})
