import {describe, expect, it} from 'vitest'
import {sectionTitle} from '../../../../../src/experiments/error-sweep/report/section-title.js'
import type {CompletedSweep} from '../../../../../src/experiments/error-sweep/schema.js'
import {sweep} from '../../../../helpers/records/error-sweep.js'

const swept = (causal: boolean, ran_causal: boolean | null) => {
  const record = sweep({causal}) as CompletedSweep
  return {...record, result: {...record.result, ran_causal}}
}

describe('the first line of a sweep', () => {
  it.each([
    [true, true, 'causal (as the file says)'],
    [false, true, 'bidirectional (--no-causal)'],
    [true, false, 'causal (--causal)'],
    [false, false, 'bidirectional'],
    [true, null, 'causal'],
    [false, null, 'bidirectional'],
  ])('says of causal %s where the file says %s: %s', (causal, said, text) => {
    expect(
      sectionTitle([swept(causal, said)])
        .split(', ')
        .at(-1),
    ).toBe(text)
  })

  it('does not say what the file says where its layers differ', () => {
    expect(sectionTitle([swept(true, true), swept(true, null)])).toMatch(/, causal$/)
  })
})
