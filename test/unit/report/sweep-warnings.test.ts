import {describe, expect, it} from 'vitest'
import {sweepWarnings} from '../../../src/report/sweep-warnings.js'
import {deterministic, sweep} from './fixtures.js'

const heads = (...needs: (number | null)[]) => {
  const [first] = sweep().result.per_head
  return {
    per_head: needs.map((needed_num_features, head) => ({...first!, head, needed_num_features})),
  }
}

describe('sweepWarnings', () => {
  it('names the worst and the best head, once per method, beside the largest M', () => {
    const records = [
      sweep({num_features: 64}, heads(400, 25_000, 3000)),
      sweep({num_features: 256}, heads(400, 25_000, 3000)),
    ]
    expect(sweepWarnings(records)).toEqual([
      'favor-pos needs about 25000 features (head 1; head 0: about 400) for a relative kernel variance of 1, the largest M here is 256',
    ])
  })

  it('names no heads when all need the same', () => {
    expect(sweepWarnings([sweep({}, heads(400))])).toEqual([
      'favor-pos needs about 400 features for a relative kernel variance of 1, the largest M here is 64',
    ])
  })

  it('counts a head beyond all numbers as the worst', () => {
    expect(sweepWarnings([sweep({}, heads(null, 400))])[0]).toContain(
      'needs more than 1e308 features (head 0; head 1: about 400)',
    )
  })

  it('says nothing while every head has enough', () => {
    expect(sweepWarnings([sweep({num_features: 400}, heads(400, 31))])).toEqual([])
  })

  it('says nothing about methods without theory', () => {
    expect(sweepWarnings([deterministic('elu')])).toEqual([])
  })
})
