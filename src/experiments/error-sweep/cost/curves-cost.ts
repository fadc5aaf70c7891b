/** What the error that theory predicts takes, as operations of the backend that take as long. */
import type {MeteredBackend} from '../../../attention/internal.js'
import type {BackendChoice} from '../../../backends/index.js'
import type {ForwardShape} from '../../method.js'
import {hostCost, loopCost} from '../../rates.js'
import {drawnUpTo, EXPONENTIAL, queriesFor, rowsFor, rowWork, SEEDS} from '../measure/curve-plan.js'

/** Rows of the integral for each query: two of about six kinds. */
const INTEGRAL_ROWS = 12
/** What a row counts to a query: some 25 steps of an integral, each of two exponentials and a sum of values; half of it cold. */
const STEPS = 12_000

/** @param backend - what runs @param choice - what the plan says, whose rate predicted times go by */
export function curvesCost(
  numFeatures: number,
  shape: ForwardShape,
  {backend, choice}: {backend: MeteredBackend; choice: BackendChoice},
): number {
  const {batch, heads, headDim, valueDim} = shape
  const most = drawnUpTo(numFeatures, shape)
  const queries = batch * heads * queriesFor(shape)
  const rows = rowsFor(most, shape)
  const votes = 2 * rows * rowWork(shape)
  const judged = 2 * queries * SEEDS * rows * (headDim + valueDim + EXPONENTIAL)
  const integrals = (queries * SEEDS * INTEGRAL_ROWS * queriesFor(shape) * STEPS) / 16
  const rest = hostCost(judged + integrals, choice)
  return rest + (backend === 'native' ? loopCost(votes, choice) : hostCost(votes, choice))
}
