/**
 * False alarms of the verdicts of `rfa variance`, by simulation of whole runs in which everything is as theory says:
 * estimates are averages of M normal or lognormal products, whose moments are known, and rows that are said not to be
 * i.i.d. are so all the same, so that their ratio is 1.
 */
import {describe, expect, it} from 'vitest'
import {
  type ProjectionRow,
  rowOf,
  sampleOf,
  type Theory,
} from '../../src/experiments/variance/measure/spread.js'
import {varianceVerdicts} from '../../src/experiments/variance/report/verdicts.js'
import type {VarianceRecord} from '../../src/experiments/variance/schema.js'
import {normals, type RandomStream, randomStream} from '../../src/random/index.js'
import type {Verdict} from '../../src/results/verdict.js'
import {bonferroniZ} from '../../src/stats/index.js'
import {lognormalKurtosis} from '../../src/theory/rows.js'
import {variance} from '../helpers/records/variance.js'
import {EFFORT} from '../helpers/statistics.js'

const M = 8
const REPLICATES = 400
const PAIRS = 3
const RUNS = 2000 * EFFORT

/** Products of mean 1 from normal numbers. */
interface Law {
  product(normal: number): number
  variance: number
  kurtosis: number
}

/** ln of the product has this variance. */
const S = 0.3
const LAWS: Readonly<Record<string, Law>> = {
  normal: {product: normal => 1 + normal, variance: 1, kurtosis: 0},
  lognormal: {
    product: normal => Math.exp(Math.sqrt(S) * normal - S / 2),
    variance: Math.expm1(S),
    kurtosis: lognormalKurtosis(S),
  },
}

/** Averages of M products. */
function estimates({product}: Law, stream: RandomStream): Float64Array {
  const drawn = normals(stream, REPLICATES * M)
  return Float64Array.from({length: REPLICATES}, (_, r) => {
    let sum = 0
    for (let i = 0; i < M; i++) sum += product(drawn[r * M + i]!)
    return sum / M
  })
}

/** The verdicts of one run. @param factor - of the variance that theory states */
function simulated(law: Law, name: string, run: number, factor = 1): Verdict[] {
  const moments = {mean: 1, variance: (factor * law.variance) / M, kurtosis: law.kurtosis / M}
  const theory: Theory = {moments, bounded: false, featureDim: M}
  return varianceVerdicts(
    Array.from({length: PAIRS}, (_, pair) => {
      const draw = (row: string) => estimates(law, randomStream(1, `${name} ${row}`, run, pair))
      const iid = sampleOf('iid', draw('iid'), theory, true)
      const orth = sampleOf('orth', draw('orth'), theory, false)
      return recordOf(theory, [rowOf(iid, theory, undefined), rowOf(orth, theory, iid)])
    }),
  )
}

/** Theory has closed forms of all rows, and a bound of the others that is attained. */
function recordOf({moments}: Theory, rows: ProjectionRow[]): VarianceRecord {
  const per_projection = rows.map(row => ({
    ...row,
    ...{exact_variance: moments.variance, exact_z: null, exact_ratio: null, logarithms: null},
    all_directions: false,
    theorem_bound: row.projection === 'iid' ? null : moments.variance,
  }))
  const record = variance({replicates: REPLICATES})
  const closed = {expectation: moments.mean, closed_form_variance: moments.variance}
  return {...record, result: {...record.result, ...closed, per_projection}}
}

/** The answers that are wrong where all is as theory says: a difference that is none. */
const WRONG: Readonly<
  Record<Exclude<Verdict['question'], 'errs_less'>, readonly Verdict['answer'][]>
> = {
  unbiased: ['no'],
  variance_as_theory: ['no'],
  varies_less_than_iid: ['yes', 'no'],
  keeps_theorem_bound: ['no'],
}

/** Standard errors for eight comparisons, 1e-4 for all of them together. */
const ALLOWED = bonferroniZ(8, 1e-4)
const RATE = 0.05

describe.each(Object.entries(LAWS))('verdicts on runs of %s products', (name, law) => {
  const verdicts = Array.from({length: RUNS}, (_, run) => simulated(law, name, run)).flat()

  it.each(Object.entries(WRONG))('%s is wrong in no more than 5 %% of runs', (question, wrong) => {
    const asked = verdicts.filter(own => own.question === question)
    expect(asked).toHaveLength(RUNS)
    expect(asked.filter(own => own.measured > 0).length).toBeGreaterThan(0.99 * RUNS)
    const alarms = asked.filter(({answer}) => wrong.includes(answer)).length
    const error = Math.sqrt((RATE * (1 - RATE)) / RUNS)
    expect(alarms / RUNS).toBeLessThanOrEqual(RATE + ALLOWED * error)
    expect(alarms).toBeGreaterThan(0) // or the bound would be wider than it says
  })

  it('reports a variance that is not what theory says', () => {
    for (const factor of [0.5, 2]) {
      const [, theory] = simulated(law, name, 0, factor)
      expect(theory).toMatchObject({question: 'variance_as_theory', answer: 'no'})
    }
  })
})
