/**
 * The error that theory predicts of a cell, head by head, and the M that an error of 5 % takes. Computed once for all M,
 * projections and replicates of a method on an input; see `theory/ratio-error`.
 */
import {type AttentionInput, sizesOf} from '../../inputs/attention-input.js'
import {predictError} from '../../theory/ratio-error/predict.js'
import type {PositiveHead} from '../../theory/ratio-error/types.js'
import type {ResolvedMethod} from '../method.js'
import type {SweepContext} from './context.js'
import {coversRows, mayHaveCurves, queriesFor} from './curves-cost.js'
import {partsInView} from './in-view.js'
import type {ErrorSweepCell} from './schema.js'

/** The error whose M is told. */
export const WANTED = 0.05

/** Every M of a curve: powers of two. */
const COUNTS = Array.from({length: 22}, (_, i) => 2 ** (i + 3))

/** Relative squared errors at each of {@link COUNTS}. */
type Curve = Float64Array

/** Of all heads together, and of each. */
export interface Curves {
  all: Curve
  perHead: Curve[]
}

const known = new WeakMap<AttentionInput, Map<string, Curves>>()

/** The curves of a cell's method; `undefined` where theory has none for it, or for what it is compared with. */
export function predictedCurves(
  cell: ErrorSweepCell,
  method: ResolvedMethod,
  context: SweepContext,
): Curves | undefined {
  const {estimator, options} = method
  if (!mayHaveCurves(cell, method) || !coversRows(cell.projection)) return undefined
  if (cell.num_features === null) return undefined
  const {input} = context
  const name = JSON.stringify([estimator.name, options, cell.causal])
  const before = known.get(input) ?? new Map<string, Curves>()
  known.set(input, before)
  const found = before.get(name) ?? curvesOf(cell, method, context)
  if (found) before.set(name, found)
  return found
}

function curvesOf(
  {causal}: Pick<ErrorSweepCell, 'causal'>,
  {estimator, options}: ResolvedMethod,
  context: SweepContext,
): Curves | undefined {
  const {input, logitScale, exactSums} = context
  const {heads} = sizesOf(input)
  const sums = Array.from({length: heads}, () => new Float64Array(COUNTS.length))
  const queries = queriesFor(sizesOf(input))
  for (const part of partsInView(input, causal)) {
    const {queryLen} = sizesOf(part)
    for (let head = 0; head < heads; head++) {
      const own = estimator.positiveHead!(headOf(part, head, {logitScale, causal}), options)
      if (!own) return undefined
      const {errors} = predictError(own, COUNTS, {queries, seed: head})
      errors.forEach((error, at) => {
        sums[head]![at]! += error * queryLen
      })
    }
  }
  const squares = sums.map((_, head) =>
    exactSums.reduce((sum, own, at) => sum + (at % heads === head ? own.squares : 0), 0),
  )
  const all = COUNTS.map((_, at) => total(sums.map(sum => sum[at]!)) / total(squares))
  const perHead = sums.map((sum, head) => sum.map(error => error / squares[head]!))
  return {all: Float64Array.from(all), perHead}
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, x) => sum + x, 0)
}

/** One head of one sequence, canonical. */
function headOf(
  {query, key, value}: AttentionInput,
  head: number,
  {logitScale, causal}: {logitScale: number; causal: boolean},
): PositiveHead {
  const factor = Math.sqrt(logitScale)
  const part = ({shape, data}: AttentionInput['query']) => {
    const size = shape[2] * shape[3]
    return data.subarray(head * size, (head + 1) * size)
  }
  return {
    query: scaled(part(query), factor),
    key: scaled(part(key), factor),
    value: part(value),
    headDim: query.shape[3],
    valueDim: value.shape[3],
    causal,
  }
}

function scaled(vectors: Float32Array, factor: number): Float64Array {
  const out = new Float64Array(vectors)
  for (let at = 0; at < out.length; at++) out[at]! *= factor
  return out
}

/** rel_l2 at an M, `null` for fewer than curves begin with or more than they end with. */
export function errorAt(curve: Curve, numFeatures: number): number | null {
  const at = Math.log2(numFeatures) - Math.log2(COUNTS[0]!)
  if (at < 0 || at > COUNTS.length - 1) return null
  const before = Math.min(Math.floor(at), COUNTS.length - 2)
  const [low, high] = [curve[before]!, curve[before + 1]!]
  if (low === 0 || high === 0) return Math.sqrt(low)
  return Math.sqrt(low * (high / low) ** (at - before))
}

/**
 * The M at which rel_l2 comes down to {@link WANTED}: the measured error, carried on along the curve.
 *
 * @param measured - at `numFeatures`; `null`: the curve alone
 * @returns `null` where that is beyond the curve
 */
export function neededFor(
  curve: Curve,
  numFeatures: number,
  measured: number | null,
): number | null {
  const predicted = errorAt(curve, numFeatures)
  const factor = measured && predicted ? measured / predicted : 1
  const errors = Array.from(curve, square => factor * Math.sqrt(square))
  const at = errors.findIndex(error => error <= WANTED)
  if (at < 0) return null
  if (at === 0) return COUNTS[0]!
  const [high, low] = [errors[at - 1]!, errors[at]!]
  const share = low === 0 ? 1 : Math.log(high / WANTED) / Math.log(high / low)
  return Math.ceil(COUNTS[at - 1]! * 2 ** share)
}
