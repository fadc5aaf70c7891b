/** Heads of an input as reports have them. */
import {spanOf} from '../../../report/groups.js'
import {roundNumber} from '../../../report/numbers.js'
import {listed} from '../../../report/words.js'
import {causalLabel, inputsLabel} from '../../labels.js'
import {logitSizeName} from '../../logit-scale.js'
import type {CompletedInputs, InputsRecord} from '../schema.js'

/** A head with the layer that it is of. */
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
  const {causal} = records[0]!.cell
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
    causalLabel(causal, null),
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

/** Decimal logarithm of the M at which the relative variance of a positive feature, about `exp(|x+y|^2) / M`, is 1. */
function log10Features({statistics}: HeadRow): number {
  return statistics.sum_norm2 / Math.LN10
}

/** That M, or from the least to the largest: `770 to 34,000`. */
export function featuresSpan(heads: readonly HeadRow[], between = ' to '): string {
  const [least, most] = spanOf(heads.map(log10Features)).map(roundNumber)
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
