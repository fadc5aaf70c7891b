/** Angular hybrid features in double precision, with bounds. */
import {ELEMENTARY, TINY, U} from '../rounding.js'
import {CANONICAL_ROUNDINGS, canonical, type Projected, project} from './projected.js'
import {type Head, headMatrix, type TwinInputs} from './types.js'
import {type FeatureBuilder, type Features, features} from './weighted.js'

/** One number and its bound. */
interface Entry {
  value: number
  error: number
}

/**
 * Base features of a row, relative to its largest logarithm c: hyperbolic ones `exp(+-w.x - h - c)`,
 * trigonometric ones `exp(h - c) sin, cos`. An exponent is off by the errors of its terms and a rounding
 * of each, c by the largest error of what it could be.
 */
function baseFeatures(
  {product, error, halfNorm, halfNormError, numFeatures}: Projected,
  row: number,
) {
  const at = row * numFeatures
  const [h, hError] = [halfNorm[row]!, halfNormError[row]!]
  const products = product.subarray(at, at + numFeatures)
  const errors = error.subarray(at, at + numFeatures)
  const largest = products.reduce((most, p) => Math.max(most, Math.abs(p)), 0)
  const worst = errors.reduce((most, e) => Math.max(most, e), 0)
  const logScale = {
    value: Math.max(largest - h, h),
    error: worst + hError + U * (largest + 2 * h),
  }
  const exponential = (argument: number, argumentError: number, scale: number): Entry => {
    const exponent = argument - logScale.value
    const rounding = U * (Math.abs(argument) + Math.abs(exponent) + ELEMENTARY + 3)
    const value = scale * Math.exp(exponent)
    return {value, error: value * Math.expm1(argumentError + logScale.error + rounding) + TINY}
  }
  const hyperbolic = [1, -1].flatMap(sign =>
    Array.from(products, (p, s) => {
      const rounding = U * (Math.abs(p) + h)
      return exponential(sign * p - h, errors[s]! + hError + rounding, (2 * numFeatures) ** -0.5)
    }),
  )
  const factor = exponential(h, hError, numFeatures ** -0.5)
  const wave = (f: (x: number) => number) =>
    Array.from(products, (p, s) => {
      const off = errors[s]! + (ELEMENTARY + 3) * U
      return {
        value: factor.value * f(p),
        error: factor.error * (Math.abs(f(p)) + off) + factor.value * off + TINY,
      }
    })
  return {hyperbolic, trigonometric: [...wave(Math.sin), ...wave(Math.cos)], logScale}
}

/** `sqrt(1/2)`, then `+-1 / sqrt(2n)`; a sign that rounding could turn is off by twice its size. */
function weights({product, error, numFeatures}: Projected, row: number): Entry[] {
  const size = (2 * numFeatures) ** -0.5
  const signs = Array.from({length: numFeatures}, (_, t) => {
    const at = row * numFeatures + t
    const certain = Math.abs(product[at]!) > error[at]!
    return {value: product[at]! < 0 ? -size : size, error: 2 * U * size + (certain ? 0 : 2 * size)}
  })
  return [{value: Math.SQRT1_2, error: U}, ...signs]
}

function put(out: Features, at: number, a: Entry, b: Entry, sign: number): void {
  const value = sign * a.value * b.value
  const spread = Math.abs(a.value) * b.error + a.error * (Math.abs(b.value) + b.error)
  out.value[at] = value
  out.error[at] = spread + 2 * U * Math.abs(value) + TINY
}

function rowsOf(x: Float64Array, head: Head, inputs: TwinInputs, side: 'query' | 'key') {
  const {headDim} = head
  const vectors = canonical(x, inputs.logitScale)
  const tau = headMatrix(inputs, inputs.noise.tau!, head.index)
  const projected = project(vectors, head, CANONICAL_ROUNDINGS)
  const angles = project(
    vectors,
    {projection: tau.value, numFeatures: tau.rows, headDim},
    CANONICAL_ROUNDINGS,
  )
  const out = features(projected.length, 4 * head.numFeatures * (1 + tau.rows))
  const logScale: Entry[] = []
  for (let row = 0; row < projected.length; row++) {
    const base = baseFeatures(projected, row)
    logScale.push(base.logScale)
    let at = row * out.count
    for (const part of ['positive', 'trigonometric'] as const) {
      const flip = side === 'query' && part === inputs.options.lambdaOn
      const block = part === 'positive' ? base.hyperbolic : base.trigonometric
      weights(angles, row).forEach((weight, t) => {
        for (const entry of block) put(out, at++, weight, entry, flip && t > 0 ? -1 : 1)
      })
    }
  }
  return {out, logScale}
}

export const angularHybrid: FeatureBuilder = (head, inputs) => {
  const key = rowsOf(head.key, head, inputs, 'key')
  return {
    query: rowsOf(head.query, head, inputs, 'query').out,
    key: key.out,
    keyLogWeight: {
      value: Float64Array.from(key.logScale, ({value}) => value),
      error: Float64Array.from(key.logScale, ({error}) => error),
    },
  }
}
