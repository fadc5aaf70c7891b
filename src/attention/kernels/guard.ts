import * as tf from '@tensorflow/tfjs-core'
import {z} from 'zod'
import {describe, expected} from '../../errors.js'
import type {AttendResult} from '../types.js'
import type {LinearAttentionResult} from './index.js'
import {indicator, reciprocalOrZero} from './masking.js'

/**
 * What is done to a denominator before dividing by it. `none` divides as it is (a denominator of
 * exactly zero gives zero) · `add:E` adds E · `clamp:E` raises everything below E to E, negative
 * values included · `abs-clamp:E` takes max(|den|, E) · `nudge:E` adds 2E where |den| <= E.
 */
export const denominatorGuard = z
  .string()
  .regex(/^(none|(add|clamp|abs-clamp|nudge):\d+(\.\d+)?(e-?\d+)?)$/i, {
    error: 'none, add:E, clamp:E, abs-clamp:E or nudge:E with a positive number E',
  })

/** Divides numerator by guarded denominator and reports both the raw denominator and where the guard acted. */
export function normalize(
  {numerator, denominator}: LinearAttentionResult,
  guard: string,
): AttendResult & Required<Pick<AttendResult, 'denominator' | 'guarded'>> {
  const safe = guardDenominator(denominator, guard)
  const out = tf.mul(numerator, tf.expandDims(reciprocalOrZero(safe), -1)) as tf.Tensor4D
  const guarded = tf.cast(tf.notEqual(safe, denominator), 'float32') as tf.Tensor3D
  return {out, denominator, guarded}
}

/** The policies that take a bound, and the one that does not. */
const POLICIES = ['none', 'add', 'clamp', 'abs-clamp', 'nudge'] as const

/** A guard policy taken apart. */
export interface Guard {
  policy: (typeof POLICIES)[number]
  /** 0 for `none`. */
  bound: number
}

/** @throws {BAD_OPTION} for anything but {@link denominatorGuard} allows */
export function parseGuard(guard: string): Guard {
  const [name, text = '0'] = String(guard).toLowerCase().split(':')
  const policy = POLICIES.find(known => known === name)
  if (!policy || !denominatorGuard.safeParse(guard).success) {
    throw expected('BAD_OPTION', 'denGuard', 'a guard policy', describe(guard))
  }
  return {policy, bound: Number(text)}
}

/** Applies a guard policy to `[B, H, L]` denominators. */
export function guardDenominator(denominator: tf.Tensor3D, guard: string): tf.Tensor3D {
  const {policy, bound} = parseGuard(guard)
  switch (policy) {
    case 'none':
      return denominator
    case 'add':
      return tf.add(denominator, bound)
    case 'clamp':
      return tf.maximum(denominator, bound)
    case 'abs-clamp':
      return tf.maximum(tf.abs(denominator), bound)
    case 'nudge': {
      const small = indicator(denominator, value => tf.lessEqual(tf.abs(value), bound))
      return tf.add(denominator, tf.mul(small, 2 * bound))
    }
  }
}
