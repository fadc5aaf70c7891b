/** Square matrices in double precision, by other algorithms than the library's: no eigenvectors. */

export type Matrix = Float64Array

const sizeOf = (a: Matrix) => Math.sqrt(a.length)

export function identity(n: number): Matrix {
  return Float64Array.from({length: n * n}, (_, at) => (at % (n + 1) === 0 ? 1 : 0))
}

/** `a + factor b` */
export function plus(a: Matrix, b: Matrix, factor = 1): Matrix {
  return a.map((x, at) => x + factor * b[at]!)
}

export function times(a: Matrix, b: Matrix): Matrix {
  const n = sizeOf(a)
  const out = new Float64Array(n * n)
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < n; k++) {
      for (let j = 0; j < n; j++) out[i * n + j]! += a[i * n + k]! * b[k * n + j]!
    }
  }
  return out
}

/** Square root of the sum of squares: at least the largest singular value. */
export function frobenius(a: Matrix): number {
  return Math.hypot(...a)
}

export function trace(a: Matrix): number {
  return a.reduce((sum, x, at) => sum + (at % (sizeOf(a) + 1) === 0 ? x : 0), 0)
}

/** x^T a x */
export function quadratic(a: Matrix, x: Float64Array): number {
  const n = x.length
  let sum = 0
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) sum += x[i]! * a[i * n + j]! * x[j]!
  return sum
}

/** Gauss-Jordan elimination with the largest pivot of each column. */
export function inverse(a: Matrix): Matrix {
  const n = sizeOf(a)
  const rows = Array.from({length: n}, (_, i) =>
    Float64Array.from({length: 2 * n}, (_, j) => (j < n ? a[i * n + j]! : Number(j - n === i))),
  )
  for (let column = 0; column < n; column++) {
    let pivot = column
    for (let i = column; i < n; i++) {
      if (Math.abs(rows[i]![column]!) > Math.abs(rows[pivot]![column]!)) pivot = i
    }
    ;[rows[column], rows[pivot]] = [rows[pivot]!, rows[column]!]
    const top = rows[column]!
    const scale = 1 / top[column]!
    for (let j = column; j < 2 * n; j++) top[j]! *= scale
    for (let i = 0; i < n; i++) {
      const row = rows[i]!
      const factor = row[column]!
      if (i === column || factor === 0) continue
      for (let j = column; j < 2 * n; j++) row[j]! -= factor * top[j]!
    }
  }
  return Float64Array.from({length: n * n}, (_, at) => rows[Math.floor(at / n)]![n + (at % n)]!)
}

/**
 * The principal square root of a matrix with positive eigenvalues, by Newton's iteration for root and
 * inverse root together.
 *
 * Source: Denman & Beavers 1976.
 */
export function squareRoot(a: Matrix): Matrix {
  let root = a
  let inverseRoot = identity(sizeOf(a))
  for (let step = 0; step < 100; step++) {
    const next = plus(root, inverse(inverseRoot)).map(x => x / 2)
    inverseRoot = plus(inverseRoot, inverse(root)).map(x => x / 2)
    const moved = frobenius(plus(next, root, -1))
    root = next
    if (moved <= 1e-14 * frobenius(root)) break
  }
  return root
}
