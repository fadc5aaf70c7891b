import {describe, expect, it} from 'vitest'
import {illConditionedWarning, notFiniteWarning, writtenNote} from '../../../src/apply/report.js'
import {APPLIED_ARRAY} from '../../helpers/records/apply.js'

/** Outputs with so many elements that are not finite. */
const of = (...arrays: [not_finite: number, shape: number[]][]) => ({
  method: 'hrf',
  arrays: arrays.map(([not_finite, shape]) => ({...APPLIED_ARRAY, not_finite, shape})),
})

describe('writtenNote', () => {
  it('names arrays, their axes where all have the same, and the file', () => {
    const written = {arrays: [APPLIED_ARRAY], layout: 'bhld', output: 'o.npz'} as const
    const several = ['layers.0.out', 'layers.1.out'].map(name => ({...APPLIED_ARRAY, name}))
    expect(writtenNote({...written, arrays: [...written.arrays]})).toBe(
      'wrote out [1, 3, 31, 13] (batch, heads, tokens, Dv) to o.npz',
    )
    expect(writtenNote({...written, layout: 'blhd', arrays: several})).toBe(
      'wrote layers.0.out and layers.1.out [1, 3, 31, 13] (batch, tokens, heads, Dv) to o.npz',
    )
    const other = {...APPLIED_ARRAY, name: 'layers.1.out', shape: [1, 3, 7, 13]}
    expect(writtenNote({...written, arrays: [several[0]!, other]})).toBe(
      'wrote layers.0.out and layers.1.out to o.npz',
    )
  })
})

describe('notFiniteWarning', () => {
  it('counts the elements that are not finite and says what to try', () => {
    expect(notFiniteWarning(of([17, [1, 3, 31, 13]]))).toBe(
      '17 of 1209 output elements of hrf are not finite: float32 ends at 3.4e38; ' +
        'try a smaller `scale`, or smaller queries, keys or values',
    )
    expect(notFiniteWarning(of([1, [1, 1, 1, 1]]))).toMatch(
      /^1 of 1 output element of hrf is not finite: /,
    )
  })

  it('counts those of all layers together', () => {
    const warning = notFiniteWarning(of([2, [1, 3, 5, 7]], [0, [1, 3, 5, 7]], [9, [1, 1, 5, 7]]))
    expect(warning).toMatch(/^11 of 245 output elements of hrf are not finite: /)
  })

  it('has nothing to say of a finite output', () => {
    expect(notFiniteWarning(of([0, [1, 3, 31, 13]], [0, [1, 1, 1, 1]]))).toBeUndefined()
  })
})

describe('illConditionedWarning', () => {
  const said = (ill_conditioned: number) =>
    illConditionedWarning({method: 'hrf', arrays: [{...APPLIED_ARRAY, ill_conditioned}]})

  it('counts the elements of which rounding is most, and says what to try', () => {
    expect(said(17)).toMatch(
      /^17 of 1209 output elements are more than 4096 times the largest value: .* of hrf .*; try a smaller `scale`, .*favor-pos/,
    )
    expect(said(0)).toBeUndefined()
  })
})
