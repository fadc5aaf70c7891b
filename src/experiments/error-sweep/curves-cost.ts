/** Which cells have the error that theory predicts, and what it takes, as operations of the backend that take as long. */
import type {MeteredBackend} from '../../attention/internal.js'
import type {BackendChoice} from '../../backends/index.js'
import type {DrawPoint} from '../axes.js'
import {type ForwardShape, matchedTarget, type ResolvedMethod} from '../method.js'
import {hostCost, loopCost} from '../rates.js'
import type {ErrorSweepCell} from './schema.js'

/** Rows of other distributions have other errors; nothing is known of how far. */
const COVERED: readonly DrawPoint['projection'][] = ['iid', 'orth']

/** Whether theory covers rows of a projection. */
export function coversRows(projection: DrawPoint['projection']): boolean {
  return COVERED.includes(projection)
}

/** Whether theory may have curves for a method, and for what it is compared with. */
export function mayHaveCurves(
  {target}: Pick<ErrorSweepCell, 'target'>,
  method: ResolvedMethod,
): boolean {
  return (
    method.estimator.positiveHead !== undefined &&
    (target === 'matched' || matchedTarget(method) === undefined)
  )
}

/** Queries of each head, over all sequences, that stand for the others; and of each sequence at least. */
const QUERIES = 24
const LEAST_QUERIES = 8
/** Multiply-adds that curves may take, about a tenth of a second; beyond, fewer queries do. */
const BUDGET = 1.5e8
/** Random rows for each query. */
const ROWS = 6

type Sizes = Pick<ForwardShape, 'batch' | 'heads' | 'keyLen' | 'headDim' | 'valueDim'>

/** Queries that stand for those of each head: each has rows, each of them against all keys and then against each query. */
export function queriesFor({batch, heads, keyLen, headDim, valueDim}: Sizes): number {
  const wanted = Math.max(LEAST_QUERIES, Math.ceil(QUERIES / batch))
  const each = ROWS * keyLen * (headDim + valueDim + 40)
  return Math.min(wanted, Math.max(LEAST_QUERIES, Math.floor(BUDGET / (batch * heads * each))))
}

/** What a logit's exponentials count, of either level. */
const EXPONENTIALS = 80
/** What a row counts to a query: some 25 steps of an integral, each of two exponentials and a sum of values; half of it cold. */
const STEPS = 12_000

/** @param backend - what runs @param choice - what the plan says, whose rate predicted times go by */
export function curvesCost(
  shape: ForwardShape,
  {backend, choice}: {backend: MeteredBackend; choice: BackendChoice},
): number {
  const {batch, heads, keyLen, headDim, valueDim} = shape
  const queries = queriesFor(shape)
  const rows = ROWS * queries
  const pair = 4 * headDim + 2 * valueDim + EXPONENTIALS
  const votes = batch * heads * rows * keyLen * pair
  const exact = batch * heads * queries * keyLen * pair
  const integrals = batch * heads * queries * rows * STEPS
  const rest = hostCost(exact + integrals, choice)
  return rest + (backend === 'native' ? loopCost(votes, choice) : hostCost(votes, choice))
}
