/** The effect by which a swap orders its rows: one number for each kind of model. */
import {significant, withInterval} from '../../../report/numbers.js'
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
    const size = interval(effect)
    return {effect, title: 'nats/token', text: `${size} nats per token`}
  }
  const effect = encoder_effects!.cosine_loss
  return {effect, title: '1 - cosine', text: `${interval(effect)} of cosine`}
}

/** Orders rows: what has no number stands last. */
export function byDamage(a: CompletedSwap, b: CompletedSwap): number {
  const [x, y] = [a, b].map(row => damageOf(row).effect.mean ?? Number.POSITIVE_INFINITY)
  return x! === y! ? 0 : x! - y!
}

/** `0.12 [0.10, 0.14]`. */
export function interval({mean, low, high}: Effect): string {
  return withInterval(mean, low, high)
}

/** `94 %`. */
export function share({mean}: Effect): string {
  return mean === null ? '-' : `${significant(100 * mean, 2)} %`
}
