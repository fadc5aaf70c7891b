/** Closed forms of `src/theory` that no estimator states, against draws of real projections. */
import {describe, expect, it} from 'vitest'
import {drawProjection} from '../../src/attention/index.js'
import {randomStream} from '../../src/random/index.js'
import {bonferroniZ} from '../../src/stats/index.js'
import {type AttentionRow, ratioMoments} from '../../src/theory/attention-ratio.js'
import {positiveOvertakesAt, type SoftmaxMap} from '../../src/theory/crossover.js'
import {DEPENDENT_ROWS, ratioToIid} from '../../src/theory/dependent-rows.js'
import {dot, positiveVariance} from '../../src/theory/kernels.js'
import {neededFeatures} from '../../src/theory/needed-features.js'
import {orthogonalBoundRatio} from '../../src/theory/orthogonality-bounds.js'
import {type RowProduct, relativeRowVariance} from '../../src/theory/row-product.js'
import {smregRatio} from '../../src/theory/sphere.js'
import {EFFORT, moments} from '../helpers/statistics.js'
import {vector} from './kernel-estimates.js'

/** All checks of this file together raise a false alarm once in ten thousand runs. */
const Z = bonferroniZ(120, 1e-4)

type Name = Parameters<typeof drawProjection>[0]['name']

interface Draws {
  name: Name
  numFeatures: number
  headDim: number
  draws: number
  seed: number
}

/** `w.z` of all rows of all draws, in the order of `drawProjection`. */
function along({name, numFeatures, headDim, draws, seed}: Draws, z: Float64Array): Float64Array {
  const rows = drawProjection({name, numFeatures, headDim, heads: draws, seed})
  return Float64Array.from({length: draws * numFeatures}, (_, row) =>
    dot(rows.subarray(row * headDim, (row + 1) * headDim), z),
  )
}

/** Estimates relative to the kernel. */
function estimates(shape: RowProduct['shape'], request: Draws, z: Float64Array): Float64Array {
  const f = {exp: Math.exp, cosh: Math.cosh, cos: Math.cos}[shape]
  const norm = dot(z, z)
  const mean = Math.exp((shape === 'cos' ? -norm : norm) / 2)
  const out = new Float64Array(request.draws)
  along(request, z).forEach((t, row) => {
    out[Math.floor(row / request.numFeatures)]! += f(t) / mean / request.numFeatures
  })
  return out
}

describe('variance of dependent rows', () => {
  const SHAPES = ['exp', 'cosh', 'cos'] as const
  const SIZES = [
    {headDim: 7, numFeatures: 7},
    {headDim: 6, numFeatures: 15},
    {headDim: 4, numFeatures: 3},
  ]

  it.each(DEPENDENT_ROWS)('%s: is that of draws, in whole and truncated blocks', name => {
    for (const [at, size] of SIZES.entries()) {
      const z = vector(`dependent ${at}`, size.headDim, 0.9)
      const squaredNorm = dot(z, z)
      for (const shape of SHAPES) {
        const request = {name, ...size, draws: 4000 * EFFORT, seed: 31 + at}
        const found = moments(estimates(shape, request, z))
        const single = relativeRowVariance({shape, squaredNorm}, size.headDim)
        const wanted = (ratioToIid(name, {shape, squaredNorm}, size) * single) / size.numFeatures
        const label = `${name} ${shape} M ${size.numFeatures} D ${size.headDim}`
        expect(Math.abs(found.mean - 1), label).toBeLessThan(Z * found.standardError)
        expect(Math.abs(found.variance - wanted), label).toBeLessThan(Z * found.varianceError)
      }
    }
  })

  it('on the sphere too, with the mean that SMREG has over SM', () => {
    const size = {headDim: 5, numFeatures: 8}
    const z = vector('sphere', size.headDim, 1)
    const request = {name: 'orth-sqrt-d', ...size, draws: 8000 * EFFORT, seed: 35} as const
    const found = moments(estimates('exp', request, z))
    const mean = smregRatio(size.headDim, dot(z, z))
    expect(Math.abs(found.mean - mean)).toBeLessThan(Z * found.standardError)
    expect(1 - mean).toBeGreaterThan(Z * found.standardError)
    const product: RowProduct = {shape: 'exp', squaredNorm: dot(z, z), sphere: true}
    const relative =
      (ratioToIid('orth', product, size) * relativeRowVariance(product, size.headDim)) /
      size.numFeatures
    expect(Math.abs(found.variance - relative * mean ** 2)).toBeLessThan(Z * found.varianceError)
  })

  it('keeps the later bound of theorem 2', () => {
    const headDim = 8
    const x = vector('bound', headDim, 0.5)
    const y = vector('bound', headDim, -0.35)
    const size = {headDim, numFeatures: headDim}
    const z = x.map((value, d) => value + y[d]!)
    const request = {name: 'orth', ...size, draws: 8000 * EFFORT, seed: 36} as const
    const {variance, varianceError} = moments(estimates('exp', request, z))
    const squaredKernel = Math.exp(2 * dot(x, y))
    const [low, high] = [variance - Z * varianceError, variance + Z * varianceError]
    const bound = orthogonalBoundRatio(dot(z, z), size) * positiveVariance(x, y, headDim)
    expect(low * squaredKernel).toBeLessThanOrEqual(bound)
    expect(high * squaredKernel).toBeLessThanOrEqual(bound * 1.5)
  })
})

describe('the norm at which positive features overtake trigonometric ones', () => {
  it('leaves both the same variance', () => {
    const angle = (2 * Math.PI) / 3
    const norm = positiveOvertakesAt(angle, 'M')
    const [x, y] = [
      Float64Array.of(norm, 0, 0),
      Float64Array.of(norm * Math.cos(angle), norm * Math.sin(angle), 0),
    ]
    const request = {
      name: 'iid',
      headDim: 3,
      numFeatures: 6,
      draws: 8000 * EFFORT,
      seed: 37,
    } as const
    const z = (sign: number) => x.map((value, d) => value + sign * y[d]!)
    const positive = moments(estimates('exp', request, z(1)))
    const trigonometric = moments(estimates('cos', {...request, seed: 38}, z(-1)))
    const error = Math.hypot(positive.varianceError, trigonometric.varianceError)
    expect(Math.abs(positive.variance - trigonometric.variance)).toBeLessThan(Z * error)
  })
})

describe('the M that a wanted error needs', () => {
  it.each(['iid', 'orth'] as const)('%s: gives it, and one row less does not', rows => {
    const headDim = 6
    const z = vector('needed', headDim, 0.8)
    const product: RowProduct = {shape: 'exp', squaredNorm: dot(z, z)}
    const relativeError = 0.25
    const numFeatures = neededFeatures({product, headDim, rows, relativeError})
    const request = {name: rows, headDim, numFeatures, draws: 8000 * EFFORT, seed: 39}
    const {variance, varianceError} = moments(estimates('exp', request, z))
    expect(variance - Z * varianceError).toBeLessThan(relativeError ** 2)
    // one row changes the variance by a share of about 1 / M
    const next = (relativeError ** 2 * (numFeatures - 2)) / numFeatures
    expect(variance + Z * varianceError).toBeGreaterThan(next)
  })
})

describe('bias and variance of the ratio', () => {
  const [headDim, length, numFeatures] = [4, 6, 64]
  const stream = randomStream(5, 'ratio')
  const normal = (size: number, spread: number) =>
    Float64Array.from({length: size}, () => spread * stream.normal())
  const row: AttentionRow = {
    query: normal(headDim, 0.35),
    keys: Array.from({length}, () => normal(headDim, 0.35)),
    values: Array.from({length}, () => normal(2, 1)),
  }

  /** Outputs of one draw. */
  function outputs(map: SoftmaxMap, rows: Float64Array): number[] {
    const sign = map === 'trigonometric' ? -1 : 1
    const weights = row.keys.map(key => {
      const z = row.query.map((value, d) => value + sign * key[d]!)
      const norms = (dot(row.query, row.query) + dot(key, key)) / 2
      let sum = 0
      for (let at = 0; at < rows.length; at += headDim) {
        const t = dot(rows.subarray(at, at + headDim), z)
        if (map === 'positive') sum += Math.exp(t - norms)
        else if (map === 'hyperbolic') sum += Math.cosh(t) * Math.exp(-norms)
        else sum += Math.cos(t) * Math.exp(norms)
      }
      return sum
    })
    const total = weights.reduce((sum, weight) => sum + weight, 0)
    return [0, 1].map(d =>
      weights.reduce((sum, weight, j) => sum + (weight / total) * row.values[j]![d]!, 0),
    )
  }

  it.each(['positive', 'hyperbolic', 'trigonometric'] as const)('%s: are those of draws', map => {
    const draws = 12_000 * EFFORT
    const theory = ratioMoments(row, map, numFeatures)
    const rows = drawProjection({name: 'iid', numFeatures, headDim, heads: draws, seed: 40})
    const size = numFeatures * headDim
    const found = Array.from({length: draws}, (_, draw) =>
      outputs(map, rows.subarray(draw * size, (draw + 1) * size)),
    )
    // what the expansion leaves out is smaller by the denominator's relative variance e^2; the bias is e times the spread
    const rest = 6 * theory.denominatorVariance
    const apart = []
    for (const d of [0, 1]) {
      const {mean, standardError, variance, varianceError} = moments(
        Float64Array.from(found, output => output[d]!),
      )
      const [bias, wanted] = [theory.bias[d]!, theory.variance[d]!]
      const off = Math.abs(mean - theory.output[d]! - bias)
      const scale = Math.sqrt(theory.denominatorVariance * wanted)
      expect(off, `bias ${d}`).toBeLessThan(Z * standardError + rest * scale)
      apart.push(Math.abs(bias) / standardError)
      expect(Math.abs(variance - wanted), `variance ${d}`).toBeLessThan(
        Z * varianceError + rest * wanted,
      )
    }
    // the bias itself is seen
    if (map === 'positive') expect(Math.max(...apart)).toBeGreaterThan(Z)
  })
})
