import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import {
  checkGuard,
  denominatorGuard,
  type Guard,
  guardDenominator,
  normalize,
  parseGuard,
} from '../../../../src/attention/kernels/guard.js'
import {useBackend} from '../../../../src/backends/index.js'
import {compute} from '../../../helpers/arrays.js'

beforeAll(() => useBackend('cpu'))

const DENOMINATORS = [-2, -0.25, 0, 0.25, 2]
const column = () => tf.tensor3d(DENOMINATORS, [1, 1, 5])

describe('a guard on denominators', () => {
  it.each([
    ['none', [-2, -0.25, 0, 0.25, 2]],
    ['add:0.5', [-1.5, 0.25, 0.5, 0.75, 2.5]],
    ['clamp:0.5', [0.5, 0.5, 0.5, 0.5, 2]],
    ['abs-clamp:0.5', [2, 0.5, 0.5, 0.5, 2]],
    ['nudge:0.25', [-2, 0.25, 0.5, 0.75, 2]],
  ])('%s maps -2, -1/4, 0, 1/4, 2 to %o', (guard, expected) => {
    expect(Array.from(compute(() => guardDenominator(column(), parseGuard(guard))))).toEqual(
      expected,
    )
  })

  it('divides, and reports raw denominators and where it acted', () => {
    const [out, denominator, guarded] = compute(() => {
      const numerator = tf.tensor4d([2, 1, 4, 1, 6], [1, 1, 5, 1])
      const result = normalize({numerator, denominator: column()}, parseGuard('clamp:0.5'))
      return [result.out, result.denominator, result.guarded]
    })
    expect(Array.from(out!)).toEqual([4, 2, 8, 2, 3])
    expect(Array.from(denominator!)).toEqual(DENOMINATORS)
    expect(Array.from(guarded!)).toEqual([1, 1, 1, 1, 0])
  })

  it('gives zero for a denominator of exactly zero', () => {
    const out = compute(() => {
      const numerator = tf.tensor4d([1, 1, 1, 1, 1], [1, 1, 5, 1])
      return normalize({numerator, denominator: column()}, parseGuard('none')).out
    })
    expect(Array.from(out)).toEqual([-0.5, -4, 0, 4, 0.5])
  })

  it('divides by the smallest numbers of float32, whose reciprocals it does not hold', () => {
    const smallest = 2 ** -149
    const out = compute(() => {
      const numerator = tf.tensor4d([3 * smallest, -smallest, 0, 2 ** -127], [1, 1, 4, 1])
      const denominator = tf.tensor3d([smallest, smallest, smallest, 2 ** -128], [1, 1, 4])
      return normalize({numerator, denominator}, parseGuard('none')).out
    })
    expect(Array.from(out)).toEqual([3, -1, 0, 2])
  })

  it.each(['none', 'add:1e-6', 'clamp:1', 'abs-clamp:0.001', 'nudge:1E-6'])('accepts %s', guard => {
    expect(denominatorGuard.safeParse(guard).success).toBe(true)
  })

  it.each(['', 'clip:1', 'add', 'add:', 'add:-1', 'clamp:x', 'none:1', 'add:1e'])(
    'refuses "%s" and says what it takes',
    guard => {
      const result = denominatorGuard.safeParse(guard)
      expect(result.error?.issues[0]?.message).toMatch(/^none, add:E, clamp:E/)
    },
  )

  it.each(['clip:1', 'clamp', 'clamp:-1', ''])(
    'names "%s", which slipped past the check',
    guard => {
      expect(() => parseGuard(guard)).toThrow(`denGuard: expected a guard policy, got "${guard}"`)
    },
  )

  it.each([
    null,
    'clamp:1',
    {policy: 'clip', bound: 1},
    {policy: 'clamp', bound: -1},
    {policy: 'add', bound: Number.NaN},
    {policy: 'add'},
  ])('refuses %o, which is not a guard', given => {
    expect(() => checkGuard(given as Guard)).toThrow('denGuard: expected a guard policy, got ')
  })

  it('takes policies in any case', () => {
    const upper = compute(() => guardDenominator(column(), parseGuard('CLAMP:5E-1')))
    expect(Array.from(upper)).toEqual([0.5, 0.5, 0.5, 0.5, 2])
  })
})
