/** The effect by which a swap orders its rows: one number for each kind of model. */
import {
  type Answer,
  byCrossedDifference,
  byOverlap,
  crossedRatio,
  reaches,
} from '../../../answers/index.js'
import {groupBy} from '../../../report/groups.js'
import {MISSING, significant} from '../../../report/numbers.js'
import type {Estimate} from '../../../stats/index.js'
import {YARDSTICK} from '../../averaging.js'
import {type CompletedSwap, type Effect, lossOf} from '../schema.js'

/** What is lost, the less the better. */
interface Damage {
  effect: Effect
  /** Column of tables. */
  title: string
  /** In a sentence: `nats per token`. */
  unit: string
  /** Axis of figures. */
  axis: string
  /** With its unit, in a sentence: `0.12 nats per token [0.10, 0.14]`. */
  text: string
}

const UNITS = {
  causal: {
    title: 'nats/token',
    unit: 'nats per token',
    axis: 'nats per token more than the original',
  },
  encoder: {title: '1 - cosine', unit: 'of cosine', axis: '1 - cosine to the original embedding'},
}

/** Nats added per token, or 1 - cosine of embeddings. */
export function damageOf({result}: CompletedSwap): Damage {
  const effect = lossOf(result)
  const causal = result.causal_effects !== null
  return {...unitsOf(causal), effect, text: damageText(effect, causal)}
}

/** How losses of a causal model, or of an encoder, are called. */
export function unitsOf(causal: boolean) {
  return UNITS[causal ? 'causal' : 'encoder']
}

/** `0.12 nats per token [0.10, 0.14]`, or `0.12 of cosine [0.10, 0.14]`. */
export function damageText({mean, low, high}: Effect, causal: boolean): string {
  const ends = low === null || high === null ? '' : ` [${two(low)}, ${two(high)}]`
  return `${two(mean)} ${unitsOf(causal).unit}${ends}`
}

/** Loss of a row over that of another on the same draws and texts; `undefined` where records keep no parts, or too few for an interval. */
export function lossRatio(row: CompletedSwap, other: CompletedSwap): Estimate | undefined {
  return crossedRatio(lossesOf(row), lossesOf(other))
}

/** What a row loses, compared with another: on the same draws and texts, or where records keep no parts, by both intervals. */
export function comparedLoss(row: CompletedSwap, other: CompletedSwap): Answer {
  return (
    byCrossedDifference(lossesOf(row), lossesOf(other)) ??
    byOverlap(damageOf(row).effect, damageOf(other).effect)
  )
}

/** Whether no loss was measured: the interval reaches down to 0. */
export function losesNothing(row: CompletedSwap): boolean {
  return reaches(damageOf(row).effect, 0)
}

/** Losses by draws, and in each by groups of texts. */
function lossesOf({result: {parts}}: CompletedSwap): number[][] {
  return groupBy(parts ?? [], ({draw}) => String(draw)).map(own =>
    own.map(({damage}) => damage ?? Number.NaN),
  )
}

/** Layers with exchanged attention: with a budget those that were chosen. */
export function exchangedLayers({cell, result}: CompletedSwap): readonly number[] {
  return result.chosen_layers ?? cell.layers
}

/** Hidden states that agree so well differ by rounding: float32 over all layers. */
const ROUNDING = 1e-4

/** Whether the method computes what attention does: with the weights of the original its hidden states stay. */
export function isExact(row: CompletedSwap): boolean {
  const {cell, result} = row
  const off = cell.original ? result.attention_errors?.rel_l2 : result.hidden_error.at(-1)
  const exchanged = exchangedLayers(row).length > 0
  return exchanged && cell.num_features === null && off != null && off < ROUNDING
}

export function isAverage({cell}: CompletedSwap): boolean {
  return cell.method === YARDSTICK
}

/** Neither an exact form nor a yardstick. */
export function isEstimate(row: CompletedSwap): boolean {
  return !isAverage(row) && row.cell.method !== 'identity' && !isExact(row)
}

/** Rows without exact forms, unless there are no others. */
export function withoutExact(rows: readonly CompletedSwap[]): CompletedSwap[] {
  const others = rows.filter(row => !isExact(row))
  return others.length > 0 ? others : [...rows]
}

/** Orders rows: what has no number stands last. */
export function byDamage(a: CompletedSwap, b: CompletedSwap): number {
  const [x, y] = [a, b].map(row => damageOf(row).effect.mean ?? Number.POSITIVE_INFINITY)
  return x! === y! ? 0 : x! - y!
}

/** `0.12 [0.10, 0.14]`. */
export function interval({mean, low, high}: Effect): string {
  return low === null || high === null ? two(mean) : `${two(mean)} [${two(low)}, ${two(high)}]`
}

/** Two significant digits. */
export function two(value: number | null): string {
  return significant(value, 2)
}

/** `94 %`. */
export function share({mean}: Effect): string {
  return mean === null ? MISSING : `${two(100 * mean)} %`
}
