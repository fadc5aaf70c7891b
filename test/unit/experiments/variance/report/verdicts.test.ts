import {describe, expect, it} from 'vitest'
import {
  biasBound,
  varianceVerdicts,
} from '../../../../../src/experiments/variance/report/verdicts.js'
import type {VarianceRecord} from '../../../../../src/experiments/variance/schema.js'
import {bonferroniZ} from '../../../../../src/stats/index.js'
import {skipped} from '../../../../helpers/records/outcomes.js'
import {
  type VarianceRow as Row,
  UNMEASURED,
  variance,
  withRows,
} from '../../../../helpers/records/variance.js'

/** A record whose rows of i.i.d. and of orthogonal vectors are changed. */
const rows = (iid: Partial<Row> = {}, orth: Partial<Row> = {}) =>
  withRows(variance(), (_, at) => (at === 0 ? iid : orth))

const NOTHING = {...UNMEASURED, variance_relative_standard_error: null}
const HEAVY = {
  ...NOTHING,
  withheld: '500 replicates are too few for this tail',
  needed_replicates: 12_500,
}
const FLAT = {
  ...NOTHING,
  withheld: 'theory leaves no spread: what varies is rounding',
  mean: 1,
  variance: 1e-17,
}

const verdictsOf = (...records: VarianceRecord[]) => {
  const [bias, theory, orth] = varianceVerdicts(records)
  return {bias: bias!, theory: theory!, orth: orth!}
}
/** A ratio whose logarithm has this standard error. */
const ratio = (value: number, error: number) => ({
  ratio_to_iid: value,
  ratio_low: value * Math.exp(-1.959964 * error),
  ratio_high: value * Math.exp(1.959964 * error),
})

describe('the verdict on bias', () => {
  it('is yes where no mean is beyond the bound of all rows', () => {
    const {bias} = verdictsOf(rows({bias_z: 1.5}, {bias_z: -2.2}))
    expect(bias).toMatchObject({question: 'unbiased', answer: 'yes', measured: 2, beyond: 0})
    expect(bias).toMatchObject({method: null, projection: null, low: 1.5, high: 2.2})
    expect(bias.bound).toBe(bonferroniZ(2, 0.05))
    expect(bias.statement).toBe(
      'Unbiased: yes, largest |z| 2.20 of 2 measured rows (bound 2.24, 5 % for all of them together).',
    )
  })

  it('is no where one is, on either side', () => {
    for (const z of [2.3, -2.3]) {
      const {bias} = verdictsOf(rows({bias_z: z}, {bias_z: 0}))
      expect(bias).toMatchObject({answer: 'no', beyond: 1})
      expect(bias.statement).toContain('Unbiased: no, 1 of 2 measured rows')
    }
  })

  it('is inconclusive where nothing was measured, and says why', () => {
    const {bias} = verdictsOf(rows(HEAVY, {...HEAVY, needed_replicates: 9000}))
    expect(bias).toMatchObject({
      answer: 'cannot_be_told',
      bound: null,
      measured: 0,
      not_measured: 2,
      needed_replicates: 9000,
    })
    expect(bias.statement).toBe(
      'Unbiased: inconclusive at 500 draws, no row was measured; 2 not measured (500 replicates are too few for this tail, the first needs 9000).',
    )
  })

  it('has the bound by which reports mark rows', () => {
    expect(biasBound([rows(), rows()])).toBe(bonferroniZ(4, 0.05))
    expect(biasBound([])).toBe(Number.POSITIVE_INFINITY)
  })
})

describe('the verdict on variance against theory', () => {
  /** A measured variance so many standard errors of its logarithm from 0.08. */
  const off = (z: number, error = 0.1) => ({
    variance: 0.08 * Math.exp(z * error),
    variance_relative_standard_error: error,
  })

  it('is yes where all measured rows are within the bound', () => {
    const {theory} = verdictsOf(rows(off(-2.1)), rows(off(1)))
    expect(theory).toMatchObject({question: 'variance_as_theory', answer: 'yes', measured: 2})
    expect(theory.low).toMatchReference(Math.exp(-0.21), 12)
    expect(theory.high).toMatchReference(Math.exp(0.1), 12)
    expect(theory.statement).toBe(
      'favor-pos, variance as theory says: yes, measured over closed form 0.811 to 1.11, 95 % intervals cover it in 1 of 2 measured rows.',
    )
  })

  it('is no where one is beyond, and judges i.i.d. rows alone', () => {
    const {theory} = verdictsOf(rows(off(2.3)), rows(off(0)))
    expect(theory).toMatchObject({answer: 'no', measured: 2, beyond: 1})
    expect(verdictsOf(rows({}, off(50))).theory.answer).toBe('yes')
  })

  it('shares the bound with other methods, and judges each by itself', () => {
    const other = rows(off(2.6))
    const records = [rows(off(2.3)), {...other, cell: {...other.cell, method: 'favor-hyp'}}]
    const verdicts = varianceVerdicts(records).filter(own => own.question === 'variance_as_theory')
    expect(verdicts.map(({method, answer}) => [method, answer])).toEqual([
      ['favor-pos', 'no'],
      ['favor-hyp', 'no'],
    ])
    const five = [0, 0, 0, 0].map(z => rows(off(z)))
    const [favor] = varianceVerdicts([...five, ...records]).filter(
      own => own.question === 'variance_as_theory',
    )
    expect(favor).toMatchObject({answer: 'yes', bound: bonferroniZ(6, 0.05)})
  })

  it('is inconclusive of rows that are too heavy or do not vary, which are counted apart', () => {
    const {theory} = verdictsOf(rows(HEAVY), rows(FLAT))
    expect(theory).toMatchObject({answer: 'cannot_be_told', not_measured: 1, without_variance: 1})
    const flat = verdictsOf(rows(FLAT, FLAT))
    expect(flat.theory.statement).toBe(
      'favor-pos, variance as theory says: inconclusive at 500 draws, no row varies; 1 without variance.',
    )
    expect(flat.bias).toMatchObject({answer: 'cannot_be_told', without_variance: 2})
  })
})

describe('the verdict on other rows beside i.i.d. ones', () => {
  it('is yes where a pair varies less beyond the bound and none more', () => {
    const {orth} = verdictsOf(rows({}, ratio(0.73, 0.05)), rows({}, ratio(1.02, 0.05)))
    expect(orth).toMatchObject({
      ...{question: 'varies_less_than_iid', method: 'favor-pos', projection: 'orth', answer: 'yes'},
      ...{measured: 2, beyond: 1, low: 0.73, high: 1.02},
    })
    expect(orth.statement).toBe(
      'favor-pos, orth rows vary less than iid ones: yes, 0.730 to 1.02 of the variance of iid ones (95 % intervals exclude 1 in 1 of 2 measured pairs).',
    )
  })

  it('is no where a pair varies more, whatever others do', () => {
    const {orth} = verdictsOf(rows({}, ratio(2, 0.05)), rows({}, ratio(0.5, 0.05)))
    expect(orth).toMatchObject({answer: 'no', beyond: 2})
  })

  it('is inconclusive where intervals leave both open', () => {
    const {orth} = verdictsOf(rows({}, ratio(0.9, 0.05)), rows({}, ratio(1.1, 0.05)))
    expect(orth.answer).toBe('cannot_be_told')
    expect(orth.statement).toContain(
      'inconclusive at 500 draws, 0.900 to 1.10 of the variance of iid ones (95 % intervals exclude 1 in 1 of 2',
    )
  })

  it('says where it is the i.i.d. rows that were not measured', () => {
    const none = {ratio_to_iid: null, ratio_low: null, ratio_high: null}
    const {orth} = verdictsOf(rows(HEAVY, none), rows({}, ratio(0.5, 0.05)))
    expect(orth).toMatchObject({answer: 'yes', measured: 1, not_measured: 1})
    expect(orth.statement).toMatch(/; 1 not measured \(iid rows of their pair were not\)\.$/)
  })

  it('is not asked where i.i.d. rows were not drawn', () => {
    const record = rows()
    const cell = {...record.cell, projections: ['orth' as const]}
    const result = {...record.result, per_projection: record.result.per_projection.slice(1)}
    const questions = varianceVerdicts([{...record, cell, result}]).map(own => own.question)
    expect(questions).toEqual(['unbiased'])
  })
})

describe('varianceVerdicts', () => {
  it('has none on cells without numbers', () => {
    expect(varianceVerdicts([skipped(variance())])).toEqual([])
  })
})

describe('the verdict on the bound of Theorem 2', () => {
  const over = (value: number, error = 0.05): Partial<Row> => ({
    theorem_bound: 0.08,
    variance: 0.08 * value,
    variance_relative_standard_error: error,
  })
  const boundVerdict = (...records: VarianceRecord[]) =>
    varianceVerdicts(records).find(({question}) => question === 'keeps_theorem_bound')

  it('holds where no error is above it beyond chance', () => {
    expect(boundVerdict(rows({}, over(0.7)), rows({}, over(1.05)))?.statement).toBe(
      'favor-pos, bound of Theorem 2 on orth rows: holds, measured over bound 0.700 to 1.05, 95 % intervals are below it in 1 of 2 measured rows.',
    )
  })

  it('is violated where one is', () => {
    const verdict = boundVerdict(rows({}, over(0.7)), rows({}, over(1.2)))
    expect(verdict).toMatchObject({answer: 'no', measured: 2, bound: bonferroniZ(2, 0.05)})
    expect(verdict?.statement).toContain('rows: violated, measured over bound 0.700 to 1.20')
  })

  it('is not asked where there is none', () => {
    expect(boundVerdict(rows())).toBeUndefined()
  })
})

describe('the verdict on theory', () => {
  it('judges other rows by their own closed form', () => {
    const own = (exact_variance: number): Partial<Row> => ({
      ...{variance: 0.04, variance_relative_standard_error: 0.05, exact_variance},
    })
    expect(verdictsOf(rows({}, own(0.041))).theory).toMatchObject({answer: 'yes', measured: 2})
    expect(verdictsOf(rows({}, own(0.08))).theory).toMatchObject({answer: 'no', beyond: 1})
  })
})
