import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {firstDifference, planChange} from '../../../src/results/plan-difference.js'
import type {Plan} from '../../../src/results/record.js'
import {bench, method} from '../../helpers/plans.js'

describe('firstDifference', () => {
  it.each([
    ['a value', {seed: 1}, {seed: 2}, {place: ['seed'], left: 1, right: 2}],
    ['an item', {m: [1, 2]}, {m: [1, 3]}, {place: ['m'], left: [1, 2], right: [1, 3]}],
    ['a missing item', {m: [1, 2]}, {m: [1]}, {place: ['m'], left: [1, 2], right: [1]}],
    ['a new property', {}, {a: null}, {place: ['a'], left: undefined, right: null}],
    ['depth', {t: {a: {b: 1}}}, {t: {a: {b: 2}}}, {place: ['t', 'a', 'b'], left: 1, right: 2}],
    [
      'depth within a list',
      {t: {a: [{b: 1}]}},
      {t: {a: [{b: 2}]}},
      {place: ['t', 'a'], left: [{b: 1}], right: [{b: 2}]},
    ],
    ['kind', {s: [1]}, {s: {0: 1}}, {place: ['s'], left: [1], right: {0: 1}}],
    ['null', {s: null}, {s: [1]}, {place: ['s'], left: null, right: [1]}],
  ])('names the place of a difference in %s', (_, left, right, difference) => {
    expect(firstDifference(left, right)).toEqual(difference)
  })

  it('finds none between a value and its copy', () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        expect(firstDifference(value, structuredClone(value))).toBeUndefined()
      }),
    )
  })

  it('finds one exactly where the JSON differs', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (left, right) => {
        const same = firstDifference(left, right) === undefined
        expect(same).toBe(JSON.stringify(sorted(left)) === JSON.stringify(sorted(right)))
      }),
    )
  })
})

/** JSON data with sorted properties and without negative zeros, whose text then decides equality. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? '-0' : value
  const entries = Object.entries(value).map(([name, child]) => [name, sorted(child)] as const)
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

describe('planChange', () => {
  const plan = bench({seq_lens: [32, 64]})
  it.each([
    ['itself', plan, {kind: 'same'}],
    ['a longer list', bench({seq_lens: [32, 48, 64]}), {kind: 'kept'}],
    ['peers where there were none', {...plan, peers: ['torch']}, {kind: 'kept'}],
    ['a list for one value', bench({seq_lens: [32, 64], batch: [16, 1]}), {kind: 'kept'}],
    [
      'a list without that value',
      bench({seq_lens: [32, 64], batch: [16, 17]}),
      {kind: 'shortened', list: 'batch', gone: plan.batch, right: [16, 17]},
    ],
    ['another order', bench({seq_lens: [64, 32]}), {kind: 'kept'}],
    [
      'a method more',
      bench({seq_lens: [32, 64], methods: [...plan.methods, method('rfa')]}),
      {kind: 'kept'},
    ],
    [
      'a value less',
      bench({seq_lens: [64]}),
      {kind: 'shortened', list: 'seq_lens', gone: 32, right: [64]},
    ],
    [
      'an option changed',
      bench({seq_lens: [32, 64], methods: [method('softmax'), method('elu', {x: 1})]}),
      {kind: 'shortened', list: 'methods', gone: method('elu')},
    ],
    [
      'another seed',
      {...plan, seed: 9},
      {kind: 'changed', difference: {place: ['seed'], left: 0, right: 9}},
    ],
    [
      'a list in place of none',
      {...plan, threads: [1]},
      {kind: 'changed', difference: {place: ['threads']}},
    ],
    [
      'another size and seed, and a value less, of which the seed is told',
      bench({seq_lens: [64], heads: 7, seed: 9}),
      {kind: 'changed', difference: {place: ['seed']}},
    ],
    [
      'another size, and a value less, of which the size is told',
      bench({seq_lens: [64], heads: 7}),
      {kind: 'changed', difference: {place: ['heads'], right: 7}},
    ],
  ])('compares a plan with %s', (_, asked, change) => {
    expect(planChange(plan, asked as Plan)).toMatchObject(change)
  })
})
