/** What a sweep computes in addition to its estimators, as operations of the backend that take the same time. */
import type {ExactTarget} from '../../../attention/index.js'
import {hasLoopForm, isCanonicalSoftmax, type MeteredBackend} from '../../../attention/internal.js'
import type {BackendChoice} from '../../../backends/index.js'
import {ENTROPY_BUDGET} from '../../../inputs/statistics.js'
import type {ForwardShape} from '../../method.js'
import {backendCost, hostCost, loopCost, timeCost} from '../../rates.js'
import {sampledRows} from '../measure/row-sample.js'
import {FLOAT64_BUDGET} from '../measure/truth.js'

/** Sizes of a call and which of its pairs are in view. */
type PairShape = ForwardShape & {causal: boolean}

/** What an exponential or a logarithm counts in host loops. */
const TRANSCENDENTAL = 20
/** What the distance of one weight from the exact one counts: a logarithm, and reading both. */
const DISTANCE = 50

function pairsOf({batch, heads, queryLen, keyLen, causal}: PairShape): number {
  return batch * heads * queryLen * keyLen * (causal ? 0.5 : 1)
}

/**
 * Exact output and entropies of a context, which the first of its cells computes.
 *
 * @param backend - what runs @param choice - backend of the plan: predicted times use its rate
 */
export function contextCost(
  shape: PairShape,
  target: ExactTarget,
  {backend, choice}: {backend: MeteredBackend; choice: BackendChoice},
): number {
  const pairs = pairsOf(shape)
  const work = pairs * (shape.headDim + shape.valueDim)
  const exact = 2 * work + pairs * TRANSCENDENTAL
  const entropy = pairs * (2 * shape.headDim + TRANSCENDENTAL)
  const canonical = isCanonicalSoftmax(target)
  if (backend === 'native') {
    if (canonical) return loopCost(exact, choice)
    const output = hasLoopForm(target) ? loopCost(exact, choice) : hostCost(exact, choice)
    return output + loopCost(entropy, choice)
  }
  // beyond the budgets: float32 tiles of the backend itself, and some of the rows
  const square = shape.causal ? 2 * work : work // the budget does not count what a mask hides
  const tiled = canonical && square > FLOAT64_BUDGET
  const output = tiled ? backendCost(exact, {backend, choice}) : hostCost(exact, choice)
  const share = Math.min(1, ENTROPY_BUDGET / (pairs * shape.headDim))
  return output + hostCost(share * entropy, choice)
}

/** Seconds that a replicate takes at any size: its draws, its call, its place among the others. */
const REPLICATE_SECONDS = 1e-3
/** Seconds for each entry of an output that is held against the exact one, its queries, keys and values read. */
const ENTRY_SECONDS = {native: 4e-9, others: 2e-8}

interface Judging {
  replicates: number
  backend: MeteredBackend
  choice: BackendChoice
}

/** What replicates take in addition to the operations of their calls. */
export function judgingCost(
  {batch, heads, queryLen, valueDim}: ForwardShape,
  {replicates, backend, choice}: Judging,
): number {
  const entries = batch * heads * queryLen * (valueDim + 1)
  const each = ENTRY_SECONDS[backend === 'native' ? 'native' : 'others']
  return timeCost(replicates * (REPLICATE_SECONDS + entries * each), choice)
}

/** What their errors after an output projection take: a product, and a pass over its result. @param width - 0: there is none */
export function projectingCost(
  {batch, heads, queryLen, valueDim}: ForwardShape,
  width: number,
  {replicates, backend, choice}: Judging,
): number {
  const tokens = batch * queryLen
  const each = ENTRY_SECONDS[backend === 'native' ? 'native' : 'others']
  const products = backendCost(2 * replicates * tokens * heads * valueDim * width, {
    backend,
    choice,
  })
  return products + timeCost(replicates * tokens * width * each, choice)
}

/** The same of the rows of some queries: exact weights once, and a distance from them per replicate. */
export function sampledRowsCost(
  shape: PairShape,
  {replicates, queries}: {replicates: number; queries: number},
  choice: BackendChoice,
): number {
  const pairs = sampledRows(shape, queries) * shape.keyLen
  return hostCost(pairs * (2 * shape.headDim + TRANSCENDENTAL + replicates * DISTANCE), choice)
}

/** Exact weights in a number of passes, and a distance from them per replicate. */
export function rowMetricsCost(
  shape: PairShape,
  {replicates, passes}: {replicates: number; passes: number},
  choice: BackendChoice,
): number {
  const pairs = pairsOf(shape)
  const weights = pairs * (2 * shape.headDim + TRANSCENDENTAL)
  return hostCost(passes * weights + replicates * pairs * DISTANCE, choice)
}
