/** Which keys the queries of causal attention see. */

/** Which tokens fewer causal queries than keys are: the first ones or the last ones. */
export const CAUSAL_ALIGNS = ['start', 'end'] as const
export type CausalAlign = (typeof CAUSAL_ALIGNS)[number]

/** Whether attention is causal, and where its queries stand. */
export interface CausalView {
  /** A query sees the keys up to its own place only. */
  causal: boolean
  /** Which tokens fewer queries than keys are. Default: the first ones. */
  causalAlign?: CausalAlign | undefined
}

/** L and S. */
interface Lengths {
  queryLen: number
  keyLen: number
}

/** How many keys come before that of the first query, where queries are the last tokens. */
export function keysBefore({causal, causalAlign}: CausalView, {queryLen, keyLen}: Lengths): number {
  return causal && causalAlign === 'end' ? Math.max(0, keyLen - queryLen) : 0
}

/** How many keys a query sees: the first ones. */
export function keysInView(view: CausalView, lengths: Lengths, row: number): number {
  const {keyLen} = lengths
  return view.causal ? Math.min(row + 1 + keysBefore(view, lengths), keyLen) : keyLen
}
