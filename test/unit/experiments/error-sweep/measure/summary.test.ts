import {describe, expect, it} from 'vitest'
import type {Estimator} from '../../../../../src/attention/forms/estimator.js'
import type {ErrorSplit} from '../../../../../src/experiments/error-sweep/measure/moments.js'
import type {Replicate} from '../../../../../src/experiments/error-sweep/measure/replicates.js'
import {means} from '../../../../../src/experiments/error-sweep/measure/summary.js'
import {NO_MODEL_ERRORS} from '../../../../helpers/records/error-sweep.js'

const METRICS = {
  ...{mse: 0, rel_l2: 0, rel_l1: 0, max_abs: 0, cosine: 1, row_sum_deviation: 0},
  ...{negative_denominators_pct: 0, guarded_pct: 0, not_finite_pct: 0},
}
const SPLIT: ErrorSplit = {
  biasSquared: {value: 0.5, standardError: 0.25},
  variance: {value: 1, standardError: 0.125},
}

const methodOf = (nonNegative: boolean, random = true) => ({
  random,
  estimator: {nonNegative} as Estimator,
})

type Summarised = Pick<Replicate, 'all' | 'model'>

function replicate(mse: number, negative_denominators_pct = 0): Summarised {
  const all = {...METRICS, mse, negative_denominators_pct}
  return {all, model: NO_MODEL_ERRORS}
}

const SIX = [1, 2, 3, 4, 5, 6]
const of = (replicates: Summarised[], method = methodOf(true)) =>
  means(method, {replicates, split: SPLIT})

describe('means over replicates', () => {
  it('have standard errors from six replicates on', () => {
    expect(of(SIX.map(mse => replicate(mse)))).toEqual({
      bias_squared: 0.5,
      variance: 1,
      mse_standard_error: Math.sqrt(3.5 / 6), // 1 to 6 have the variance 3.5
      bias_squared_standard_error: 0.25,
      variance_standard_error: 0.125,
      means_unknown: null,
    })
    expect(of(SIX.slice(1).map(mse => replicate(mse)))).toEqual({
      bias_squared: 0.5,
      variance: 1,
      mse_standard_error: null,
      bias_squared_standard_error: null,
      variance_standard_error: null,
      means_unknown: 'few_replicates',
    })
  })

  it('are bias alone, and exact, where nothing is drawn', () => {
    expect(of([replicate(0.25)], methodOf(true, false))).toEqual({
      bias_squared: 0.25,
      variance: 0,
      mse_standard_error: 0,
      bias_squared_standard_error: 0,
      variance_standard_error: 0,
      means_unknown: null,
    })
    expect(of([replicate(0.25)]).means_unknown).toBe('few_replicates')
  })

  it('are withheld where denominators change sign, however few', () => {
    const changing = [...SIX.map(mse => replicate(mse)), replicate(3, 0.1)]
    expect(of(changing, methodOf(false))).toMatchObject({
      mse_standard_error: null,
      means_unknown: 'sign_changes',
    })
    expect(of(changing.slice(-3), methodOf(false)).means_unknown).toBe('sign_changes')
    // a sum of terms that are never negative vanishes at most
    expect(of(changing, methodOf(true)).means_unknown).toBeNull()
  })

  it('are withheld where one draw makes up more than half of the squared error', () => {
    const withWorst = (worst: number) => [...SIX.map(mse => replicate(mse)), replicate(worst)]
    expect(of(withWorst(21)).means_unknown).toBeNull()
    expect(of(withWorst(22))).toMatchObject({
      variance_standard_error: null,
      means_unknown: 'one_draw',
    })
  })

  it('are withheld where an estimate broke', () => {
    const broken = [...SIX.map(mse => replicate(mse)), replicate(Number.NaN)]
    expect(of(broken).means_unknown).toBe('not_finite')
    expect(of([replicate(Number.NaN)], methodOf(true, false)).means_unknown).toBe('not_finite')
  })
})
