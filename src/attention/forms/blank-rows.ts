import type {AttendInputs} from './estimator.js'

/** Keys before that of the first query, of which it sees all. */
export function blankRows({
  query,
  key,
  causal,
  causalAlign,
}: Pick<AttendInputs, 'query' | 'key' | 'causal' | 'causalAlign'>): number {
  return causal && causalAlign === 'end' ? Math.max(0, key.shape[2] - query.shape[2]) : 0
}
