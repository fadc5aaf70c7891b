/**
 * Running error analysis: matrices whose entries carry, beside their double-precision value, a bound on
 * how far float32 may be from it. Every operation below propagates the bounds of its operands to first
 * order and adds its own roundings (Higham 2002, section 3.3), so that the twin of a composite method is
 * as short as its formula. The rules of each step are those of rounding.ts.
 */
import {type Bounded, ELEMENTARY, gamma, HUGE, TINY, U} from './rounding.js'

/** `[rows, columns]`, row-major. */
export interface BoundedMatrix extends Bounded {
  rows: number
  columns: number
}

/** A matrix of zeros with zero error. */
export function zeros(rows: number, columns: number): BoundedMatrix {
  const length = rows * columns
  return {rows, columns, value: new Float64Array(length), error: new Float64Array(length)}
}

/** Numbers that float32 holds exactly: inputs. */
export function exactly(data: ArrayLike<number>, rows: number, columns: number): BoundedMatrix {
  if (data.length !== rows * columns) {
    throw new Error(`expected ${rows} x ${columns} numbers, got ${data.length}`)
  }
  return {...zeros(rows, columns), value: Float64Array.from(data)}
}

/** The same entry everywhere, rounded to float32. */
export function filled(rows: number, columns: number, x: number): BoundedMatrix {
  const out = zeros(rows, columns)
  out.value.fill(x)
  out.error.fill(U * Math.abs(x))
  return out
}

/** Entry by entry; `rule` gives value and error from those of the operand. */
function map(
  a: BoundedMatrix,
  rule: (value: number, error: number) => readonly [number, number],
): BoundedMatrix {
  const out = zeros(a.rows, a.columns)
  for (let i = 0; i < out.value.length; i++) {
    const [value, error] = rule(a.value[i]!, a.error[i]!)
    out.value[i] = value
    out.error[i] = bounds(value, error)
  }
  return out
}

/** Beyond the range of float32 nothing is decided. */
function bounds(value: number, error: number): number {
  return Math.abs(value) + error < HUGE ? error : Infinity
}

/** Entry by entry with broadcasting of axes of length 1. */
function zip(
  a: BoundedMatrix,
  b: BoundedMatrix,
  rule: (a: number, da: number, b: number, db: number) => readonly [number, number],
): BoundedMatrix {
  const rows = Math.max(a.rows, b.rows)
  const columns = Math.max(a.columns, b.columns)
  const fits = (m: BoundedMatrix) =>
    (m.rows === rows || m.rows === 1) && (m.columns === columns || m.columns === 1)
  if (!fits(a) || !fits(b)) {
    throw new Error(`cannot pair ${a.rows} x ${a.columns} with ${b.rows} x ${b.columns}`)
  }
  const at = (m: BoundedMatrix, i: number, j: number) =>
    (m.rows === 1 ? 0 : i) * m.columns + (m.columns === 1 ? 0 : j)
  const out = zeros(rows, columns)
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      const p = at(a, i, j)
      const q = at(b, i, j)
      const [value, error] = rule(a.value[p]!, a.error[p]!, b.value[q]!, b.error[q]!)
      out.value[i * columns + j] = value
      out.error[i * columns + j] = bounds(value, error)
    }
  }
  return out
}

export function add(a: BoundedMatrix, b: BoundedMatrix): BoundedMatrix {
  return zip(a, b, (x, dx, y, dy) => [x + y, dx + dy + U * (Math.abs(x + y) + dx + dy)])
}

export function sub(a: BoundedMatrix, b: BoundedMatrix): BoundedMatrix {
  return zip(a, b, (x, dx, y, dy) => [x - y, dx + dy + U * (Math.abs(x - y) + dx + dy)])
}

export function mul(a: BoundedMatrix, b: BoundedMatrix): BoundedMatrix {
  return zip(a, b, (x, dx, y, dy) => {
    const spread = Math.abs(x) * dy + dx * Math.abs(y) + product(dx, dy)
    return [x * y, spread + U * (Math.abs(x * y) + spread) + TINY]
  })
}

/** a / b, and 0 where b is exactly 0; undecided where b may be 0. */
export function div(a: BoundedMatrix, b: BoundedMatrix): BoundedMatrix {
  return zip(a, b, (x, dx, y, dy) => {
    if (y === 0 && dy === 0) return [0, 0]
    const least = Math.abs(y) - dy
    const quotient = x / y
    if (least <= 0) return [quotient, Infinity]
    return [quotient, (dx + Math.abs(quotient) * dy) / least + 3 * U * Math.abs(quotient) + TINY]
  })
}

/** A factor known in double precision, rounded to float32. */
export function scale(a: BoundedMatrix, factor: number): BoundedMatrix {
  const size = Math.abs(factor)
  return map(a, (x, dx) => [x * factor, size * dx + 2 * U * size * (Math.abs(x) + dx)])
}

export function exp(a: BoundedMatrix): BoundedMatrix {
  return map(a, (x, dx) => {
    const value = Math.exp(x)
    return [value, value * (Math.expm1(dx) + ELEMENTARY * U * Math.exp(dx)) + TINY]
  })
}

/** Undecided where the operand may be 0 or negative. */
export function log(a: BoundedMatrix): BoundedMatrix {
  return map(a, (x, dx) => {
    const value = Math.log(x)
    return [value, dx < x ? -Math.log1p(-dx / x) + ELEMENTARY * U * Math.abs(value) : Infinity]
  })
}

export function sqrt(a: BoundedMatrix): BoundedMatrix {
  return map(a, (x, dx) => {
    const value = Math.sqrt(Math.max(0, x))
    return [value, (value > 0 ? Math.min(dx / value, Math.sqrt(dx)) : Math.sqrt(dx)) + U * value]
  })
}

/** A function with a slope of at most `slope`, evaluated to a few units in the last place. */
export function lipschitz(
  a: BoundedMatrix,
  f: (x: number) => number,
  slope = 1,
  ulps = ELEMENTARY,
): BoundedMatrix {
  return map(a, (x, dx) => {
    const value = f(x)
    return [value, slope * dx + ulps * U * Math.abs(value)]
  })
}

/** a b, or a b^T. Any order of summation; one more rounding for a factor that a kernel folds in. */
export function matMul(a: BoundedMatrix, b: BoundedMatrix, transposeB = false): BoundedMatrix {
  const other = transposeB ? b : transpose(b) // rows are read in both
  if (a.columns !== other.columns) {
    throw new Error(`cannot multiply ${a.rows} x ${a.columns} by ${other.columns} x ${other.rows}`)
  }
  const {rows, columns: depth} = a
  const out = zeros(rows, other.rows)
  const roundings = gamma(depth + 2)
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < other.rows; j++) {
      let value = 0
      let error = 0
      let magnitude = 0
      for (let k = 0; k < depth; k++) {
        const x = a.value[i * depth + k]!
        const y = other.value[j * depth + k]!
        const dx = a.error[i * depth + k]!
        const dy = other.error[j * depth + k]!
        value += x * y
        magnitude += Math.abs(x * y)
        error += product(Math.abs(x), dy) + product(dx, Math.abs(y)) + product(dx, dy)
      }
      const sum = error + roundings * (magnitude + error) + (magnitude > 0 ? depth * TINY : 0)
      out.value[i * other.rows + j] = value
      out.error[i * other.rows + j] = bounds(value, sum)
    }
  }
  return out
}

/** A zero bound wipes out an infinite one: a weight that is exactly 0 drops its key. */
function product(a: number, b: number): number {
  return a === 0 || b === 0 ? 0 : a * b
}

export function transpose(a: BoundedMatrix): BoundedMatrix {
  const out = zeros(a.columns, a.rows)
  for (let i = 0; i < a.rows; i++) {
    for (let j = 0; j < a.columns; j++) {
      out.value[j * a.rows + i] = a.value[i * a.columns + j]!
      out.error[j * a.rows + i] = a.error[i * a.columns + j]!
    }
  }
  return out
}

/** Rows by index; an index may come more than once. */
export function rowsAt(a: BoundedMatrix, indices: readonly number[]): BoundedMatrix {
  const out = zeros(indices.length, a.columns)
  indices.forEach((from, to) => {
    const range = [from * a.columns, (from + 1) * a.columns] as const
    out.value.set(a.value.subarray(...range), to * a.columns)
    out.error.set(a.error.subarray(...range), to * a.columns)
  })
  return out
}

/** One below the other. */
export function stackRows(...parts: BoundedMatrix[]): BoundedMatrix {
  const columns = parts[0]!.columns
  const out = zeros(
    parts.reduce((sum, part) => sum + part.rows, 0),
    columns,
  )
  let at = 0
  for (const part of parts) {
    if (part.columns !== columns)
      throw new Error(`cannot stack ${part.columns} on ${columns} columns`)
    out.value.set(part.value, at)
    out.error.set(part.error, at)
    at += part.value.length
  }
  return out
}

/** Side by side. */
export function joinColumns(...parts: BoundedMatrix[]): BoundedMatrix {
  return transpose(stackRows(...parts.map(transpose)))
}

/** |row|^2 / 2, `[rows, 1]`. */
export function halfSquaredNorms(a: BoundedMatrix): BoundedMatrix {
  const ones = zeros(a.columns, 1)
  ones.value.fill(1)
  return scale(matMul(mul(a, a), ones), 0.5)
}

/** Sums over each row, `[rows, 1]`. */
export function rowSums(a: BoundedMatrix): BoundedMatrix {
  const ones = zeros(a.columns, 1)
  ones.value.fill(1)
  return matMul(a, ones)
}

/** Entries where `keeps` is false become logits of keys that are not there. */
export function hide(
  logits: BoundedMatrix,
  keeps: (row: number, column: number) => boolean,
): BoundedMatrix {
  const out = {...logits, value: logits.value.slice(), error: logits.error.slice()}
  for (let i = 0; i < out.rows; i++) {
    for (let j = 0; j < out.columns; j++) {
      if (keeps(i, j)) continue
      out.value[i * out.columns + j] = -Infinity
      out.error[i * out.columns + j] = 0
    }
  }
  return out
}

/** Softmax and log-sum-exp of one row: what {@link softmaxRows} and {@link logSumExpRows} share. */
function softmaxRow(value: Float64Array, error: Float64Array) {
  const top = value.reduce((most, x) => Math.max(most, x), -Infinity)
  const weights = value.map(x => (x === -Infinity ? 0 : Math.exp(x - top)))
  const total = weights.reduce((sum, x) => sum + x, 0)
  // a logit's own error, the roundings of its distance to the maximum (in base 2 or e), and the exp
  const relative = value.map((x, j) =>
    x === -Infinity
      ? 0
      : Math.expm1(error[j]! + 4 * U * (Math.abs(x) + Math.abs(top))) + ELEMENTARY * U,
  )
  const mean = weights.reduce((sum, w, j) => sum + product(w / total, relative[j]!), 0)
  return {top, total, weights, relative, mean}
}

/** Softmax over each row; a row of hidden keys is zero. */
export function softmaxRows(logits: BoundedMatrix): BoundedMatrix {
  const {rows, columns} = logits
  const out = zeros(rows, columns)
  for (let i = 0; i < rows; i++) {
    const from = i * columns
    const row = softmaxRow(
      logits.value.subarray(from, from + columns),
      logits.error.subarray(from, from + columns),
    )
    if (row.top === -Infinity) continue
    const roundings = gamma(columns + 4)
    for (let j = 0; j < columns; j++) {
      const p = row.weights[j]! / row.total
      out.value[from + j] = p
      if (logits.value[from + j] === -Infinity) continue
      const relative = row.mean < 1 ? (row.relative[j]! + row.mean) / (1 - row.mean) : Infinity
      // a weight lies in [0, 1] whatever its error
      out.error[from + j] = Math.min(1, p * (relative + roundings) + TINY)
    }
  }
  return out
}

/** Log-sum-exp of each row, `[rows, 1]`; -Infinity, exactly, for a row of hidden keys. */
export function logSumExpRows(logits: BoundedMatrix): BoundedMatrix {
  const {rows, columns} = logits
  const out = zeros(rows, 1)
  for (let i = 0; i < rows; i++) {
    const from = i * columns
    const row = softmaxRow(
      logits.value.subarray(from, from + columns),
      logits.error.subarray(from, from + columns),
    )
    out.value[i] = row.top + Math.log(row.total)
    if (row.top === -Infinity) {
      out.value[i] = -Infinity
      continue
    }
    const sum = row.mean + gamma(columns)
    const logarithm = sum < 1 ? -Math.log1p(-sum) : Infinity
    out.error[i] = logarithm + ELEMENTARY * U * (Math.abs(row.top) + Math.abs(out.value[i]!))
  }
  return out
}

/** Options of {@link attend}. */
export interface BoundedAttention {
  /** Multiplies each q.k. Default 1. */
  scale?: number
  /** Added to the logits of each key, `[S, 1]`; -Infinity hides the key. */
  keyBias?: BoundedMatrix
  /** Default: every query sees every key. */
  sees?(row: number, column: number): boolean
}

/** Exact softmax attention, as the operation `softmaxAttention` defines it. */
export function attend(
  query: BoundedMatrix,
  key: BoundedMatrix,
  value: BoundedMatrix,
  {scale: factor = 1, keyBias, sees}: BoundedAttention = {},
): {out: BoundedMatrix; lse: BoundedMatrix} {
  let logits = scale(matMul(query, key, true), factor)
  if (keyBias) {
    const finite = (j: number) => keyBias.value[j] !== -Infinity
    const bias = transpose(map(keyBias, (x, dx) => (x === -Infinity ? [0, 0] : [x, dx])))
    logits = hide(add(logits, bias), (_, j) => finite(j))
  }
  if (sees)
    logits = hide(
      logits,
      (i, j) => sees(i, j) && logits.value[i * logits.columns + j] !== -Infinity,
    )
  return {out: matMul(softmaxRows(logits), value), lse: logSumExpRows(logits)}
}

/** (x - mean) / sqrt(variance + epsilon), times weight plus bias where given (`[1, columns]`). */
export function layerNorm(
  a: BoundedMatrix,
  epsilon: number,
  weight?: BoundedMatrix,
  bias?: BoundedMatrix,
): BoundedMatrix {
  const centred = sub(a, scale(rowSums(a), 1 / a.columns))
  const variance = scale(rowSums(mul(centred, centred)), 1 / a.columns)
  const normal = div(centred, sqrt(add(variance, filled(1, 1, epsilon))))
  const weighted = weight ? mul(normal, weight) : normal
  return bias ? add(weighted, bias) : weighted
}
