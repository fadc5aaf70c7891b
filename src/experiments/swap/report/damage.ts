/** The effect by which a swap orders its rows: one number for each kind of model. */
import {MISSING, significant} from '../../../report/numbers.js'
import type {CompletedSwap, Effect} from '../schema.js'

/** What is lost, the less the better. */
export interface Damage {
  effect: Effect
  /** Column of tables, axis of figures. */
  title: string
  /** With its unit, in a sentence: `0.12 nats per token more [0.10, 0.14]`. */
  text: string
}

/** Nats added per token, or 1 - cosine of embeddings. */
export function damageOf({result}: CompletedSwap): Damage {
  const {causal_effects, encoder_effects} = result
  if (causal_effects) {
    const effect = causal_effects.nats_added
    return {effect, title: 'nats/token', text: withUnit(effect, 'nats per token')}
  }
  const effect = encoder_effects!.cosine_loss
  return {effect, title: '1 - cosine', text: withUnit(effect, 'of cosine')}
}

function withUnit({mean, low, high}: Effect, unit: string): string {
  const ends = low === null || high === null ? '' : ` [${two(low)}, ${two(high)}]`
  return `${two(mean)} ${unit}${ends}`
}

/** Hidden states that agree so well differ by rounding: float32 over all layers. */
const ROUNDING = 1e-4

/** Whether the method computes what the model does. */
export function isExact({cell, result}: CompletedSwap): boolean {
  const last = result.hidden_error.at(-1) ?? null
  return cell.num_features === null && last !== null && last < ROUNDING
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

function two(value: number | null): string {
  return significant(value, 2)
}

/** `94 %`. */
export function share({mean}: Effect): string {
  return mean === null ? MISSING : `${significant(100 * mean, 2)} %`
}
