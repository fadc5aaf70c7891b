/** Heads of an input as reports have them. */
import {spanOf} from '../../../report/groups.js'
import {roundNumber} from '../../../report/numbers.js'
import {listed} from '../../../report/words.js'
import {viewOf} from '../../axes.js'
import {causalLabel, cornerText, inputsLabel} from '../../labels.js'
import {logitSizeName} from '../../logit-scale.js'
import type {CompletedInputs, InputsRecord} from '../schema.js'

export type HeadRow = CompletedInputs['result']['per_head'][number] & {layer: number | undefined}

function completed(records: readonly InputsRecord[]): CompletedInputs[] {
  return records.filter(record => record.status === 'completed')
}

/** The heads of all layers, in their order. */
export function headRows(records: readonly InputsRecord[]): HeadRow[] {
  return completed(records).flatMap(({cell: {layer}, result}) =>
    result.per_head.map(head => ({layer, ...head})),
  )
}

/** What was looked at: `minilm-layer5.safetensors: 12 heads, L=256, S=256, D=32, bidirectional`. @param records - at least one */
export function inputTitle(records: readonly InputsRecord[]): string {
  const {cell, ...first} = records[0]!
  const corner =
    first.status === 'completed'
      ? cornerText({queryLen: first.result.query_len, keyLen: first.result.key_len}, viewOf(cell))
      : ''
  const layers = new Set(records.flatMap(({cell}) => cell.layer ?? []))
  const sizes = new Set(
    completed(records).map(
      ({result: {heads, query_len, key_len, head_dim}}) =>
        `${heads} heads, L=${query_len}, S=${key_len}, D=${head_dim}`,
    ),
  )
  const parts = [
    ...(layers.size > 1 ? [`${layers.size} layers`] : []),
    ...(sizes.size > 1 ? ['of different sizes'] : sizes),
    causalLabel(cell.causal, null) + corner,
  ]
  return `${inputsLabel(records.map(({cell}) => cell.input))}: ${parts.join(', ')}`
}

/** The layers that failed, and why. */
export function failures(records: readonly InputsRecord[]): string[] {
  return records.flatMap(({cell: {layer}, ...record}) =>
    record.status === 'failed'
      ? [`${layer === undefined ? '' : `layer ${layer} `}failed: ${record.error.message}`]
      : [],
  )
}

/** Mean |x+y|^2 that no trained model has. */
const HUGE = 1000

/** Whether logits are so large that their scale is in doubt. */
export function isHuge({statistics}: HeadRow): boolean {
  return statistics.sum_norm2 >= HUGE
}

/**
 * Decimal logarithm of the M from which on the relative variance of a positive feature, about `exp(|x+y|^2) / M`, is below 1 for 95 % of the
 * attention.
 */
function log10Features({attended_sum_norm2: norm}: HeadRow): number[] {
  return norm === null ? [] : [norm / Math.LN10]
}

/** That M, or from the least to the largest: `770 to 34,000`; `undefined` in records without. */
export function featuresSpan(heads: readonly HeadRow[], between = ' to '): string | undefined {
  const logs = heads.flatMap(log10Features)
  if (logs.length === 0) return undefined
  const [least, most] = spanOf(logs).map(roundNumber)
  return least === most ? least! : `${least}${between}${most}`
}

/** Keys over which a row of exact attention spreads its weight: exp of its entropy. */
export function keysOf({statistics}: HeadRow): number {
  return Math.exp(statistics.entropy_nats)
}

/** The mean |x+y|^2 by queries and keys. */
export function productName(records: readonly InputsRecord[]): string {
  return listed([...new Set(completed(records).map(({result}) => logitSizeName(result)))], 2)
}
