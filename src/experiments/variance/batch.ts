/** The calls in which draws of a variance cell are made: what they compute and what their plan predicts. */
import type {CallShape} from '../../attention/index.js'
import type {VarianceCell} from './schema.js'

/** Draws estimated together, as heads of one tensor. */
export const DRAWS_AT_ONCE = 64

/** One token on each side, one head per draw. */
export function batchShape(
  {num_features, head_dim}: Pick<VarianceCell, 'num_features' | 'head_dim'>,
  heads: number,
): CallShape {
  return {
    batch: 1,
    heads,
    queryLen: 1,
    keyLen: 1,
    headDim: head_dim,
    valueDim: 1,
    numFeatures: num_features,
    causal: false,
  }
}
