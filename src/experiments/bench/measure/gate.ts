/** The correctness gate: no time is reported for a result that is wrong. */

import {attend, exactAttention} from '../../../attention/index.js'
import {hostData} from '../../../attention/internal.js'
import {decodeAll, decoderFor} from '../../../check/calls/decode.js'
import {RfaError} from '../../../errors.js'
import {normals, randomStream} from '../../../random/index.js'
import {requirePackage, tf} from '../../../tf.js'
import {attentionRoundingBound} from '../../../theory/rounding.js'
import {attendOptions} from '../../axes.js'
import {featureDimOf, RAW_TARGET, type ResolvedMethod} from '../../method.js'
import type {BenchCell, BenchResult} from '../schema.js'

export const GATE_ROWS = 96
/** Standard deviation of q and k: small norms, at which every estimator is well-conditioned. */
const GATE_SCALE = 0.5

/**
 * Runs the cell's method on a short input and compares it with its judge: exact methods with the
 * double-precision definition, estimators with the composite form on the plain JavaScript backend. What is decoded goes
 * token by token and has the causal forward as its judge.
 *
 * @param backend - the backend to be timed; current before and after
 * @throws {GATE_FAILED} when the difference exceeds the float32 rounding bound
 */
export async function passGate(
  cell: BenchCell,
  method: ResolvedMethod,
  backend: string,
): Promise<NonNullable<BenchResult['gate']>> {
  const run = cell.mode === 'decode' ? decoded : forward
  return passGateBy(cell, method, {
    ...{name: `${cell.method} on ${backend}`, backend, most: GATE_ROWS},
    run: async (arrays, rows) => run(cell, arrays, rows),
  })
}

export interface Candidate {
  /** What an error calls it. */
  name: string
  /** The backend that is current before and after. */
  backend: string
  /** Most rows of the prefix. */
  most: number
  /** The outputs of one head, `[rows, Dv]`; each row may have more behind them. */
  run(arrays: GateArrays, rows: number): Promise<Float32Array>
}

/** The same for any computed output. @throws {GATE_FAILED} as {@link passGate} */
export async function passGateBy(
  cell: BenchCell,
  method: ResolvedMethod,
  {name, backend, most, run}: Candidate,
): Promise<NonNullable<BenchResult['gate']>> {
  const rows = Math.min(most, cell.seq_len)
  const arrays = gateArrays(cell, rows)
  const candidate = await run(arrays, rows)
  const judged = await judge(cell, method, arrays, rows, backend)
  const bound = attentionRoundingBound({
    terms: cell.head_dim + featureDimOf(method, cell, cell.head_dim) + rows,
    argument: largestArgument(cell, arrays),
    condition: judged.condition,
    magnitude: arrays.value.reduce((top, x) => Math.max(top, Math.abs(x)), 0),
  })
  let worst = 0
  const width = cell.value_dim
  const stride = candidate.length / rows
  for (let i = 0; i < rows * width; i++) {
    const got = candidate[Math.floor(i / width) * stride + (i % width)]!
    const error = Math.abs(got - judged.output[i]!)
    if (!(error <= worst)) worst = error // keeps NaN
  }
  if (worst <= bound) return {max_abs_error: worst, bound, rows}
  throw new RfaError(
    'GATE_FAILED',
    `${name}: expected an error of at most ${bound.toExponential(2)}, got ${worst.toExponential(2)}`,
    {suggestions: ['report this: the kernel computes something else than its definition']},
  )
}

/** Of one head; `value` without the identity. */
export interface GateArrays {
  query: Float32Array
  key: Float32Array
  value: Float32Array
}

function gateArrays(cell: BenchCell, rows: number): GateArrays {
  const draw = (name: string, dim: number, scale: number) =>
    Float32Array.from(
      normals(randomStream(cell.seed, `bench.gate.${name}`), rows * dim),
      x => x * scale,
    )
  return {
    query: draw('query', cell.head_dim, GATE_SCALE),
    key: draw('key', cell.head_dim, GATE_SCALE),
    value: draw('value', cell.value_dim, 1),
  }
}

/** One head on the current backend with values `[V | I]`: outputs and normalised weights, `[rows, Dv + rows]`. */
function forward(cell: BenchCell, {query, key, value}: GateArrays, rows: number): Float32Array {
  const {head_dim, value_dim} = cell
  const {out} = hostData(() => {
    const values = tf.concat([tf.tensor2d(value, [rows, value_dim]), tf.eye(rows)], 1)
    const {out} = attend(
      tf.tensor4d(query, [1, 1, rows, head_dim]),
      tf.tensor4d(key, [1, 1, rows, head_dim]),
      tf.reshape(values, [1, 1, rows, value_dim + rows]),
      attendOptions(cell),
    )
    return {out}
  })
  return out as Float32Array
}

/** The same from the recurrent form, one token at a time. */
function decoded(cell: BenchCell, {query, key, value}: GateArrays, rows: number): Float32Array {
  const {head_dim, value_dim} = cell
  const width = value_dim + rows
  const values = withIdentity(value, rows)
  const host = (data: Float32Array, dim: number) => ({shape: [1, 1, rows, dim] as const, data})
  const inputs = {
    query: host(query, head_dim),
    key: host(key, head_dim),
    value: host(values, width),
  }
  const sizes = {heads: 1, headDim: head_dim, valueDim: width}
  const decoder = decoderFor({...attendOptions(cell), ...sizes}, inputs)
  const {out} = decodeAll(decoder, inputs)
  decoder.dispose()
  return out
}

/** Values `[V | I]`, `[rows, Dv + rows]`. */
function withIdentity(value: Float32Array, rows: number): Float32Array {
  const dim = value.length / rows
  const width = dim + rows
  const values = new Float32Array(rows * width)
  for (let row = 0; row < rows; row++) {
    values.set(value.subarray(row * dim, (row + 1) * dim), row * width)
    values[row * width + dim + row] = 1
  }
  return values
}

async function judge(
  cell: BenchCell,
  {estimator}: ResolvedMethod,
  arrays: GateArrays,
  rows: number,
  backend: string,
): Promise<{output: ArrayLike<number>; condition: number}> {
  const {head_dim, value_dim, causal} = cell
  if (estimator.unbiasedFor === 'exact') {
    const host = (data: Float32Array, dim: number) => ({shape: [1, 1, rows, dim] as const, data})
    const output = exactAttention(
      host(arrays.query, head_dim),
      host(arrays.key, head_dim),
      host(arrays.value, value_dim),
      {target: RAW_TARGET, logitScale: head_dim ** -0.5, causal},
    )
    return {output, condition: 1}
  }
  requirePackage('@tensorflow/tfjs-backend-cpu')
  await tf.setBackend('cpu')
  try {
    const both = forward(cell, arrays, rows)
    const width = value_dim + rows
    const output = new Float32Array(rows * value_dim)
    let condition = 1
    for (let row = 0; row < rows; row++) {
      const from = row * width
      output.set(both.subarray(from, from + value_dim), row * value_dim)
      const weights = both.subarray(from + value_dim, from + width)
      condition = Math.max(
        condition,
        weights.reduce((sum, x) => sum + Math.abs(x), 0),
      )
    }
    return {output, condition}
  } finally {
    await tf.setBackend(backend)
  }
}

/** Bound on |w.x| + |x|^2/2 and |x.y|: six standard deviations of w along the longest x, and the norms. */
function largestArgument(cell: BenchCell, {query, key}: GateArrays): number {
  const longest = Math.max(longestNorm(query, cell.head_dim), longestNorm(key, cell.head_dim))
  return 6 * longest + longest ** 2
}

function longestNorm(vectors: Float32Array, dim: number): number {
  let longest = 0
  for (let start = 0; start < vectors.length; start += dim) {
    const squares = vectors.subarray(start, start + dim).reduce((sum, x) => sum + x * x, 0)
    longest = Math.max(longest, squares)
  }
  return Math.sqrt(longest)
}
