import {keysBefore} from '../../causal-view.js'
import type {AttendInputs} from './estimator.js'

/** How many keys come before that of the first query. It may use each of them. */
export function blankRows({
  query,
  key,
  causal,
  causalAlign,
}: Pick<AttendInputs, 'query' | 'key' | 'causal' | 'causalAlign'>): number {
  return keysBefore({causal, causalAlign}, {queryLen: query.shape[2], keyLen: key.shape[2]})
}
