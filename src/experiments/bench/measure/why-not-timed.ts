import {type ResolvedMethod, unsupportedReason, whyNotDrawn} from '../../method.js'
import {LEAST_TOKENS} from '../fields/token-marks.js'
import type {BenchCell} from '../schema.js'

/** The stated reason why a cell is skipped, if it is. */
export function whyNotTimed(cell: BenchCell, method: ResolvedMethod): string | undefined {
  if (method.estimator.python && !cell.peer) {
    return 'runs in Python, where --peers torch times it: its time here would be that of copies between processes'
  }
  const decode = cell.mode === 'decode'
  if (decode && cell.seq_len < LEAST_TOKENS) return `needs at least ${LEAST_TOKENS} tokens`
  if (decode && cell.model && method.estimator.calibrates) {
    return 'takes statistics of tokens that a model has yet to make'
  }
  const missing = unsupportedReason(method, {causal: cell.causal, cross: false, decode})
  return missing ?? whyNotDrawn(cell, cell.head_dim)
}
