import {describe, expect, it} from 'vitest'
import type {ClaimVerdict, TestedClaim} from '../../../src/claims/claim.js'
import {CLAIM_IDS, claimNamed, referenceVerdict} from '../../../src/claims/claims/index.js'
import {differences, objections, outcomes} from '../../../src/claims/outcome.js'
import {countsText} from '../../../src/claims/report/report.js'
import {ClaimRuns, Unmeasured} from '../../../src/claims/runs.js'
import type {CellRecord} from '../../../src/results/record.js'
import {inProcesses, timed} from '../../helpers/records/bench.js'

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
      verdict: 'inconclusive',
      inconclusive_because: 'draws',
      statement: 'it takes 900 draws; a larger run may settle it',
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

/** A claim that its records leave open, of this run or of none. */
const open: TestedClaim = {
  ...claim('H1', 0.5),
  judge(runs) {
    runs.timed('r')
    const decide = () => ({verdict: 'inconclusive', statement: 'seen', explanation: 'why'}) as const
    return {quantities: [], tests: [], decide}
  },
}

const foundIn = async (record: CellRecord, tested = open) => {
  const [found] = await outcomes([tested], new ClaimRuns(new Map([['r', [record]]])), () => ['r'])
  return found!
}
const skipped = {schema: 's', key: 'k', cell: {}, status: 'skipped' as const, reason: 'too big'}
const failed = {
  ...{schema: 's', key: 'k', cell: {}, status: 'failed' as const},
  error: {code: 'CELL_CRASHED', message: 'it crashed'},
} as CellRecord

describe('an inconclusive claim', () => {
  it('says that the machine was busy where processes differ by much, and is counted apart', async () => {
    const conditions = {
      ...{load_before: 1, load_after: 1, steal_share: 0, lowest_mhz: null, highest_mhz: null},
      unknown: 'clock: none',
    }
    const of = (...medians: number[]) => timed({}, 1, {...inProcesses(medians), conditions})
    const busy = await foundIn(of(1e6, 1.3e6, 1.1e6))
    expect(busy).toMatchObject({
      ...{verdict: 'inconclusive', inconclusive_because: 'busy'},
      statement: 'seen; the machine was busy: run it again when it is quiet',
    })
    const calm = await foundIn(of(1e6, 1.2e6, 1.1e6))
    expect(calm).toMatchObject({
      ...{verdict: 'inconclusive', inconclusive_because: 'times'},
      statement: 'seen; longer runs may settle it',
    })
    const [training] = await outcomes([await claimNamed('H23')], NO_RUNS, () => [])
    expect(countsText([busy, calm, training!])).toBe(
      '2 inconclusive (1 because the machine was busy: run again when it is quiet), 1 not measurable here.',
    )
  })

  it('says how cells that failed run again; one that was skipped cannot be measured here', async () => {
    expect(await foundIn(failed)).toMatchObject({
      ...{verdict: 'inconclusive', inconclusive_because: 'cells'},
      statement: 'a cell of r failed: it crashed; run it again with --resume',
    })
    expect(await foundIn(skipped)).toMatchObject({
      ...{verdict: 'not_measurable', inconclusive_because: null},
      statement: 'a cell of r was skipped: too big',
    })
  })
})

describe('objections under --strict', () => {
  it('are verdicts unlike those of the reference run, what it settles, or that nothing was judged', async () => {
    const [holds] = await judged(claim('H2', 1e-9))
    const as = (id: string, verdict: ClaimVerdict) => ({...holds!, id, verdict})
    const reference = CLAIM_IDS.map(id => as(id, referenceVerdict(id)!))
    expect(objections(reference)).toEqual([])
    expect(differences(reference)).toEqual([])
    const here = [as('H2', 'refuted'), as('H4', 'inconclusive'), as('H22', 'refuted')]
    expect(objections(here)).toEqual([
      'H2: refuted, in the reference run holds',
      'inconclusive: H4',
    ])
    expect(differences(here).map(({id}) => id)).toEqual(['H2'])
    expect(objections([as('H9', 'not_measurable')])).toEqual(['no claim could be judged'])
  })
})

describe('runs of a claim', () => {
  it('say which cell is no measurement, and why', () => {
    const runs = new ClaimRuns(new Map([['r', [skipped]]]))
    expect(() => runs.timed('r')).toThrow('a cell of r was skipped: too big')
    expect(() => runs.timed('other')).toThrow('the run other is not there')
    expect(runs.counts).toEqual({total: 1, completed: 0, skipped: 1, failed: 0})
  })
})
