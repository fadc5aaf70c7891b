/** Which cells have the error that theory predicts, and by how many draws. */
import type {DrawPoint} from '../../axes.js'
import {type ForwardShape, matchedTarget, type ResolvedMethod} from '../../method.js'
import {COUNTS} from '../curve.js'
import type {ErrorSweepCell} from '../schema.js'

/** Rows of other distributions have other errors; nothing is known of how far. */
const COVERED: readonly DrawPoint['projection'][] = ['iid', 'orth']

export function coversRows(projection: DrawPoint['projection']): boolean {
  return COVERED.includes(projection)
}

/** Whether theory may have curves for a method, and for what it is compared with. */
export function mayHaveCurves(
  {target}: Pick<ErrorSweepCell, 'target'>,
  method: ResolvedMethod,
): boolean {
  const {positiveHead, cosineHead, proposalHead} = method.estimator
  return (
    (positiveHead ?? cosineHead ?? proposalHead) !== undefined &&
    !method.tuned &&
    (target === 'matched' || matchedTarget(method) === undefined)
  )
}

/** Independent predictions that are held against each other. */
export const SEEDS = 2

/** Queries of each head, over all sequences, that stand for the others; and of each sequence at least. */
const QUERIES = 64
const LEAST_QUERIES = 16

type Sizes = Pick<ForwardShape, 'batch' | 'heads' | 'queryLen' | 'keyLen' | 'headDim' | 'valueDim'>

/** Queries that stand for those of each head of a sequence. */
export function queriesFor({batch}: Pick<Sizes, 'batch'>): number {
  return Math.max(LEAST_QUERIES, Math.ceil(QUERIES / batch))
}

/** Up to where errors are drawn: the first of these that is no less than M, as far as it is affordable. */
const DRAWN = [256, 1024, 4096]
/** Fewest rows of a seed, as far as they are affordable; and of any. */
const LEAST_ROWS = 1024
const ANY_ROWS = 16
/** Of sines and cosines, which go on from there by the delta method: blocks of orthogonal rows should be whole. */
const ANY_COSINES = 128
/** Multiply-adds that rows may take, of all heads together: a second or two by the loop of `native`. */
const BUDGET = 3e10
/** The same of sines and cosines, for which there is no such loop; nothing is predicted where the fewest rows take more. */
const COSINE_BUDGET = 1.5e8
/** The same of proposals, at every M up to the number of tokens, by a loop of the backend and without. */
const [PROPOSAL_BUDGET, SLOW_PROPOSAL_BUDGET] = [1e10, 1e9]
/** Draws of C proposals: by this number of rows, within limits; the more rows, the less outputs of draws differ. */
const [ROWS_OF_DRAWS, LEAST_DRAWS, MOST_DRAWS] = [1024, 8, 32]

/** How often C proposals are drawn, an even number. */
export function drawsOf(count: number): number {
  const wanted = 2 * Math.ceil(ROWS_OF_DRAWS / count / 2)
  return Math.min(MOST_DRAWS, Math.max(LEAST_DRAWS, wanted))
}

/** What an exponential counts, in multiply-adds. */
export const EXPONENTIAL = 20

/** What a row of each seed says of all keys. */
export function rowWork({
  batch,
  heads,
  keyLen,
  headDim,
  valueDim,
}: Omit<Sizes, 'queryLen'>): number {
  return SEEDS * batch * heads * keyLen * (headDim + valueDim + EXPONENTIAL)
}

/** Which features rows make. */
type Features = Pick<ResolvedMethod, 'estimator'>

export function isCosine({estimator}: Features): boolean {
  return estimator.cosineHead !== undefined
}

export function hasProposals({estimator}: Features): boolean {
  return estimator.proposalHead !== undefined
}

/** Every M that proposals are drawn at: those below the number of tokens, and that or the next one. */
export function proposalCounts({queryLen, keyLen}: Pick<Sizes, 'queryLen' | 'keyLen'>): number[] {
  const tokens = Math.min(queryLen, keyLen)
  return COUNTS.filter((count, k) => k === 0 || count < 2 * tokens)
}

export function proposalRows(sizes: Pick<Sizes, 'queryLen' | 'keyLen'>): number {
  return proposalCounts(sizes).reduce((sum, count) => sum + drawsOf(count) * count, 0)
}

/** Whether a prediction takes little time next to the measurement. @param hasLoop - the backend has one for softmax of rows */
export function isAffordable(sizes: Sizes, method: Features, hasLoop: boolean): boolean {
  if (hasProposals(method)) {
    const budget = hasLoop ? PROPOSAL_BUDGET : SLOW_PROPOSAL_BUDGET
    return (proposalRows(sizes) * rowWork(sizes)) / SEEDS <= budget
  }
  return !isCosine(method) || ANY_COSINES * rowWork(sizes) <= COSINE_BUDGET
}

/** Rows of each seed that are affordable: a power of two. */
function affordableRows(sizes: Sizes, method: Features): number {
  const [budget, least] = isCosine(method) ? [COSINE_BUDGET, ANY_COSINES] : [BUDGET, ANY_ROWS]
  return Math.max(least, 2 ** Math.floor(Math.log2(budget / rowWork(sizes))))
}

/** The largest M that is drawn for the prediction at an M. It depends on sizes and features alone. */
export function drawnUpTo(numFeatures: number, sizes: Sizes, method: Features): number {
  const wanted = DRAWN.find(most => numFeatures <= most) ?? DRAWN.at(-1)!
  return Math.min(wanted, affordableRows(sizes, method))
}

/** Rows of each seed. @param most - largest M that is drawn */
export function rowsFor(most: number, sizes: Sizes, method: Features): number {
  return Math.max(most, Math.min(LEAST_ROWS, affordableRows(sizes, method)))
}
