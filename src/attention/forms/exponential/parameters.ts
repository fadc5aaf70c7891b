/**
 * What generalised exponential features of one head are made of:
 * `phi(x) = D0 exp(w.A w + w.(I - 4A)^(1/2) P x - |P x|^2/2)`, with
 * P_x^T P_y = I for the two sides, so that `E[phi(x) phi(y)] = exp(x.y)` for w ~ N(0, I).
 */
import {logRelativeMoment, optimalExponent} from '../../../theory/exponential.js'
import type {RowTilt} from '../../../theory/row-tilt.js'
import type {HeadMoments, Sides} from './moments.js'
import {type Eigen, matrixFunction, product, symmetricEigen} from './symmetric.js'

/** Parameters of one head, in double precision. Matrices are symmetric. */
export interface HeadParameters {
  /** A: one number a for A = a I, or its eigenvalues and eigenvectors. */
  exponent: number | Eigen
  /** P of both sides: diagonals `[D]` or matrices `[D, D]`. Default the identity. */
  maps?: Sides | undefined
}

/**
 * a for A = a I.
 *
 * @param sum2 - mean |P x + P y|^2 over all pairs
 * @param rule - a of the mean square per dimension. Default: the best one.
 */
export function scalarExponent(sum2: number, headDim: number, rule = optimalExponent): number {
  return rule(Math.max(0, sum2) / headDim)
}

/** mean |P x + P y|^2 over all pairs: `mean |P x|^2 + mean |P y|^2 + 2 mean x . mean y`. */
export function meanSum2({mean, squares, outer}: HeadMoments, maps?: Sides): number {
  let sum = 2 * mean.query.reduce((dot, x, d) => dot + x * mean.key[d]!, 0)
  for (const side of ['query', 'key'] as const) {
    const map = maps?.[side]
    if (map && map.length > squares[side].length) {
      const metric = product(map, map)
      sum += metric.reduce((total, g, at) => total + g * outer[side][at]!, 0)
    } else {
      sum += squares[side].reduce((total, x, d) => total + (map?.[d] ?? 1) ** 2 * x, 0)
    }
  }
  return sum
}

/**
 * The best matrix A: a function of mean (x + y)(x + y)^T over all pairs. The published form
 * diagonalises it, w.B x with B = (I - 4 diag a)^(1/2) Q^T; turned back by Q it does not depend on the order and
 * signs of eigenvectors, and rows w ~ N(0, I) prefer no direction.
 *
 * Source: Likhosherstov et al. 2023, arXiv:2302.00787, theorem on SDERF.
 */
export function matrixExponent({mean, outer}: HeadMoments): Eigen {
  const n = mean.query.length
  const pairs = outer.query.map((x, at) => {
    const [i, j] = [Math.floor(at / n), at % n]
    const cross = mean.query[i]! * mean.key[j]! + mean.key[i]! * mean.query[j]!
    return x + outer.key[at]! + cross
  })
  const {values, vectors} = symmetricEigen(pairs)
  return {values: values.map(value => optimalExponent(Math.max(0, value))), vectors}
}

/**
 * Second moments with `ridge` times their mean added, so that no axis is empty, whatever rounding made of it;
 * all ones where all are zero.
 */
function ridged(values: Float64Array, ridge: number): Float64Array {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  if (!(mean > 0)) return values.map(() => 1)
  const floor = ridge * mean
  return values.map(value => Math.max(value + floor, floor / 2))
}

/**
 * Per-dimension factors psi of queries, 1/psi of keys: `psi_d = (mean y_d^2 / mean x_d^2)^(1/4)`, which
 * minimise mean |P x|^2 + mean |P y|^2.
 *
 * Source: Likhosherstov et al. 2023, arXiv:2302.00787 (SADERF).
 */
export function diagonalMaps({squares}: HeadMoments, ridge: number): Sides {
  const x = ridged(squares.query, ridge)
  const y = ridged(squares.key, ridge)
  const query = x.map((value, d) => (y[d]! / value) ** 0.25)
  return {query, key: query.map(psi => 1 / psi)}
}

/**
 * Matrices P of queries, P^-1 of keys, that minimise mean |P x|^2 + mean |P y|^2: the square root of the
 * geometric mean of M_x^-1 and M_y. The published form, from a singular value decomposition, is a
 * rotation of this one, which rows w ~ N(0, I) do not notice.
 *
 * Source: Likhosherstov et al. 2023, arXiv:2302.00787 (ADERF).
 */
export function matrixMaps({outer}: HeadMoments, ridge: number): Sides {
  const x = ridgedEigen(outer.query, ridge)
  const y = ridgedEigen(outer.key, ridge)
  const root = matrixFunction(x, Math.sqrt)
  const inverseRoot = matrixFunction(x, value => 1 / Math.sqrt(value))
  const middle = symmetricEigen(
    product(
      product(
        root,
        matrixFunction(y, value => value),
      ),
      root,
    ),
  )
  const least = Number.EPSILON * Math.max(...middle.values) // below it a value is rounding
  const middleRoot = matrixFunction(middle, value => Math.sqrt(Math.max(least, value)))
  const mean = symmetricEigen(product(product(inverseRoot, middleRoot), inverseRoot))
  return {
    query: matrixFunction(mean, Math.sqrt),
    key: matrixFunction(mean, value => 1 / Math.sqrt(value)),
  }
}

function ridgedEigen(matrix: Float64Array, ridge: number): Eigen {
  const {values, vectors} = symmetricEigen(matrix)
  return {values: ridged(values, ridge), vectors}
}

/** P x of one vector. */
export function mapped(x: Float64Array, map: Float64Array | undefined): Float64Array {
  const n = x.length
  if (!map) return x
  if (map.length === n) return x.map((value, d) => value * map[d]!)
  return x.map((_, i) => x.reduce((sum, value, j) => sum + map[i * n + j]! * value, 0))
}

/** ln E[(phi(x) phi(y))^k] - k x.y for one row w; `Infinity` where there is no such moment. */
export function relativeLogMoment(
  k: number,
  {exponent, maps}: HeadParameters,
  x: Float64Array,
  y: Float64Array,
): number {
  const [px, py] = [mapped(x, maps?.query), mapped(y, maps?.key)]
  const sum = px.map((value, d) => value + py[d]!)
  const n = sum.length
  if (typeof exponent === 'number') {
    return logRelativeMoment(
      k,
      exponent,
      n,
      sum.reduce((total, value) => total + value ** 2, 0),
    )
  }
  const {values, vectors} = exponent
  let total = 0
  for (let l = 0; l < n; l++) {
    const coordinate = sum.reduce((dot, value, d) => dot + vectors[d * n + l]! * value, 0)
    total += logRelativeMoment(k, values[l]!, 1, coordinate ** 2)
  }
  return total
}

/**
 * Where the products of rows have their moments: exactly for A = a I. For a matrix, a is the mean of its eigenvalues, and z such
 * that the law of the second moment has the mean that it has with the matrix; weights do not depend on how near that is.
 */
export function rowTilt(
  {exponent, maps}: HeadParameters,
  x: Float64Array,
  y: Float64Array,
): RowTilt {
  const [px, py] = [mapped(x, maps?.query), mapped(y, maps?.key)]
  const sum = px.map((value, d) => value + py[d]!)
  if (typeof exponent === 'number') return tiltAlong(sum, exponent, maps !== undefined)
  const {values} = exponent
  const a = values.reduce((total, value) => total + value, 0) / values.length
  const mean = (value: number) => Math.sqrt(1 - 4 * value) / (1 - 8 * value)
  const stretch = matrixFunction(exponent, value => mean(value) / mean(a))
  return tiltAlong(mapped(sum, stretch), a, true)
}

function tiltAlong(z: Float64Array, exponent: number, apart: boolean): RowTilt {
  const squaredNorm = z.reduce((total, entry) => total + entry * entry, 0)
  return {squaredNorm, exponent, ...(apart && {direction: z})}
}
