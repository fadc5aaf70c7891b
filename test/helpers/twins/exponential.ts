/**
 * Generalised exponential features in double precision, from the published formulas: exponents by the
 * textbook expression, matrices by square roots and inverses. Bounds have two parts: the roundings of the
 * features (running error analysis), and what float32 statistics may do to the parameters.
 */
import {
  type BoundedMatrix,
  exactly,
  halfSquaredNorms,
  joinColumns,
  matMul,
  mul,
  rowSums,
  scale,
  sub,
} from '../bounded.js'
import {
  frobenius,
  identity,
  inverse,
  type Matrix,
  plus,
  quadratic,
  squareRoot,
  times,
  trace,
} from '../matrices.js'
import {U} from '../rounding.js'
import {canonical} from './projected.js'
import {type LogFeatures, logFeatureTwin} from './softmax.js'
import {forEachHead, type Head, type Twin, type TwinInputs} from './types.js'

/** Moments of one side of one head with bounds on what float32 makes of them. */
export interface Moments {
  mean: Float64Array // [D]
  /** mean |x_d| */
  size: Float64Array // [D]
  outer: Matrix // mean x x^T
  /** mean |x_i x_j| */
  outerSize: Matrix
  /** Relative to the sizes: a weight, two products, and a sum of n. */
  error: number
}

export interface Sides<T> {
  query: T
  key: T
}

/** Parameters of one head, and how far float32 statistics move them (in the 2-norm, or relatively). */
export interface Parameters {
  exponent: Matrix // A
  exponentError: number
  root: Matrix // (I - 4A)^(1/2)
  rootError: number
  maps: Sides<Matrix>
  /** The squares P^2 move between 1 - e and 1 + e times themselves. */
  mapError: number
}

type Rule = (moments: Sides<Moments>, options: Record<string, unknown>) => Parameters

function momentsOf(rows: Float64Array, n: number): Moments {
  const count = rows.length / n
  const weight = 1 / Math.max(1, count)
  const mean = new Float64Array(n)
  const size = new Float64Array(n)
  const outer = new Float64Array(n * n)
  const outerSize = new Float64Array(n * n)
  for (let row = 0; row < count; row++) {
    for (let i = 0; i < n; i++) {
      const x = rows[row * n + i]! * weight
      mean[i]! += x
      size[i]! += Math.abs(x)
      for (let j = 0; j < n; j++) {
        const product = x * rows[row * n + j]!
        outer[i * n + j]! += product
        outerSize[i * n + j]! += Math.abs(product)
      }
    }
  }
  return {mean, size, outer, outerSize, error: (count + 3) * U}
}

/** The tokens that statistics come from, canonical. */
export function sampleOf(head: Head, inputs: TwinInputs): Sides<Moments> {
  const {calibration, causal, options, logitScale} = inputs
  const {headDim: n} = head
  if (calibration) {
    const rows = ({shape, data}: TwinInputs['query']) => {
      const size = shape[2] * n
      return Float64Array.from(data.subarray(head.index * size, (head.index + 1) * size))
    }
    return {
      query: momentsOf(canonical(rows(calibration.query), logitScale), n),
      key: momentsOf(canonical(rows(calibration.key), logitScale), n),
    }
  }
  const prefix = causal && options.prefix !== 0 ? Number(options.prefix) : Infinity
  const kept = (rows: Float64Array, keep: (row: number) => boolean) =>
    canonical(rows, logitScale).filter((_, at) => keep(Math.floor(at / n)))
  // the last query of a call with as many keys sees every key that is not masked
  const present = (j: number) => head.sees(Math.max(j, head.queryLen - 1), j)
  return {
    query: momentsOf(
      kept(head.query, i => i < prefix),
      n,
    ),
    key: momentsOf(
      kept(head.key, j => j < prefix && present(j)),
      n,
    ),
  }
}

/** mean |P x + P y|^2 over all pairs, and its bound. */
function meanSum2({query, key}: Sides<Moments>, maps: Sides<Matrix>, mapError: number) {
  const lengths =
    trace(times(times(maps.query, maps.query), query.outer)) +
    trace(times(times(maps.key, maps.key), key.outer))
  const sizes = (map: Matrix, {outerSize}: Moments) =>
    trace(times(times(map, map).map(Math.abs), outerSize))
  const cross = query.mean.reduce((sum, x, d) => sum + 2 * x * key.mean[d]!, 0)
  const crossSize = query.size.reduce((sum, x, d) => sum + 4 * x * key.size[d]!, 0)
  const error = query.error + key.error
  return {
    value: lengths + cross,
    error:
      mapError * lengths + error * (sizes(maps.query, query) + sizes(maps.key, key) + crossSize),
  }
}

/** A = a I; the slope of a by the mean per dimension is at most 1/2, that of (1 - 4a)^(1/2) at most 1. */
function scalar(a: number, error: number, maps: Sides<Matrix>, mapError: number): Parameters {
  const n = Math.sqrt(maps.query.length)
  const unit = identity(n)
  return {
    exponent: unit.map(x => a * x),
    exponentError: error,
    root: unit.map(x => Math.sqrt(1 - 4 * a) * x),
    rootError: 2 * error,
    maps,
    mapError,
  }
}

/** rho = (sqrt((2 phi + d)^2 + 8 d phi) - 2 phi - d) / (4 phi), A = (1 - 1/rho) / 8. */
function optimal(
  moments: Sides<Moments>,
  maps: Sides<Matrix>,
  mapError: number,
  rule: unknown = 'optimal',
): Parameters {
  const n = moments.query.mean.length
  const {value: phi, error} = meanSum2(moments, maps, mapError)
  const sum = rule === 'swapped' ? 2 * n + phi : 2 * phi + n
  const root = Math.sqrt(sum ** 2 + 8 * n * phi)
  const a = phi > 0 ? (1 - (4 * phi) / (root - sum)) / 8 : rule === 'swapped' ? -1 / 8 : 0
  return scalar(a, error / (2 * n), maps, mapError)
}

const noMaps = (n: number): Sides<Matrix> => ({query: identity(n), key: identity(n)})

export const oprf: Rule = (moments, options) => {
  const maps = noMaps(moments.query.mean.length)
  if (typeof options.a === 'number') return scalar(options.a, 0, maps, 0)
  return optimal(moments, maps, 0, options.rule)
}

/** mean + ridge times the mean of the diagonal, in units of the identity; the identity for no tokens at all. */
function ridged({outer}: Moments, ridge: number): Matrix {
  const n = Math.sqrt(outer.length)
  const mean = trace(outer) / n
  return mean === 0 ? identity(n) : plus(outer, identity(n), ridge * mean)
}

const saderf: Rule = (moments, {ridge}) => {
  const x = ridged(moments.query, Number(ridge))
  const y = ridged(moments.key, Number(ridge))
  const n = moments.query.mean.length
  const psi = (sign: number) =>
    identity(n).map((unit, at) => unit && (y[at]! / x[at]!) ** (sign / 4))
  const maps = {query: psi(1), key: psi(-1)}
  return optimal(moments, maps, moments.query.error + moments.key.error + 8 * U)
}

/**
 * P^2 = M_x^-1 # M_y = M_x^-1 (M_x M_y)^(1/2). A matrix that moves by e times itself moves it by e / 2; what
 * moves a second moment is compared with its least eigenvalue, of which the ridge is a lower bound.
 */
const aderf: Rule = (moments, {ridge}) => {
  const moved = ({outer, outerSize, error}: Moments, matrix: Matrix) => {
    const mean = trace(outer) / Math.sqrt(outer.length)
    const least = Math.max(Number(ridge) * mean, 1 / frobenius(inverse(matrix)))
    return (error * frobenius(outerSize) * (1 + Number(ridge))) / least
  }
  const x = ridged(moments.query, Number(ridge))
  const y = ridged(moments.key, Number(ridge))
  const metric = times(inverse(x), squareRoot(times(x, y)))
  const query = squareRoot(metric)
  const [ofX, ofY] = [moved(moments.query, x), moved(moments.key, y)]
  const largest = Math.max(ofX, ofY)
  const mapError = largest < 1 / 2 ? (ofX + ofY) / (2 * (1 - largest)) : Infinity
  return optimal(moments, {query, key: inverse(query)}, mapError)
}

/** A = (I - 2T - ((2T + I)^2 + 8T)^(1/2)) / 16 for T = mean (x + y)(x + y)^T. */
const sderf: Rule = ({query, key}) => {
  const n = query.mean.length
  const outer = (a: Float64Array, b: Float64Array): Matrix =>
    Float64Array.from({length: n * n}, (_, at) => a[Math.floor(at / n)]! * b[at % n]!)
  const both = (a: Float64Array, b: Float64Array) => plus(outer(a, b), outer(b, a))
  const pairs = plus(plus(query.outer, key.outer), both(query.mean, key.mean))
  const sizes = plus(plus(query.outerSize, key.outerSize), both(query.size, key.size), 2)
  const unit = identity(n)
  const twice = plus(unit, pairs, 2)
  const root = squareRoot(plus(times(twice, twice), pairs, 8))
  const exponent = plus(plus(unit, pairs, -2), root, -1).map(a => a / 16)
  // a symmetric matrix that moves by e moves f of it by slope e; negative eigenvalues are taken as zero: 2 e
  const moved = 2 * (query.error + key.error) * frobenius(sizes)
  return {
    exponent,
    exponentError: moved / 2,
    root: squareRoot(plus(unit, exponent, -4)),
    rootError: moved,
    maps: noMaps(n),
    mapError: 0,
  }
}

/** A matrix that float32 holds to one rounding. */
export function rounded(matrix: Matrix): BoundedMatrix {
  const n = Math.sqrt(matrix.length)
  return {...exactly(matrix, n, n), error: matrix.map(x => U * Math.abs(x))}
}

/** Log-features of one side: `[x, 1] . [b, c] - |[x, 1]|^2 / 2`. */
function logFeatures(
  raw: Float64Array,
  head: Head,
  inputs: TwinInputs,
  parameters: Parameters,
  side: 'query' | 'key',
): LogFeatures {
  const {headDim: n, numFeatures} = head
  const map = parameters.maps[side]
  const x = scale(exactly(raw, raw.length / n, n), Math.sqrt(inputs.logitScale))
  const tokens = parameters.mapError === 0 ? x : matMul(x, rounded(map))
  const rows = exactly(head.projection, numFeatures, n)
  const bridges = matMul(rows, rounded(parameters.root))
  const weight = rowSums(mul(matMul(rows, rounded(parameters.exponent)), rows))
  // the weight goes through a quotient and a product with the input scale
  weight.error.forEach((error, s) => {
    weight.error[s] = error + 4 * U * Math.abs(weight.value[s]!)
  })
  const one = exactly(new Float64Array(tokens.rows).fill(1), tokens.rows, 1)
  const extended = joinColumns(tokens, one)
  const projected = matMul(extended, joinColumns(bridges, weight), true)
  const logs = sub(projected, halfSquaredNorms(extended))
  addMoved(logs, tokens, rows, parameters, map)
  const ofRows = (of: (at: number) => number) =>
    Float64Array.from({length: logs.rows}, (_, i) => {
      let largest = 0
      for (let s = 0; s < numFeatures; s++) largest = Math.max(largest, of(i * numFeatures + s))
      return largest
    })
  return {
    value: logs.value,
    count: numFeatures,
    magnitude: ofRows(at => Math.abs(logs.value[at]!)),
    error: ofRows(at => logs.error[at]!),
  }
}

/**
 * Adds what moved statistics do: `|w|^2 dA + |w| |P x| dR`, and for maps, whose P moves by at most e/2
 * times itself, `e/2 ((w.R P R w) (x.P x))^(1/2) + e |P x|^2 / 2`.
 */
export function addMoved(
  logs: BoundedMatrix,
  tokens: BoundedMatrix,
  rows: BoundedMatrix,
  {exponentError, rootError, root, mapError}: Parameters,
  map = identity(rows.columns),
): void {
  const inverseMap = inverse(map)
  const metric = times(times(root, map), root)
  const w2 = squaredNorms(rows)
  const turned = forms(metric, rows, mapError)
  const length2 = squaredNorms(tokens)
  const own = forms(inverseMap, tokens, mapError) // P x is known, so x.P x is a form of P^-1
  for (let i = 0; i < logs.rows; i++) {
    for (let s = 0; s < logs.columns; s++) {
      logs.error[i * logs.columns + s]! +=
        w2[s]! * exponentError +
        Math.sqrt(w2[s]! * length2[i]!) * rootError +
        (mapError / 2) * (Math.sqrt(turned[s]! * own[i]!) + length2[i]!)
    }
  }
}

export function squaredNorms({value, rows, columns}: BoundedMatrix): number[] {
  return Array.from({length: rows}, (_, i) =>
    value.subarray(i * columns, (i + 1) * columns).reduce((sum, x) => sum + x ** 2, 0),
  )
}

/** x.metric x of each row; zeros where nothing depends on them. */
function forms(metric: Matrix, {value, rows, columns}: BoundedMatrix, factor: number): number[] {
  return Array.from({length: rows}, (_, i) => {
    if (factor === 0) return 0
    return Math.max(0, quadratic(metric, value.subarray(i * columns, (i + 1) * columns)))
  })
}

/** A of every head, `[B H]`, for the optimal positive features of a call. */
export function exponentOf(inputs: TwinInputs): {value: number; error: number}[] {
  const found: {value: number; error: number}[] = []
  forEachHead(inputs, head => {
    const {exponent, exponentError} = oprf(sampleOf(head, inputs), inputs.options)
    found.push({value: exponent[0]!, error: exponentError})
  })
  return found
}

function twin(rule: Rule): Twin {
  return logFeatureTwin((head, inputs) => {
    const parameters = rule(sampleOf(head, inputs), inputs.options)
    return side => logFeatures(head[side], head, inputs, parameters, side)
  })
}

export const EXPONENTIAL_TWINS = {
  oprf: twin(oprf),
  saderf: twin(saderf),
  aderf: twin(aderf),
  sderf: twin(sderf),
}
