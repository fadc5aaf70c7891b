/** Gradients of linear attention of one head in double precision, as sums over all pairs, with bounds on float32. */
import type {Guard} from '../../src/attention/kernels/guard.js'
import type {RecipeAttributes} from '../../src/attention/kernels/recipe.js'
import {
  add,
  type BoundedMatrix,
  div,
  exactly,
  exp,
  filled,
  halfSquaredNorms,
  joinColumns,
  lipschitz,
  matMul,
  mul,
  rowSums,
  scale,
  sqrt,
  sub,
  transpose,
  zeros,
} from './bounded.js'
import {ELEMENTARY, gamma, U} from './rounding.js'

/** Inputs of a head; rows of `keyLogWeight`, `logGate` and `initialNormalizer` lie flat. */
export interface HeadInputs {
  query: BoundedMatrix // [L, D]
  key: BoundedMatrix // [S, D]
  value: BoundedMatrix // [S, Dv]
  queryProjection?: BoundedMatrix | undefined // [M, D]
  keyProjection?: BoundedMatrix | undefined
  keyLogWeight?: BoundedMatrix | undefined // [1, S]
  logGate?: BoundedMatrix | undefined // [1, S]
  initialState?: BoundedMatrix | undefined // [F, Dv]
  initialNormalizer?: BoundedMatrix | undefined // [1, F]
}

export interface HeadCase {
  query: RecipeAttributes
  key: RecipeAttributes
  causal: boolean
  guard?: Guard | undefined
  /** Of each key. */
  present: boolean[]
}

export type HeadGradients = {[name in keyof HeadInputs]?: BoundedMatrix}

/** Features, and the way back from their slopes. */
interface Map {
  features: BoundedMatrix
  back(slopes: BoundedMatrix): {tokens: BoundedMatrix; projection?: BoundedMatrix}
}

/** 1 where `test` holds, exactly. */
function where(a: BoundedMatrix, test: (value: number) => boolean): BoundedMatrix {
  return exactly(
    Float64Array.from(a.value, x => (test(x) ? 1 : 0)),
    a.rows,
    a.columns,
  )
}

function columnsOf(a: BoundedMatrix, first: number, count: number): BoundedMatrix {
  const picked = zeros(a.columns, count)
  for (let i = 0; i < count; i++) picked.value[(first + i) * count + i] = 1
  return matMul(a, picked)
}

/** x' and the way back from its slopes. */
function mapTokens(
  x: BoundedMatrix,
  {inputScale = 1, unitNorm, normEpsilon = 0}: RecipeAttributes,
) {
  if (!unitNorm) {
    return {
      mapped: scale(x, inputScale),
      back: (slopes: BoundedMatrix) => scale(slopes, inputScale),
    }
  }
  const length = sqrt(rowSums(mul(x, x)))
  const padded = add(length, filled(x.rows, 1, normEpsilon))
  const factor = div(filled(x.rows, 1, inputScale), padded)
  return {
    mapped: mul(x, factor),
    back(slopes: BoundedMatrix) {
      const along = div(rowSums(mul(x, slopes)), mul(length, padded))
      return mul(sub(slopes, mul(x, along)), factor)
    },
  }
}

/** Features of a recipe, by the formulas of feature-gradient-inl.h. */
export function mapOf(
  x: BoundedMatrix,
  projection: BoundedMatrix | undefined,
  recipe: RecipeAttributes,
): Map {
  const {kind, featureScale = 1} = recipe
  if (kind === 'explicit') {
    const scaled = (a: BoundedMatrix) => scale(a, featureScale)
    return {features: scaled(x), back: slopes => ({tokens: scaled(slopes)})}
  }
  const {mapped, back} = mapTokens(x, recipe)
  if (kind === 'elu-plus-one') {
    const above = where(mapped, value => value > 0)
    const below = exp(
      mul(
        mapped,
        where(mapped, value => value <= 0),
      ),
    )
    const features = add(mul(mapped, above), below)
    const slope = add(
      above,
      mul(
        below,
        where(mapped, value => value <= 0),
      ),
    )
    return {
      features: scale(features, featureScale),
      back: slopes => ({tokens: back(scale(mul(slopes, slope), featureScale))}),
    }
  }
  const rows = projection!.rows
  const angles = matMul(mapped, projection!, true)
  const through = (toAngles: BoundedMatrix) => ({
    tokens: back(matMul(toAngles, projection!)),
    projection: matMul(transpose(toAngles), mapped),
  })
  if (kind === 'relu') {
    const above = where(angles, value => value > 0)
    return {
      features: scale(mul(angles, above), featureScale),
      back: slopes => through(scale(mul(slopes, above), featureScale)),
    }
  }
  if (kind === 'log-positive' || kind === 'log-hyperbolic') {
    const half = halfSquaredNorms(mapped)
    const [plus, minus] = [sub(angles, half), sub(scale(angles, -1), half)]
    const twice = kind === 'log-hyperbolic'
    return {
      features: twice ? joinColumns(plus, minus) : plus,
      back(slopes) {
        const toAngles = twice
          ? sub(columnsOf(slopes, 0, rows), columnsOf(slopes, rows, rows))
          : slopes
        const tokens = sub(matMul(toAngles, projection!), mul(mapped, rowSums(slopes)))
        return {...through(toAngles), tokens: back(tokens)}
      },
    }
  }
  const factor = featureScale / Math.sqrt(rows)
  const sines = scale(lipschitz(angles, Math.sin, 1, ELEMENTARY), factor)
  const cosines = scale(lipschitz(angles, Math.cos, 1, ELEMENTARY), factor)
  return {
    features: joinColumns(sines, cosines),
    back: slopes =>
      through(
        sub(mul(columnsOf(slopes, 0, rows), cosines), mul(columnsOf(slopes, rows, rows), sines)),
      ),
  }
}

/**
 * Weight of key j at query i, `[L, S]`, and of carried sums, `[L, 1]`, relative to the same for all of a query. A kernel
 * multiplies exponentials from token to token, each of numbers no larger than all gates and the largest weight together.
 */
function weightsOf({query, key, keyLogWeight, logGate}: HeadInputs, {causal, present}: HeadCase) {
  const [rows, columns] = [query.rows, key.rows]
  const gate = (j: number) => logGate?.value[j] ?? 0
  const sums = new Float64Array(Math.max(rows, columns) + 1)
  for (let i = 0; i < sums.length - 1; i++) sums[i + 1] = sums[i]! + (i < columns ? gate(i) : 0)
  const heaviest = present.map((there, j) => (there ? Math.abs(keyLogWeight?.value[j] ?? 0) : 0))
  const size = Math.max(...heaviest) - sums.at(-1)!
  const step = (2 * size + ELEMENTARY + 2) * U
  const weighted = logGate || keyLogWeight
  const pairs = zeros(rows, columns)
  const carried = zeros(rows, 1)
  for (let i = 0; i < rows; i++) {
    carried.value[i] = Math.exp(sums[i + 1]!)
    carried.error[i] = weighted ? (i + 2) * step * carried.value[i]! : 0
    let top = Number.NEGATIVE_INFINITY
    const seen = (j: number) => present[j]! && (!causal || j <= i)
    const exponent = (j: number) =>
      (keyLogWeight?.value[j] ?? 0) + (causal ? sums[i + 1]! - sums[j + 1]! : 0)
    for (let j = 0; j < columns; j++) if (seen(j)) top = Math.max(top, exponent(j))
    for (let j = 0; j < columns; j++) {
      if (!seen(j)) continue
      const weight = Math.exp(exponent(j) - (keyLogWeight ? top : 0))
      pairs.value[i * columns + j] = weight
      pairs.error[i * columns + j] = weighted ? (Math.abs(i - j) + 2) * step * weight : 0
    }
  }
  return {pairs, carried}
}

/** a b^T of factors that are summed in other orders later on: roundings of `terms` more of the sum of magnitudes. */
function innerProducts(a: BoundedMatrix, b: BoundedMatrix, terms: number): BoundedMatrix {
  const out = matMul(a, b, true)
  const size = (m: BoundedMatrix) => ({
    ...m,
    value: m.value.map(Math.abs),
    error: new Float64Array(m.value.length),
  })
  const sizes = matMul(size(a), size(b), true).value
  return {...out, error: out.error.map((error, i) => error + gamma(terms) * sizes[i]!)}
}

const GUARDED: Record<
  Guard['policy'],
  (den: number, bound: number) => [value: number, slope: number]
> = {
  none: den => [den, 1],
  add: (den, bound) => [den + bound, 1],
  clamp: (den, bound) => (den < bound ? [bound, 0] : [den, 1]),
  'abs-clamp': (den, bound) =>
    Math.abs(den) < bound ? [bound, 0] : [Math.abs(den), Math.sign(den)],
  nudge: (den, bound) => (Math.abs(den) <= bound ? [den + 2 * bound, 1] : [den, 1]),
}

/** Outputs of a head, and its gradients from slopes of both. */
export function linearHead(inputs: HeadInputs, given: HeadCase) {
  const {value, initialState, initialNormalizer} = inputs
  const queries = mapOf(inputs.query, inputs.queryProjection, given.query)
  const keys = mapOf(inputs.key, inputs.keyProjection, given.key)
  const there = exactly(given.present.map(Number), given.present.length, 1)
  const keyFeatures = mul(keys.features, there)
  const values = joinColumns(mul(value, there), filled(value.rows, 1, 1))
  const [rows, columns, width] = [inputs.query.rows, value.rows, value.columns]
  const terms = rows + columns + keyFeatures.columns + width
  const {pairs, carried} = weightsOf(inputs, given)
  const products = innerProducts(queries.features, keyFeatures, terms)
  let sums = matMul(mul(pairs, products), values)
  const state = initialState && joinColumns(initialState, transpose(initialNormalizer!))
  if (state) sums = add(sums, mul(carried, matMul(queries.features, state)))
  const denominator = columnsOf(sums, width, 1)
  const guard = given.guard ?? {policy: 'none', bound: 0}
  const guarded = {
    ...denominator,
    value: denominator.value.map(den => GUARDED[guard.policy](den, guard.bound)[0]),
  }
  const bend = exactly(
    denominator.value.map(den => GUARDED[guard.policy](den, guard.bound)[1]),
    rows,
    1,
  )
  const by = given.guard ? div(filled(rows, 1, 1), guarded) : filled(rows, 1, 1)
  for (let i = 0; i < rows; i++) {
    // a query that sees no key is divided by nothing
    const blind = pairs.value.subarray(i * columns, (i + 1) * columns).every(weight => weight === 0)
    if (blind && !state && guarded.value[i] === 0) by.value[i] = by.error[i] = 0
  }
  const out = mul(columnsOf(sums, 0, width), by)

  function gradients(slopes: BoundedMatrix, denominatorSlopes: BoundedMatrix): HeadGradients {
    const numerator = mul(slopes, by)
    const along = mul(mul(bend, by), rowSums(mul(slopes, out)))
    const both = joinColumns(
      numerator,
      given.guard ? sub(denominatorSlopes, along) : denominatorSlopes,
    )
    const steep = mul(pairs, innerProducts(both, values, terms))
    let toQueries = matMul(steep, keyFeatures)
    if (state) toQueries = add(toQueries, mul(carried, matMul(both, state, true)))
    const toKeys = mul(matMul(transpose(steep), queries.features), there)
    const [query, key] = [queries.back(toQueries), keys.back(toKeys)]
    const keyParts = rowSums(mul(keyFeatures, toKeys))
    const toState = matMul(transpose(queries.features), mul(carried, both))
    return {
      query: query.tokens,
      key: mul(key.tokens, there),
      value: mul(matMul(transpose(mul(pairs, products)), numerator), there),
      queryProjection: query.projection,
      keyProjection: key.projection,
      keyLogWeight: transpose(keyParts),
      logGate: gateSlopes(rowSums(mul(queries.features, toQueries)), keyParts),
      initialState: columnsOf(toState, 0, width),
      initialNormalizer: transpose(columnsOf(toState, width, 1)),
    }
  }
  return {out, denominator, gradients}
}

/** Sums from each token on of what its query gives, less what its key does. */
function gateSlopes(queries: BoundedMatrix, keys: BoundedMatrix): BoundedMatrix {
  const out = zeros(1, keys.rows)
  let [value, error] = [0, 0]
  for (let i = Math.max(queries.rows, keys.rows) - 1; i >= 0; i--) {
    value += (queries.value[i] ?? 0) - (keys.value[i] ?? 0)
    error += (queries.error[i] ?? 0) + (keys.error[i] ?? 0)
    if (i >= keys.rows) continue
    out.value[i] = value
    out.error[i] = error + U * Math.abs(value)
  }
  return out
}
