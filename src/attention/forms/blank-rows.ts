import type {AttendInputs} from './estimator.js'

/** How many keys come before that of the first query. It may use each of them. */
export function blankRows({
  query,
  key,
  causal,
  causalAlign,
}: Pick<AttendInputs, 'query' | 'key' | 'causal' | 'causalAlign'>): number {
  return causal && causalAlign === 'end' ? Math.max(0, key.shape[2] - query.shape[2]) : 0
}
