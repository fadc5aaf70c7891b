import {describe, expect, it} from 'vitest'
import type {TestedClaim} from '../../../src/claims/claim.js'
import {outcomes} from '../../../src/claims/outcome.js'
import {ClaimRuns, Unmeasured} from '../../../src/claims/runs.js'

const NO_RUNS = new ClaimRuns(new Map())

/** A claim with these p-values that holds where all are rejected. */
const claim = (id: string, ...ps: number[]): TestedClaim => ({
  kind: 'tested',
  id,
  sentence: 'It is so',
  source: 'here',
  paper: 'a number',
  ours: 'another',
  statistic: 'a third',
  rule: 'all',
  plans: () => ({}),
  judge: () => ({
    quantities: [{name: 'n', value: 3, expected: Number.NaN}],
    tests: ps.map(p => ({hypothesis: 'nothing', p})),
    decide: rejected => ({
      verdict: rejected.every(Boolean) ? 'holds' : 'refuted',
      statement: 'seen',
      explanation: 'why',
    }),
  }),
})

const judged = (...claims: TestedClaim[]) => outcomes(claims, NO_RUNS, () => ['run'])

describe('verdicts', () => {
  it('account for chance over all claims together', async () => {
    const [alone] = await judged(claim('H1', 0.03))
    expect(alone!.verdict).toBe('holds')
    // Holm: 2 x 0.03 is above 5 %
    const both = await judged(claim('H1', 0.03), claim('H2', 0.04))
    expect(both.map(({verdict}) => verdict)).toEqual(['refuted', 'refuted'])
    expect(both.map(({tests}) => tests[0]!.adjusted_p)).toEqual([0.06, 0.06])
  })

  it('give every claim its own tests back', async () => {
    const found = await judged(claim('H1', 0.001, 0.9), claim('H2'), claim('H3', 0.002))
    expect(found.map(({tests}) => tests.map(({p, rejected}) => [p, rejected]))).toEqual([
      [
        [0.001, true],
        [0.9, false],
      ],
      [],
      [[0.002, true]],
    ])
    expect(found.map(({verdict}) => verdict)).toEqual(['refuted', 'holds', 'holds'])
  })

  it('write null for what is no number', async () => {
    const [found] = await judged(claim('H1'))
    expect(found!.quantities).toEqual([
      {name: 'n', value: 3, low: null, high: null, expected: null},
    ])
  })

  it('are none where records lack what it takes, which takes no part in the others', async () => {
    const lacking: TestedClaim = {
      ...claim('H1', 0.01),
      judge() {
        throw new Unmeasured('it takes 900 draws')
      },
    }
    const [none, other] = await judged(lacking, claim('H2', 0.03))
    expect(none).toMatchObject({
      verdict: 'not_measurable',
      statement: 'it takes 900 draws',
      tests: [],
    })
    expect(other!.verdict).toBe('holds')
  })

  it('let a fault of a claim pass as one', async () => {
    const broken: TestedClaim = {
      ...claim('H1'),
      judge() {
        throw new TypeError('slip')
      },
    }
    await expect(judged(broken)).rejects.toThrow('slip')
  })
})

describe('runs of a claim', () => {
  it('say which cell is no measurement, and why', () => {
    const skipped = {schema: 's', key: 'k', cell: {}, status: 'skipped' as const, reason: 'too big'}
    const runs = new ClaimRuns(new Map([['r', [skipped]]]))
    expect(() => runs.timed('r')).toThrow('a cell of r was skipped: too big')
    expect(() => runs.timed('other')).toThrow('the run other is not there')
  })
})
