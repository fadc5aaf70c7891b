/** Which projections treat all directions alike: what they declare, and what `variance` makes of the others. */
import {beforeAll, describe, expect, it} from 'vitest'
import {
  drawProjection,
  loadEstimators,
  PROJECTION_NAMES,
  type ProjectionName,
  projectionNamed,
} from '../../src/attention/index.js'
import {turnedRows} from '../../src/attention/projections/turned.js'
import {estimatorNamed, resolveOptions} from '../../src/attention/resolve.js'
import {useBackend} from '../../src/backends/index.js'
import {estimateRequest, kernelEstimates} from '../../src/experiments/variance/measure/estimates.js'
import type {VarianceCell} from '../../src/experiments/variance/schema.js'
import {bonferroniZ} from '../../src/stats/index.js'
import {ratioToIid} from '../../src/theory/index.js'
import {EFFORT, moments} from '../helpers/statistics.js'
import {vector} from './kernel-estimates.js'

await loadEstimators()
beforeAll(() => useBackend('cpu'))

/** A power of two, at which rows of `sorf` are of one length; one block and the beginning of another. */
const SIZE = {numFeatures: 9, headDim: 8}
const DRAWS = 6000 * EFFORT

/** What two directions see of a matrix: products of its rows with both. */
const READINGS: Record<string, (a: Float64Array, b: Float64Array) => number> = {
  mean: a => mean(a),
  'first row': a => a[0]!,
  'first row, squared': a => a[0]! ** 2,
  squares: a => mean(a.map(e => e ** 2)),
  'fourth powers': a => mean(a.map(e => e ** 4)),
  products: (a, b) => mean(a.map((e, i) => e * b[i]!)),
  'squared products': (a, b) => mean(a.map((e, i) => e * b[i]!)) ** 2,
  'squares of squares': a => mean(a.map(e => e ** 2)) ** 2,
  // second moments of positive and of sin/cos estimates
  exponentials: a => mean(a.map(e => Math.exp(0.7 * e))) ** 2,
  cosines: a => mean(a.map(e => Math.cos(1.5 * e))) ** 2,
}

function mean(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Two axes, and two orthogonal directions off all of them. */
const AXES = [axis(0), axis(1)] as const
const OFF = orthogonal(vector('off', SIZE.headDim, 1), vector('off too', SIZE.headDim, 1))

function axis(at: number): Float64Array {
  return Float64Array.from({length: SIZE.headDim}, (_, d) => (d === at ? 1 : 0))
}

function orthogonal(a: Float64Array, b: Float64Array): readonly [Float64Array, Float64Array] {
  const [aa, ab] = [dot(a, a), dot(a, b)]
  const rest = b.map((e, d) => e - (ab / aa) * a[d]!)
  return [a.map(e => e / Math.sqrt(aa)), rest.map(e => e / Math.hypot(...rest))]
}

function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0
  for (let d = 0; d < a.length; d++) sum += a[d]! * b[d]!
  return sum
}

/** Of each reading along the axes over that off them, draw by draw, how many standard errors its mean is off 0. */
function differences(rows: Float32Array | Float64Array): Map<string, number> {
  const {numFeatures, headDim} = SIZE
  const along = (draw: number, direction: Float64Array) =>
    Float64Array.from({length: numFeatures}, (_, row) => {
      const first = (draw * numFeatures + row) * headDim
      return dot(rows.subarray(first, first + headDim), direction)
    })
  const seen = Array.from({length: DRAWS}, (_, draw) => ({
    axes: AXES.map(direction => along(draw, direction)),
    off: OFF.map(direction => along(draw, direction)),
  }))
  return new Map(
    Object.entries(READINGS).map(([name, read]) => {
      const own = seen.map(({axes, off}) => read(axes[0]!, axes[1]!) - read(off[0]!, off[1]!))
      const {mean: center, standardError} = moments(own)
      return [name, center / standardError]
    }),
  )
}

/** Every reading of every projection, drawn and turned, at 1e-4 in all. */
const Z = bonferroniZ(2 * PROJECTION_NAMES.length * Object.keys(READINGS).length, 1e-4)
const farthest = (rows: Float32Array | Float64Array) =>
  Math.max(...[...differences(rows).values()].map(Math.abs))
const drawn = (name: ProjectionName, orthSign: 'haar' | 'raw' = 'haar') =>
  drawProjection({...SIZE, name, heads: DRAWS, seed: 31, orthSign})

describe('the declaration that rows treat all directions alike', () => {
  it.each(PROJECTION_NAMES)('%s: is as axes and other directions see its rows', name => {
    const z = farthest(drawn(name))
    if (projectionNamed(name).rotationInvariant) expect(z).toBeLessThan(Z)
    else expect(z).toBeGreaterThan(Z)
  })

  it('is one of Haar signs: raw ones know directions', () => {
    for (const name of PROJECTION_NAMES.filter(name => projectionNamed(name).takesOrthSign)) {
      expect(farthest(drawn(name, 'raw')), name).toBeGreaterThan(Z)
    }
  })
})

const KNOWING = PROJECTION_NAMES.filter(name => !projectionNamed(name).rotationInvariant)

describe('turned rows', () => {
  it.each(KNOWING)('%s: treat all directions alike', name => {
    const {numFeatures, headDim} = SIZE
    const request = {name, draws: DRAWS, numFeatures, headDim, columns: headDim, seed: 31}
    expect(farthest(turnedRows(request))).toBeLessThan(Z)
  })
})

const CELL: VarianceCell = {
  ...{method: 'favor-pos', preset: 'exact', options: {}, projections: ['iid'], orth_sign: 'haar'},
  ...{num_features: 8, head_dim: 8, norm: 0.4, angle_deg: 60, replicates: 6000 * EFFORT},
  ...{seed: 2, backend: 'cpu'},
}

function estimatesOf(projection: string, changes: Partial<VarianceCell> = {}) {
  const cell = {...CELL, ...changes}
  const estimator = estimatorNamed(cell.method)
  const request = estimateRequest(cell, estimator, resolveOptions(estimator, 'exact', {}))
  const {x, y, calibration} = request
  const draw = {numFeatures: cell.num_features, options: request.options, calibration}
  return {
    found: moments(kernelEstimates(request, projection)),
    theory: estimator.kernel!.moments(x, y, draw),
  }
}

describe('estimates over all directions', () => {
  it('of one block of givens have the variance of orthogonal rows: an orthogonal matrix that is turned is Haar', () => {
    const {found, theory} = estimatesOf('givens')
    const product = {shape: 'exp', squaredNorm: 3 * CELL.norm ** 2} as const
    const ratio = ratioToIid('orth', product, {headDim: 8, numFeatures: 8})
    expect(Math.abs(found.mean - theory.mean)).toBeLessThan(5 * found.standardError)
    expect(Math.abs(found.variance - ratio * theory.variance)).toBeLessThan(5 * found.varianceError)
  })

  // by lengths besides, and of features that take all entries of a row
  it.each(['oprf', 'saderf', 'sderf'])('of %s have its mean', method => {
    for (const projection of ['givens', 'sobol']) {
      const {found, theory} = estimatesOf(projection, {
        ...{method, num_features: 11, replicates: 2000 * EFFORT},
      })
      expect(Math.abs(found.mean - theory.mean), projection).toBeLessThan(5 * found.standardError)
    }
  })

  it('have one variance, whatever the seed', () => {
    const logs = [1, 2, 3, 4, 5, 6].map(seed => {
      const size = {num_features: 20, replicates: 2000 * EFFORT}
      const {variance, varianceError} = estimatesOf('sobol', {...size, seed}).found
      return {log: Math.log(variance), error: varianceError / variance}
    })
    const center = logs.reduce((sum, {log}) => sum + log, 0) / logs.length
    const chi2 = logs.reduce((sum, {log, error}) => sum + ((log - center) / error) ** 2, 0)
    // five degrees of freedom: above 26 once in 10^4
    expect(chi2).toBeLessThan(26)
  })
})
