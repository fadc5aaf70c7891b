/** What the cells of a sweep share: input, truth, yardstick and statistics, computed once per process. */
import type {ExactTarget} from '../../attention/index.js'
import type {AttentionArray, AttentionInput} from '../../inputs/attention-input.js'
import {loadInput} from '../../inputs/load.js'
import {type InputStatistics, inputStatistics} from '../../inputs/statistics.js'
import type {ErrorSweepCell} from './schema.js'
import {computeTruth, meanValue, type Truth} from './truth.js'

/** Shared parts of cells that differ only in their estimator. */
export interface SweepContext {
  /** Queries and keys times the cell's scale. */
  input: AttentionInput
  logitScale: number
  truth: Truth
  /** `[B, H, L, Dv]` */
  meanValue: Float64Array
  /** Of canonical inputs: what the report shows. */
  statistics: {overall: InputStatistics; perHead: InputStatistics[]}
}

/** Contexts are large; a sweep visits them one after the other. */
export const KEPT_CONTEXTS = 3
const contexts = new Map<string, Promise<SweepContext>>()

/** What cells of one context have in common. */
export function contextKey(cell: ErrorSweepCell, target: ExactTarget): string {
  const {input, seq_len, scale, causal, seed} = cell
  return JSON.stringify([input, seq_len, scale, causal, seed, target])
}

/** The context of a cell under a target, from the cache where it is there. */
export function contextOf(cell: ErrorSweepCell, target: ExactTarget): Promise<SweepContext> {
  const key = contextKey(cell, target)
  let context = contexts.get(key)
  if (!context) {
    context = makeContext(cell, target)
    if (contexts.size >= KEPT_CONTEXTS) contexts.delete(contexts.keys().next().value!)
    contexts.set(key, context)
    context.catch(() => contexts.delete(key))
  }
  return context
}

async function makeContext(cell: ErrorSweepCell, target: ExactTarget): Promise<SweepContext> {
  const {input: spec, seq_len: seqLen, seed} = cell
  const loaded = await loadInput(spec, {seqLen, seed, extras: false})
  const input = {
    ...loaded,
    query: scaled(loaded.query, cell.scale),
    key: scaled(loaded.key, cell.scale),
  }
  const {causal} = cell
  const logitScale = input.query.shape[3] ** -0.5
  const statistics = inputStatistics(input, {scale: 1, logitScale, causal})
  return {
    input,
    logitScale,
    truth: computeTruth(input, {target, logitScale, causal}),
    meanValue: meanValue(input, causal),
    statistics,
  }
}

const unitStatistics = new WeakMap<AttentionInput, Map<string, SweepContext['statistics']>>()

/**
 * Statistics of the vectors that a method's features see: the canonical ones, or unit vectors for a
 * method that normalises. These are what its kernel variance depends on, whatever it is compared with.
 *
 * @param own - what the method converges to
 */
export function featureStatistics(
  {input, statistics}: SweepContext,
  own: ExactTarget,
  causal: boolean,
): SweepContext['statistics'] {
  if (own.inputs !== 'unit') return statistics
  const known = unitStatistics.get(input) ?? new Map<string, SweepContext['statistics']>()
  unitStatistics.set(input, known)
  const {inputScale, normEpsilon = 0} = own
  const name = `${inputScale} ${normEpsilon} ${causal}`
  let found = known.get(name)
  if (!found) {
    const [query, key] = [normalized(input.query, normEpsilon), normalized(input.key, normEpsilon)]
    found = inputStatistics({...input, query, key}, {scale: inputScale, logitScale: 1, causal})
    known.set(name, found)
  }
  return found
}

function scaled(array: AttentionArray, scale: number): AttentionArray {
  return scale === 1 ? array : {...array, data: array.data.map(x => x * scale)}
}

/** Every vector divided by its Euclidean norm plus epsilon; zero vectors stay zero. */
function normalized(array: AttentionArray, epsilon: number): AttentionArray {
  const dim = array.shape[3]
  const data = array.data.slice()
  for (let start = 0; start < data.length; start += dim) {
    const vector = data.subarray(start, start + dim)
    let sum = 0
    for (const x of vector) sum += x * x
    if (sum > 0) for (let d = 0; d < dim; d++) vector[d]! /= Math.sqrt(sum) + epsilon
  }
  return {...array, data}
}
