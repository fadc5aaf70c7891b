/**
 * Features of every estimator that forms them explicitly, in double precision. Argument errors come
 * from `projected.ts`; exp turns them into relative errors, sin, cos and relu pass them on.
 */
import {type Bounded, ELEMENTARY, gamma, HUGE, TINY, U} from '../rounding.js'
import {CANONICAL_ROUNDINGS, canonical, type Projected, project} from './projected.js'
import type {Head, TwinInputs} from './types.js'
import {type FeatureBuilder, type Features, features} from './weighted.js'

/** Features this large would overflow float32 once summed over keys. */
const OVERFLOW = HUGE / 2 ** 16

function setExp(out: Features, at: number, argument: number, argumentError: number, scale = 1) {
  const value = scale * Math.exp(argument)
  out.value[at] = value
  const relative = Math.expm1(argumentError + (ELEMENTARY + 2) * U)
  out.error[at] = value > OVERFLOW ? Infinity : value * relative + TINY
}

function canonicalProjection(head: Head, inputs: TwinInputs, side: 'query' | 'key'): Projected {
  return project(canonical(head[side], inputs.logitScale), head, CANONICAL_ROUNDINGS)
}

/** Both sides from one function of the projected rows. */
function bothSides(build: (projected: Projected, side: 'query' | 'key') => Features) {
  return (head: Head, inputs: TwinInputs) => ({
    query: build(canonicalProjection(head, inputs, 'query'), 'query'),
    key: build(canonicalProjection(head, inputs, 'key'), 'key'),
  })
}

/** `M^-1/2 exp(W x - |x|^2/2 - shift) + epsilon`, epsilon inside or outside the factor. */
export const positive: FeatureBuilder = (head, inputs) =>
  bothSides((projected, side) => positiveRows(projected, side, inputs.options))(head, inputs)

function positiveRows(
  projected: Projected,
  side: 'query' | 'key',
  {stabilizer, featureEpsilon, epsilonPlace, featureScale}: TwinInputs['options'],
): Features {
  const {length, numFeatures, product, error, halfNorm, halfNormError} = projected
  const out = features(length, numFeatures)
  const scale = featureScale === 'rsqrt' ? numFeatures ** -0.5 : 1
  const epsilon = Number(featureEpsilon)
  const whole = largest(projected, 0, product.length)
  for (let i = 0; i < length; i++) {
    const row = i * numFeatures
    const ownShift = side === 'query' ? largest(projected, row, row + numFeatures) : whole
    const shift = stabilizer === 'max' ? ownShift : {value: 0, error: 0}
    for (let s = 0; s < numFeatures; s++) {
      const at = row + s
      const argument = product[at]! - halfNorm[i]! - shift.value
      // the shift is found from (W x - h) + h, two more roundings of each term
      const rounding = U * (2 * Math.abs(product[at]!) + 3 * halfNorm[i]! + Math.abs(argument))
      setExp(out, at, argument, error[at]! + halfNormError[i]! + shift.error + rounding)
      const inside = epsilonPlace === 'inside' ? epsilon : 0
      out.value[at] = scale * (out.value[at]! + inside) + epsilon - inside
      out.error[at] = scale * out.error[at]! + 3 * U * out.value[at]!
    }
  }
  return out
}

/** The maximum of W x over a range of entries and the error of any entry that could be it. */
function largest({product, error}: Projected, first: number, end: number) {
  let value = -Infinity
  let worst = 0
  for (let at = first; at < end; at++) {
    value = Math.max(value, product[at]!)
    worst = Math.max(worst, error[at]! + 2 * U * Math.abs(product[at]!))
  }
  return {value, error: worst}
}

/** `(2M)^-1/2 exp(-|x|^2/2) [exp(W x), exp(-W x)]`, optionally times exp(-max |x|^2). */
export const hyperbolic: FeatureBuilder = (head, inputs) =>
  bothSides(projected => hyperbolicRows(projected, inputs.options))(head, inputs)

function hyperbolicRows(projected: Projected, {stabilizer}: TwinInputs['options']): Features {
  const {length, numFeatures, product, error, halfNorm, halfNormError} = projected
  const out = features(length, 2 * numFeatures)
  const stabilized = stabilizer === 'norm-max'
  const shift = stabilized ? 2 * halfNorm.reduce((a, b) => Math.max(a, b), 0) : 0
  const shiftError = stabilized ? 2 * halfNormError.reduce((a, b) => Math.max(a, b), 0) : 0
  const scale = (2 * numFeatures) ** -0.5 * Math.exp(-shift)
  for (let i = 0; i < length; i++) {
    for (let s = 0; s < 2 * numFeatures; s++) {
      const from = i * numFeatures + (s % numFeatures)
      const argument = (s < numFeatures ? 1 : -1) * product[from]! - halfNorm[i]!
      const rounding = U * (Math.abs(argument) + ELEMENTARY)
      const total = error[from]! + halfNormError[i]! + shiftError + rounding
      const at = i * 2 * numFeatures + s
      setExp(out, at, argument, total, scale)
      if (Math.exp(argument) > OVERFLOW) out.error[at] = Infinity
    }
  }
  return out
}

/** `M^-1/2 [sin W x, cos W x]` times the norm factor that the options ask for. */
export const trigonometric: FeatureBuilder = (head, inputs) => {
  const {norms, constantFeature} = inputs.options
  const build = bothSides(projected => {
    const plain = sineCosine(projected, projected.numFeatures ** -0.5)
    if (norms === 'max') timesNormFactor(plain, projected)
    return withConstant(plain, constantColumn(projected, Number(constantFeature), norms))
  })
  const pair = build(head, inputs)
  if (norms !== 'log') return pair
  const {halfNorm, halfNormError} = canonicalProjection(head, inputs, 'key')
  return {...pair, keyLogWeight: {value: halfNorm, error: halfNormError}}
}

/** `scale [sin W x, cos W x]`. */
export function sineCosine(
  {length, numFeatures, product, error}: Projected,
  scale: number,
): Features {
  const out = features(length, 2 * numFeatures)
  for (let at = 0; at < product.length; at++) {
    const i = Math.floor(at / numFeatures)
    const to = i * 2 * numFeatures + (at % numFeatures)
    out.value[to] = scale * Math.sin(product[at]!)
    out.value[to + numFeatures] = scale * Math.cos(product[at]!)
    const absolute = scale * (error[at]! + (ELEMENTARY + 2) * U)
    out.error[to] = absolute
    out.error[to + numFeatures] = absolute
  }
  return out
}

/** exp(|x|^2/2 - max over rows): error of the argument, of its maximum, one rounding each, one exp. */
function timesNormFactor(out: Features, {length, halfNorm, halfNormError}: Projected): void {
  const top = halfNorm.reduce((a, b) => Math.max(a, b), 0)
  const topError = halfNormError.reduce((a, b) => Math.max(a, b), 0)
  for (let i = 0; i < length; i++) {
    const factor = Math.exp(halfNorm[i]! - top)
    const relative = Math.expm1(halfNormError[i]! + topError + U * (top + ELEMENTARY + 2))
    for (let s = 0; s < out.count; s++) {
      const at = i * out.count + s
      out.error[at] =
        factor * (out.error[at]! * (1 + relative) + relative * Math.abs(out.value[at]!)) + TINY
      out.value[at]! *= factor
    }
  }
}

/** c, or `c exp(-|x|^2/2)` where the factor `exp(|x|^2/2)` is left to key weights; `undefined` without it. */
function constantColumn(
  {halfNorm, halfNormError}: Projected,
  constant: number,
  norms: unknown,
): Bounded | undefined {
  if (constant === 0) return undefined
  const damped = norms === 'log'
  return {
    value: halfNorm.map(h => (damped ? constant * Math.exp(-h) : constant)),
    error: halfNorm.map((h, i) =>
      damped
        ? constant * Math.exp(-h) * Math.expm1(halfNormError[i]! + (ELEMENTARY + 3) * U) + TINY
        : U * constant,
    ),
  }
}

/** One more feature per row. */
function withConstant(plain: Features, column: Bounded | undefined): Features {
  if (!column) return plain
  const {count} = plain
  const length = plain.value.length / count
  const out = features(length, count + 1)
  for (const part of ['value', 'error'] as const) {
    for (let i = 0; i < length; i++) {
      out[part].set(plain[part].subarray(i * count, (i + 1) * count), i * (count + 1))
      out[part][i * (count + 1) + count] = column[part][i]!
    }
  }
  return out
}

/** `relu(W x)` or `relu(x)`, scaled, plus epsilon. */
export const rectified: FeatureBuilder = (head, inputs) => {
  const {projectionScale, featureEpsilon} = inputs.options
  const rows = (x: Float64Array): Features => {
    const {argument, error, count} = generalizedArguments(x, head, inputs)
    const scale = projectionScale === 'rsqrt' && head.numFeatures > 0 ? count ** -0.5 : 1
    return rectifiedRows(argument, error, count, scale, Number(featureEpsilon))
  }
  return {query: rows(head.query), key: rows(head.key)}
}

/** `f(W x)` or `f(x)` plus epsilon; `slope` bounds the derivative between x - dx and x + dx. */
function generalized(
  f: (x: number) => number,
  slope: (x: number, dx: number) => number,
): FeatureBuilder {
  return (head, inputs) => {
    const epsilon = Number(inputs.options.featureEpsilon)
    const rows = (x: Float64Array): Features => {
      const {argument, error, count} = generalizedArguments(x, head, inputs)
      const out = features(argument.length / count, count)
      argument.forEach((x, at) => {
        const value = f(x)
        const moved = slope(x, error[at]!) * error[at]! + (ELEMENTARY + 4) * U * value
        out.value[at] = value + epsilon
        out.error[at] = value > OVERFLOW ? Infinity : moved + U * (value + epsilon) + TINY
      })
      return out
    }
    return {query: rows(head.query), key: rows(head.key)}
  }
}

/** sigmoid: an exp, a sum and a quotient; the logarithm has slope at most 1. */
export const sigmoid: FeatureBuilder = generalized(
  x => 1 / (1 + Math.exp(-x)),
  (x, dx) => 1 / (1 + Math.exp(-x - dx)),
)

export const exponential: FeatureBuilder = generalized(Math.exp, (x, dx) => Math.exp(x + dx))

/** What the nonlinearity of generalised attention is applied to, `[n, count]`. */
export function generalizedArguments(
  x: Float64Array,
  head: Head,
  {options, logitScale}: Pick<TwinInputs, 'options' | 'logitScale'>,
): {argument: Float64Array; error: Float64Array; count: number} {
  const raw = options.inputScaling === 'raw'
  const vectors = raw ? x : canonical(x, logitScale)
  const roundings = raw ? 0 : CANONICAL_ROUNDINGS
  if (options.features === 'deterministic') {
    return {argument: vectors, error: gammaOf(vectors, roundings), count: head.headDim}
  }
  const {product, error} = project(vectors, head, roundings)
  return {argument: product, error, count: head.numFeatures}
}

function gammaOf(values: Float64Array, roundings: number): Float64Array {
  return values.map(value => gamma(roundings) * Math.abs(value))
}

/** `scale relu(argument) + epsilon`. */
export function rectifiedRows(
  argument: Float64Array,
  argumentError: Float64Array,
  count: number,
  scale: number,
  epsilon: number,
): Features {
  const out = features(argument.length / count, count)
  for (let at = 0; at < argument.length; at++) {
    out.value[at] = scale * Math.max(0, argument[at]!) + epsilon
    const off = argument[at]! + argumentError[at]! < 0 // surely zero
    out.error[at] = (off ? 0 : scale * argumentError[at]!) + 3 * U * out.value[at]!
  }
  return out
}

/** `[1, x, x_a^2 / sqrt(2), x_a x_b for a < b]` of canonical x. */
export const secondOrder: FeatureBuilder = (head, {logitScale}) => {
  const {headDim} = head
  const rows = (raw: Float64Array): Features => {
    const x = canonical(raw, logitScale)
    const out = features(x.length / headDim, 1 + headDim + (headDim * (headDim + 1)) / 2)
    const roundings = [0, CANONICAL_ROUNDINGS, 2 * CANONICAL_ROUNDINGS + 3] as const
    for (let row = 0; row * headDim < x.length; row++) {
      let at = row * out.count
      const put = (value: number, degree: 0 | 1 | 2) => {
        out.error[at] = gamma(roundings[degree]) * Math.abs(value) + (degree === 2 ? TINY : 0)
        out.value[at++] = value
      }
      const vector = x.subarray(row * headDim, (row + 1) * headDim)
      put(1, 0)
      for (const a of vector) put(a, 1)
      vector.forEach((a, n) => {
        for (const b of vector.subarray(n + 1)) put(a * b, 2)
        put(a ** 2 / Math.SQRT2, 2)
      })
    }
    return out
  }
  return {query: rows(head.query), key: rows(head.key)}
}

/** One feature, always 1. */
export const constant: FeatureBuilder = ({queryLen, keyLen}) => {
  const ones = (length: number): Features => {
    const out = features(length, 1)
    out.value.fill(1)
    return out
  }
  return {query: ones(queryLen), key: ones(keyLen)}
}
