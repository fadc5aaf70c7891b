/** What is done to a denominator before dividing by it, and the division. */

import {z} from 'zod'
import {describe, expected} from '../../errors.js'
import {tf} from '../../tf.js'
import type {AttendResult} from '../types.js'
import {constantOf, indicator} from './masking.js'

/** The policies that take a bound, and the one that does not. */
const POLICIES = ['none', 'add', 'clamp', 'abs-clamp', 'nudge'] as const

/**
 * What is done to a denominator before dividing by it. `none` divides as it is (a denominator of
 * exactly zero gives zero) · `add` adds the bound E · `clamp` raises everything below E to E, negative
 * values included · `abs-clamp` takes max(|den|, E) · `nudge` adds 2E where |den| <= E.
 */
export interface Guard {
  policy: (typeof POLICIES)[number]
  /** 0 for `none`. */
  bound: number
}

/** The guard that leaves denominators as they are. */
export const NO_GUARD: Guard = {policy: 'none', bound: 0}

/** A {@link Guard} as options, plans and labels spell it: `none`, or policy and bound as `clamp:1e-2`. */
export const denominatorGuard = z
  .string()
  .regex(/^(none|(add|clamp|abs-clamp|nudge):\d+(\.\d+)?(e-?\d+)?)$/i, {
    error: 'none, add:E, clamp:E, abs-clamp:E or nudge:E with a positive number E',
  })

/** The only reader of {@link denominatorGuard}. @throws {BAD_OPTION} for anything it does not allow */
export function parseGuard(text: string): Guard {
  const [policy, bound = '0'] = String(text).toLowerCase().split(':')
  if (!denominatorGuard.safeParse(text).success) throw noGuard(text)
  return {policy: policy as Guard['policy'], bound: Number(bound)}
}

/** @throws {BAD_OPTION} unless it is a {@link Guard} */
export function checkGuard(given: Guard): void {
  const known = POLICIES.includes(given?.policy) && Number.isFinite(given.bound)
  if (!known || given.bound < 0) throw noGuard(given)
}

function noGuard(given: unknown) {
  return expected('BAD_OPTION', 'denGuard', 'a guard policy', describe(given))
}

/** Sums before the division. */
interface Ratio {
  numerator: tf.Tensor4D // [B, H, L, Dv]
  denominator: tf.Tensor3D // [B, H, L]
}

/** Divides numerator by guarded denominator and reports both the raw denominator and where the guard acted. */
export function normalize(
  {numerator, denominator}: Ratio,
  guard: Guard,
): AttendResult & Required<Pick<AttendResult, 'denominator' | 'guarded'>> {
  const safe = guardDenominator(denominator, guard)
  return {out: quotient(numerator, safe), denominator, guarded: differs(safe, denominator)}
}

/**
 * `numerator / denominator`, 0 where that is 0, `[B, H, L, Dv]`. Not by the reciprocal: that of the smallest
 * numbers overflows.
 */
export function quotient(numerator: tf.Tensor4D, denominator: tf.Tensor3D): tf.Tensor4D {
  const infinite = constantOf(denominator, x =>
    tf.where(tf.equal(x, 0), tf.fill(x.shape, Infinity), tf.zerosLike(x)),
  )
  const divisor = tf.add(denominator, infinite)
  return tf.div(numerator, tf.expandDims(divisor, -1))
}

/** 1 where the guard changes a denominator, else 0, `[B, H, L]`. */
export function guardedRows(denominator: tf.Tensor3D, guard: Guard): tf.Tensor3D {
  return differs(guardDenominator(denominator, guard), denominator)
}

function differs(a: tf.Tensor3D, b: tf.Tensor3D): tf.Tensor3D {
  return tf.cast(tf.notEqual(a, b), 'float32')
}

/** Applies a guard to `[B, H, L]` denominators. */
export function guardDenominator(denominator: tf.Tensor3D, {policy, bound}: Guard): tf.Tensor3D {
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
