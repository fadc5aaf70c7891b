/** What timing the parts of a forward takes beside it, predicted. */
import type {CallShape} from '../../../attention/index.js'
import type {ResolvedMethod} from '../../method.js'

const FLOAT = 4

/** Bytes of what parts give, once kept for the next part and once made while one is timed. */
export function breakdownBytes({estimator, options}: ResolvedMethod, shape: CallShape): number {
  if (!estimator.parts) return 0
  const {batch, heads, keyLen, headDim, valueDim, numFeatures} = shape
  const perToken = 2 * estimator.featureDim(numFeatures, headDim, options) + 2 * valueDim + 1
  return 2 * FLOAT * batch * heads * keyLen * perToken
}

/** How many times longer a cell takes: its parts together take about as long as the whole, and run about as often. */
export function breakdownFactor({estimator}: ResolvedMethod): number {
  return estimator.parts ? 2 : 1
}
