/** What the cells of a sweep share: input, truth, yardsticks and statistics, computed once per process. */
import type {ExactTarget} from '../../../attention/index.js'
import {isCanonicalSoftmax} from '../../../attention/internal.js'
import type {CausalView} from '../../../causal-view.js'
import {hostLoops} from '../../../host-loops.js'
import {type AttentionArray, type AttentionInput, sizesOf} from '../../../inputs/attention-input.js'
import {loadInput} from '../../../inputs/load.js'
import {partsInView} from '../../../inputs/masked-tokens.js'
import {
  type HeadStatistics,
  inputStatistics,
  meanStatistics,
  type StatisticsOptions,
} from '../../../inputs/statistics.js'
import {viewOf} from '../../axes.js'
import {RAW_TARGET} from '../../method.js'
import type {ErrorSweepCell} from '../schema.js'
import {type ExactSums, exactSums} from './metrics.js'
import {projectedSquares} from './projected.js'
import {computeTruth, joinedTruth, type Truth, type Yardstick, yardsticks} from './truth.js'

/** Shared parts of cells that differ only in their estimator. */
export interface SweepContext {
  /** Queries and keys times the cell's scale. */
  input: AttentionInput
  /** beta: that of the cell, else of the file, else `1/sqrt(D)`. */
  logitScale: number
  /** Of the rows that are judged, see `masked-tokens.ts`. */
  truth: Truth
  /** |target - softmax| / |softmax| over all of it. */
  distance: number
  /** The exact output's side of the metrics, and the error of averaging V: for every head of every batch element. */
  exactSums: readonly ExactSums[]
  yardsticks: readonly Yardstick[]
  /** Sum over judged tokens of |W_O exact|^2, where the input has an output projection. */
  projectedSquares: number | undefined
  /** Of canonical inputs: what the report shows. */
  statistics: HeadStatistics
}

/** Contexts are large; a sweep visits them one after the other. */
export const KEPT_CONTEXTS = 3
const contexts = new Map<string, {inputKey: string; made: Promise<SweepContext>}>()

/** What contexts that differ only in their target have in common. */
function inputKey(cell: ErrorSweepCell): string {
  const {input, layer, seq_len, scale, logit_scale, seed} = cell
  return JSON.stringify([input, layer, seq_len, scale, logit_scale, viewOf(cell), seed])
}

/** The context of a cell under a target, from the cache where it is there. */
export function contextOf(cell: ErrorSweepCell, target: ExactTarget): Promise<SweepContext> {
  const key = JSON.stringify([inputKey(cell), target])
  const known = contexts.get(key)
  if (known) return known.made
  const made = makeContext(cell, target)
  if (contexts.size >= KEPT_CONTEXTS) contexts.delete(contexts.keys().next().value!)
  contexts.set(key, {inputKey: inputKey(cell), made})
  made.catch(() => contexts.delete(key))
  return made
}

async function makeContext(cell: ErrorSweepCell, target: ExactTarget): Promise<SweepContext> {
  // first that of softmax, from which the distance is: asked for later, it would wait for this one as its sibling
  const softmax = isCanonicalSoftmax(target) ? undefined : await contextOf(cell, RAW_TARGET)
  const sibling = softmax ?? (await siblingOf(cell))
  const input = sibling?.input ?? (await scaledInput(cell))
  const view = viewOf(cell)
  const logitScale = cell.logit_scale ?? input.logitScale ?? input.query.shape[3] ** -0.5
  const options = {scale: 1, logitScale, ...view}
  const parts = Array.from(partsInView(input, view), part => {
    const {truth, entropies} = computeTruth(part, {target, logitScale, ...view})
    const {batch, heads, valueDim} = sizesOf(part)
    return {
      truth,
      exactSums: exactSums(truth.output, batch * heads, valueDim),
      yardsticks: yardsticks(part, truth.output, view),
      statistics: sibling ? undefined : inputStatistics(part, options, {entropies}),
    }
  })
  const truth = joinedTruth(parts.map(({truth}) => truth))
  const sums = parts.flatMap(part => part.exactSums)
  const squares = projectedSquares({input, exact: truth.output, exactSums: sums})
  hostLoops().release?.() // what the exact output took has no use for replicates
  return {
    input,
    logitScale,
    truth,
    distance: softmax ? relativeDistance(truth.output, softmax.truth.output) : 0,
    exactSums: sums,
    projectedSquares: squares,
    yardsticks: parts.flatMap(part => part.yardsticks),
    statistics: sibling?.statistics ?? meanStatistics(parts.flatMap(p => p.statistics ?? [])),
  }
}

/** How far a target is off softmax of the given queries and keys. */
function relativeDistance(output: Float64Array, softmax: Float64Array): number {
  let [squares, norm] = [0, 0]
  for (let i = 0; i < output.length; i++) {
    squares += (output[i]! - softmax[i]!) ** 2
    norm += softmax[i]! ** 2
  }
  return Math.sqrt(squares / norm)
}

/** The context of another target of the same input, where one is kept. */
function siblingOf(cell: ErrorSweepCell): Promise<SweepContext> | undefined {
  const wanted = inputKey(cell)
  return [...contexts.values()].find(({inputKey}) => inputKey === wanted)?.made
}

async function scaledInput(cell: ErrorSweepCell): Promise<AttentionInput> {
  const loaded = await unscaledInput(cell)
  const {query, key} = loaded
  return {...loaded, query: scaled(query, cell.scale), key: scaled(key, cell.scale)}
}

/** The input that was loaded last: cells of other scales and targets follow. */
let last: {key: string; input: Promise<AttentionInput>} | undefined

/** Queries, keys and values of a cell before they are scaled. */
export function unscaledInput({
  input: spec,
  layer,
  seq_len: seqLen,
  logit_scale: logitScale,
  seed,
}: Pick<
  ErrorSweepCell,
  'input' | 'layer' | 'seq_len' | 'logit_scale' | 'seed'
>): Promise<AttentionInput> {
  const key = JSON.stringify([spec, layer, seqLen, logitScale, seed])
  if (last?.key === key) return last.input
  last = undefined // before the next one takes its room
  const input = loadInput(spec, {seqLen, seed, extras: false, layer, logitScale})
  last = {key, input}
  input.catch(() => {
    if (last?.input === input) last = undefined
  })
  return input
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
  view: CausalView,
): SweepContext['statistics'] {
  if (own.inputs !== 'unit') return statistics
  const known = unitStatistics.get(input) ?? new Map<string, SweepContext['statistics']>()
  unitStatistics.set(input, known)
  const {inputScale, normEpsilon = 0} = own
  const name = JSON.stringify([inputScale, normEpsilon, view])
  let found = known.get(name)
  if (!found) {
    found = unitStatisticsOf(input, normEpsilon, {scale: inputScale, logitScale: 1, ...view})
    known.set(name, found)
  }
  return found
}

function unitStatisticsOf(
  input: AttentionInput,
  epsilon: number,
  options: StatisticsOptions,
): HeadStatistics {
  const parts = Array.from(partsInView(input, options), part => {
    const [query, key] = [normalized(part.query, epsilon), normalized(part.key, epsilon)]
    return inputStatistics({query, key}, options)
  })
  return meanStatistics(parts)
}

function scaled(array: AttentionArray, scale: number): AttentionArray {
  if (scale === 1) return array
  const data = array.data.slice()
  for (let i = 0; i < data.length; i++) data[i]! *= scale
  return {...array, data}
}

/** Every vector divided by its Euclidean norm plus epsilon; zero vectors stay zero. */
function normalized(array: AttentionArray, epsilon: number): AttentionArray {
  const dim = array.shape[3]
  const data = array.data.slice()
  for (let start = 0; start < data.length; start += dim) {
    let sum = 0
    for (let at = start; at < start + dim; at++) sum += data[at]! * data[at]!
    const length = Math.sqrt(sum) + epsilon
    if (sum > 0) for (let at = start; at < start + dim; at++) data[at]! /= length
  }
  return {...array, data}
}
