import type {ExactTarget} from '../../../attention/index.js'
import {matchedTarget, RAW_TARGET, type ResolvedMethod} from '../../method.js'
import type {ErrorSweepCell} from '../schema.js'

/** What a cell is held against. */
export function targetOf(
  {target}: Pick<ErrorSweepCell, 'target'>,
  method: ResolvedMethod,
): ExactTarget {
  return (target === 'matched' ? matchedTarget(method) : undefined) ?? RAW_TARGET
}
