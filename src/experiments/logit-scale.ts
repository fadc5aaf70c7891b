/** The scale of logits, where it is another than usual, and what goes by it. */
import {significant} from '../report/numbers.js'

/** What a result says of it. */
interface Scaled {
  /** beta: logits are beta q.k; `null`: not recorded. */
  logit_scale: number | null
  head_dim: number
}

/** The scale, unless it is 1/sqrt(D). */
export function unusualScale({logit_scale: scale, head_dim}: Scaled): number | undefined {
  const usual = head_dim ** -0.5
  const same = scale === null || Math.abs(scale - usual) < ROUNDED * usual
  return same ? undefined : scale
}

/** Relative difference up to which a scale is the usual one: files round it. */
const ROUNDED = 1e-6

/** The size of logits by queries and keys: `|q+k|^2/sqrt(D)`, `0.300 |q+k|^2`. */
export function logitSizeName(result: Scaled): string {
  const beta = unusualScale(result)
  return beta === undefined ? '|q+k|^2/sqrt(D)' : `${significant(beta)} |q+k|^2`
}
