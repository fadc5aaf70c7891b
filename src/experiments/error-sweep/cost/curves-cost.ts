/** What the error that theory predicts takes, as operations of the backend that take as long. */
import type {MeteredBackend} from '../../../attention/internal.js'
import type {BackendChoice} from '../../../backends/index.js'
import type {SharedCost} from '../../experiment.js'
import type {ForwardShape, ResolvedMethod} from '../../method.js'
import {hostCost, loopCost} from '../../rates.js'
import {
  coversRows,
  drawnUpTo,
  EXPONENTIAL,
  hasProposals,
  isAffordable,
  isCosine,
  mayHaveCurves,
  proposalRows,
  queriesFor,
  rowsFor,
  rowWork,
  SEEDS,
} from '../measure/curve-plan.js'
import type {ErrorSweepCell} from '../schema.js'

/** Rows of the integral for each query: two of about six kinds. */
const INTEGRAL_ROWS = 12
/** What a row counts to a query: some 25 steps of an integral, each of two exponentials and a sum of values; half of it cold. */
const STEPS = 12_000

/**
 * What cells of one block share if their rows are drawn alike, up to the same M.
 *
 * @param rates - `backend`: what runs; `choice`: backend of the plan, for predicted times
 * @returns `undefined` for a cell without predictions
 */
export function curvesCost(
  cell: Pick<ErrorSweepCell, 'target' | 'projection' | 'num_features' | 'predictions'>,
  method: ResolvedMethod,
  shape: ForwardShape,
  {backend, choice}: {backend: MeteredBackend; choice: BackendChoice},
): SharedCost | undefined {
  const {projection, num_features, predictions} = cell
  const hasLoop = backend === 'native'
  if (!predictions || !mayHaveCurves(cell, method) || !isAffordable(shape, method, hasLoop))
    return undefined
  const {batch, heads, headDim, valueDim} = shape
  if (hasProposals(method)) {
    const rows = proposalRows(shape)
    const queries = batch * heads * queriesFor(shape)
    const read = 2 * queries * rows * (headDim + valueDim + EXPONENTIAL)
    const votes = (2 * rows * rowWork(shape)) / SEEDS
    const loops = hasLoop ? loopCost(votes, choice) : hostCost(votes, choice)
    return {id: 'curves', cost: hostCost(read, choice) + loops}
  }
  if (!coversRows(projection)) return undefined
  const most = drawnUpTo(num_features ?? 0, shape, method)
  const queries = batch * heads * queriesFor(shape)
  const rows = rowsFor(most, shape, method)
  const votes = 2 * rows * rowWork(shape)
  const judged = 2 * queries * SEEDS * rows * (headDim + valueDim + EXPONENTIAL)
  // sines and cosines are drawn on the host, twice what an exponential takes, and have no integral
  if (isCosine(method)) {
    return {id: `curves ${projection} ${most}`, cost: hostCost(2 * votes + judged, choice)}
  }
  const integrals = (queries * SEEDS * INTEGRAL_ROWS * queriesFor(shape) * STEPS) / 16
  const rest = hostCost(judged + integrals, choice)
  const loops = hasLoop ? loopCost(votes, choice) : hostCost(votes, choice)
  return {id: `curves ${projection} ${most}`, cost: rest + loops}
}
