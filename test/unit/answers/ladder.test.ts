import {describe, expect, it} from 'vitest'
import {allOf, answersOf, verdictOf} from '../../../src/answers/index.js'
import type {ClaimVerdict} from '../../../src/claims/claim.js'

describe('the ladder of verdicts', () => {
  it.each<[ClaimVerdict, Parameters<typeof verdictOf>[0]]>([
    ['holds', ['yes', 'yes']],
    ['refuted', ['no', 'no']],
    ['depends', ['yes', 'open', 'no']],
    ['inconclusive', ['yes', 'open']],
    ['inconclusive', ['no', 'open']],
    ['inconclusive', []],
  ])('%s', (verdict, answers) => {
    expect(verdictOf(answers)).toBe(verdict)
  })

  it('reads pairs of tests, the first of which speaks for the claim', () => {
    const rejected = [true, false, false, true, false, false]
    expect(answersOf(rejected)).toEqual(['yes', 'no', 'open'])
  })

  it('takes conditions of one setting together', () => {
    expect(allOf(['yes', 'yes'])).toBe('yes')
    expect(allOf(['yes', 'open'])).toBe('open')
    expect(allOf(['yes', 'open', 'no'])).toBe('no')
    expect(allOf([])).toBe('open')
  })
})
