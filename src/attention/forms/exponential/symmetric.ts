/** Symmetric matrices on the host, row-major `[n, n]`, in double precision. */

/** Eigenvalues and, as columns of `vectors`, their eigenvectors. */
export interface Eigen {
  values: Float64Array // [n]
  vectors: Float64Array // [n, n]
}

/** Rotations stop when off-diagonal entries are below rounding, after at most this many sweeps. */
const SWEEPS = 30

/**
 * Eigenvalues and eigenvectors by cyclic Jacobi rotations, which keep small eigenvalues of positive matrices.
 *
 * Source: Golub & Van Loan 2013, Matrix Computations, section 8.5.
 */
export function symmetricEigen(matrix: Float64Array): Eigen {
  const n = Math.sqrt(matrix.length)
  const a = matrix.slice()
  const vectors = identity(n)
  for (let sweep = 0; sweep < SWEEPS && !isDiagonal(a, n); sweep++) {
    for (let p = 0; p < n - 1; p++) {
      for (let q = p + 1; q < n; q++) rotate(a, vectors, n, p, q)
    }
  }
  return {values: Float64Array.from({length: n}, (_, i) => a[i * n + i]!), vectors}
}

function identity(n: number): Float64Array {
  return Float64Array.from({length: n * n}, (_, at) => (at % (n + 1) === 0 ? 1 : 0))
}

function isDiagonal(a: Float64Array, n: number): boolean {
  let off = 0
  let all = 0
  for (let at = 0; at < a.length; at++) {
    const square = a[at]! ** 2
    all += square
    if (at % (n + 1) !== 0) off += square
  }
  return off <= Number.EPSILON ** 2 * all
}

/** Turns axes p and q so that their entry becomes zero. */
function rotate(a: Float64Array, vectors: Float64Array, n: number, p: number, q: number): void {
  const entry = a[p * n + q]!
  if (entry === 0) return
  const ratio = (a[q * n + q]! - a[p * n + p]!) / (2 * entry)
  const tangent = (ratio < 0 ? -1 : 1) / (Math.abs(ratio) + Math.hypot(ratio, 1))
  const cosine = 1 / Math.hypot(tangent, 1)
  const sine = tangent * cosine
  a[p * n + p]! -= tangent * entry
  a[q * n + q]! += tangent * entry
  a[p * n + q] = 0
  a[q * n + p] = 0
  for (let k = 0; k < n; k++) {
    turn(vectors, k * n + p, k * n + q, cosine, sine)
    if (k === p || k === q) continue
    turn(a, k * n + p, k * n + q, cosine, sine)
    a[p * n + k] = a[k * n + p]!
    a[q * n + k] = a[k * n + q]!
  }
}

function turn(of: Float64Array, p: number, q: number, cosine: number, sine: number): void {
  const x = of[p]!
  const y = of[q]!
  of[p] = cosine * x - sine * y
  of[q] = sine * x + cosine * y
}

/** `Q f(lambda) Q^T`: a function of a symmetric matrix. */
export function matrixFunction({values, vectors}: Eigen, f: (value: number) => number) {
  const n = values.length
  const scaled = vectors.map((x, at) => x * f(values[at % n]!))
  return product(scaled, transposed(vectors))
}

/** A B. */
export function product(a: Float64Array, b: Float64Array): Float64Array {
  const n = Math.sqrt(a.length)
  const out = new Float64Array(n * n)
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < n; k++) {
      const factor = a[i * n + k]!
      for (let j = 0; j < n; j++) out[i * n + j]! += factor * b[k * n + j]!
    }
  }
  return out
}

export function transposed(a: Float64Array): Float64Array {
  const n = Math.sqrt(a.length)
  return a.map((_, at) => a[(at % n) * n + Math.floor(at / n)]!)
}
