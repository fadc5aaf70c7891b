/** Landmarks and the iterated pseudo-inverse in double precision. */
import {
  attend,
  type BoundedMatrix,
  hide,
  matMul,
  rowsAt,
  scale,
  softmaxRows,
  stackRows,
  transpose,
  zeros,
} from '../bounded.js'
import {gamma, U} from '../rounding.js'
import {
  emptyOutput,
  forEachHead,
  matricesOf,
  type Twin,
  type TwinInputs,
  writeHead,
} from './types.js'

/** Tokens of one side, which of them are there, and the members of each segment. */
interface Side {
  tokens: BoundedMatrix
  present: boolean[]
  segments: number[][]
}

function sideOf(
  tokens: BoundedMatrix,
  mask: boolean[] | undefined,
  {numFeatures, options}: TwinInputs,
): Side {
  const length = tokens.rows
  const present = mask ?? Array<boolean>(length).fill(true)
  if (options.landmarks === 'even') {
    const here = present.flatMap((is, at) => (is ? [at] : []))
    const count = Math.min(numFeatures, length)
    const size = Math.floor(here.length / count)
    const shortRuns = (size + 1) * count - here.length
    let at = 0
    const segments = Array.from({length: count}, (_, i) => {
      const next = at + (i < shortRuns ? size : size + 1)
      const members = here.slice(at, next)
      at = next
      return members
    })
    return {tokens, present, segments}
  }
  const size = Math.ceil(length / numFeatures)
  const added = size * numFeatures - length
  // without a mask the zero tokens before the sequence are tokens like others
  const all = [...Array<boolean>(added).fill(mask === undefined), ...present]
  const padded = added > 0 ? stackRows(zeros(added, tokens.columns), tokens) : tokens
  const segments = Array.from({length: numFeatures}, (_, i) =>
    Array.from({length: size}, (_, n) => i * size + n).filter(at => all[at]),
  )
  return {tokens: padded, present: all, segments}
}

function landmarksOf({tokens, segments}: Side): BoundedMatrix {
  return stackRows(
    ...segments.map(members => {
      if (members.length === 0) return zeros(1, tokens.columns)
      const weights = zeros(1, members.length)
      weights.value.fill(1 / members.length)
      weights.error.fill(U / members.length)
      return matMul(weights, rowsAt(tokens, members))
    }),
  )
}

export const nystrom: Twin = inputs => {
  const out = emptyOutput(inputs)
  const {options, logitScale, keyMask} = inputs
  const [, heads, queryLen] = inputs.query.shape
  const keyLen = inputs.key.shape[2]
  const ready: (() => void)[] = []
  let largest = 0
  forEachHead(inputs, head => {
    const {query, key, value} = matricesOf(head)
    const first = Math.floor(head.index / heads) * keyLen
    const mask = keyMask && Array.from({length: keyLen}, (_, j) => keyMask[first + j] !== 0)
    const queries = sideOf(query, queryLen === keyLen ? mask : undefined, inputs)
    const keys = sideOf(key, mask, inputs)
    const [queryMarks, keyMarks] = [landmarksOf(queries), landmarksOf(keys)]
    const filled = (side: Side) => (i: number) => side.segments[i]!.length > 0
    const between = hide(
      scale(matMul(queryMarks, keyMarks, true), logitScale),
      (i, j) => filled(queries)(i) && filled(keys)(j),
    )
    const weights = softmaxRows(between)
    largest = Math.max(largest, scaleOf(weights))
    const added = keys.tokens.rows - keyLen
    const values = added > 0 ? stackRows(zeros(added, value.columns), value) : value
    const far = attend(queryMarks, keys.tokens, values, {
      scale: logitScale,
      sees: (_, j) => keys.present[j]!,
    }).out
    ready.push(() => {
      const start = options.pinvScale === 'batch' ? largest : scaleOf(weights)
      const inverse = pseudoInverse(weights, Number(options.iterations), start)
      const sees = (_: number, j: number) => filled(keys)(j)
      const read = (values: BoundedMatrix) =>
        attend(query, keyMarks, values, {scale: logitScale, sees}).out
      const last = read(matMul(inverse.matrix, far))
      addInverseError(last, read(identity(keyMarks.rows)), inverse, far)
      writeHead(out, head, last)
    })
  })
  for (const finish of ready) finish()
  return {out}
}

function identity(size: number): BoundedMatrix {
  return identityMinus(1, {matrix: zeros(size, size), spectral: 0, error: 0}).matrix
}

/** Largest column sum times largest row sum. */
function scaleOf(a: BoundedMatrix): number {
  const {one, infinity} = norms(a.value, a.columns)
  return one * infinity
}

/** Largest column sum, largest row sum, and the Frobenius norm. */
function norms(values: Float64Array, columns: number) {
  const rowSums = new Float64Array(values.length / columns)
  const columnSums = new Float64Array(columns)
  let squares = 0
  values.forEach((x, at) => {
    rowSums[Math.floor(at / columns)]! += Math.abs(x)
    columnSums[at % columns]! += Math.abs(x)
    squares += x * x
  })
  return {
    one: Math.max(...columnSums),
    infinity: Math.max(...rowSums),
    frobenius: Math.sqrt(squares),
  }
}

/** A matrix with bounds on its largest singular value and on the Frobenius norm of its error. */
interface Norm {
  matrix: BoundedMatrix
  spectral: number
  error: number
}

/** A product; `spectral` bounds its largest singular value. */
function times(a: Norm, b: Norm, bound: number): Norm {
  const product = matMul(a.matrix, b.matrix) // with its own roundings alone
  const own = norms(product.error, product.columns).frobenius
  const spread = a.spectral * b.error + a.error * b.spectral + a.error * b.error
  return {matrix: plain(product), spectral: bound, error: own + spread}
}

/** Without errors. */
function plain(matrix: BoundedMatrix): BoundedMatrix {
  return {...matrix, error: new Float64Array(matrix.error.length)}
}

/** `factor I - a`, for a with singular values that leave it at most `factor`. */
function identityMinus(factor: number, {matrix, error}: Norm): Norm {
  const value = matrix.value.map(
    (x, at) => (Math.floor(at / matrix.columns) === at % matrix.columns ? factor : 0) - x,
  )
  const rounding = U * norms(value, matrix.columns).frobenius
  return {matrix: {...matrix, value}, spectral: factor, error: error + rounding}
}

/** The largest singular value, from above: |X|^16 <= |(X^T X)^8|_F, too large by at most rank^(1/16). */
function spectral(matrix: BoundedMatrix): number {
  const {frobenius} = norms(matrix.value, matrix.columns)
  if (frobenius === 0) return 0
  const unit = scaled(matrix, 1 / frobenius)
  let power = matMul(transpose(unit), unit)
  for (let doubling = 0; doubling < 3; doubling++) power = matMul(plain(power), plain(power))
  return frobenius * norms(power.value, power.columns).frobenius ** (1 / 16)
}

/**
 * `Z <- Z (13 I - P (15 I - P (7 I - P))) / 4`, P = A Z, from A^T / scale. P is symmetric with eigenvalues s in
 * [0, 1], and a step maps them to g(s) = s (13 - 15 s + 7 s^2 - s^3) / 4, again in [0, 1]. So an error E of Z comes out
 * times divided differences of g, at most 13/4 in Frobenius norm (second order: 15/4 |A| |E|^2), and one of A as
 * `Z E Z (-15 + 7 (s + t) - (s^2 + s t + t^2)) / 4`, at most 15/4 |Z|^2 |E|. What a step rounds itself is found by
 * running analysis with exact A and Z.
 */
function pseudoInverse(a: BoundedMatrix, iterations: number, start: number): Norm {
  const errorOfA = norms(a.error, a.columns).frobenius
  const exactA: Norm = {matrix: plain(a), spectral: spectral(plain(a)), error: 0}
  let matrix = scaled(transpose(plain(a)), start === 0 ? 0 : 1 / start)
  let error = 0
  if (start > 0) {
    // |E|_F times a root of the size bounds what E does to a row or column sum
    const sums = Math.sqrt(Math.max(a.rows, a.columns)) * errorOfA
    const relative = gamma(a.rows + a.columns + 4) + (2 * sums) / Math.sqrt(start)
    error = errorOfA / start + relative * norms(matrix.value, matrix.columns).frobenius
  }
  let size = spectral(matrix)
  for (let step = 0; step < iterations; step++) {
    const own: Norm = {matrix, spectral: size, error: 0}
    const near = times(exactA, own, 1)
    const inner = identityMinus(15, times(near, identityMinus(7, near), 6))
    const next = times(own, identityMinus(13, times(near, inner, 9)), Infinity)
    const fromA = (15 / 4) * size ** 2 * errorOfA
    error = (13 / 4) * error + (15 / 4) * exactA.spectral * error ** 2 + fromA + next.error / 4
    matrix = scaled(next.matrix, 1 / 4)
    size = spectral(matrix)
  }
  return {matrix, spectral: size, error: error * exactA.spectral < 1 ? error : Infinity}
}

function scaled(matrix: BoundedMatrix, factor: number): BoundedMatrix {
  return {...matrix, value: matrix.value.map(x => x * factor)}
}

/** Adds what an error of Z does to `f Z B`: |row of f| |E| |column of B|. */
function addInverseError(
  out: BoundedMatrix,
  reading: BoundedMatrix,
  {error}: Norm,
  far: BoundedMatrix,
): void {
  const rows = lengths(reading)
  const columns = lengths(transpose(far))
  out.error.forEach((e, at) => {
    out.error[at] = e + rows[Math.floor(at / out.columns)]! * error * columns[at % out.columns]!
  })
}

/** Euclidean norms of the rows. */
function lengths({value, columns}: BoundedMatrix): number[] {
  return Array.from({length: value.length / columns}, (_, i) =>
    Math.hypot(...value.subarray(i * columns, (i + 1) * columns)),
  )
}
