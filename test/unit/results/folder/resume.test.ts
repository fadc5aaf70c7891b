import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {variancePlan} from '../../../../src/experiments/variance/schema.js'
import {changesText, differences} from '../../../../src/results/folder/resume.js'
import {canonicalJson} from '../../../../src/results/keys.js'

describe('differences', () => {
  it.each([
    ['a value', {seed: 1}, {seed: 2}, ['seed', '1', '2']],
    ['an item', {m: [1, 2]}, {m: [1, 3]}, ['m', '[1,2]', '[1,3]']],
    ['a missing item', {m: [1, 2]}, {m: [1]}, ['m', '[1,2]', '[1]']],
    ['a new field', {}, {a: null}, ['a', 'none', 'null']],
    ['depth', {t: {a: {b: 1}}}, {t: {a: {b: 2}}}, ['t.a.b', '1', '2']],
    ['a list of groups', {t: {a: [{b: 1}]}}, {t: {a: []}}, ['t.a', '[{"b":1}]', '[]']],
  ])('names the field of a difference in %s', (_, before, now, [field, old, own]) => {
    expect(differences(before, now)).toEqual([{field, before: old, now: own}])
  })

  it('are none exactly where the JSON is the same', () => {
    const group = fc.dictionary(
      fc.stringMatching(/^[a-z]$/),
      fc.oneof(fc.integer({min: 0, max: 2}), fc.array(fc.integer({min: 0, max: 2}))),
      {maxKeys: 3},
    )
    fc.assert(
      fc.property(group, group, (before, now) => {
        const same = differences(before, now).length === 0
        expect(same).toBe(canonicalJson(before) === canonicalJson(now))
      }),
    )
  })
})

it('changes are written with what is there now first, long ones and those after the fourth cut', () => {
  const now = {seed: 2, head_dims: Array(50).fill(8), until_ci: {max_replicates: 3}}
  const before = {seed: 1, head_dims: [1], until_ci: {max_replicates: 4}}
  const text = changesText(differences(before, now), {plan: variancePlan})
  expect(text).toMatch(
    /^`seed` is 2, not 1; `headDim` is \[8(,8){18},8?…, not \[1\]; `until_ci.max_replicates` is 3, not 4$/,
  )
  const {seed, ...rest} = now
  const others = {...rest, norms: [1], angles_deg: [0], replicates: 2, seed}
  const more = changesText(differences(before, others), {plan: variancePlan})
  expect(more).toBe(`${text}; \`norms\` is [1], not none; and 2 more`)
  const methods = (last: string) => ({m: ['favor-pos', 'favor-trig', 'softplus', 'elu', last]})
  expect(differences(methods('rfa'), methods('lara'))).toEqual([
    {field: 'm', before: '…s","elu","rfa"]', now: '…s","elu","lara"]'},
  ])
})
