import {describe, expect, it} from 'vitest'
import {sweepWarnings} from '../../../../../src/experiments/error-sweep/report/warnings.js'
import {deterministic, metric, sweep} from '../../../../helpers/records/error-sweep.js'

const heads = (...needs: (number | null)[]) =>
  powers(...needs.map(need => need && Math.log10(need)))

const powers = (...log10: (number | null)[]) => {
  const [first] = sweep().result.per_head
  return {
    per_head: log10.map((needed_num_features_log10, head) => ({
      ...first!,
      head,
      needed_num_features:
        needed_num_features_log10 === null || needed_num_features_log10 > 308
          ? null
          : Math.round(10 ** needed_num_features_log10),
      needed_num_features_log10,
    })),
  }
}

describe('sweepWarnings', () => {
  it('names the worst and the best head, once per method, beside the largest M', () => {
    const records = [
      sweep({num_features: 64}, heads(400, 25_000, 3000)),
      sweep({num_features: 256}, heads(400, 25_000, 3000)),
    ]
    expect(sweepWarnings(records)).toEqual([
      'favor-pos needs about 25,000 features (head 1; least in head 0: about 400) for a relative kernel variance of 1, the largest M here is 256',
    ])
  })

  it('names no heads when all need the same', () => {
    expect(sweepWarnings([sweep({}, heads(400))])).toEqual([
      'favor-pos needs about 400 features for a relative kernel variance of 1, the largest M here is 64',
    ])
  })

  it('keeps the warning where every head needs more than a double can hold', () => {
    expect(sweepWarnings([sweep({}, powers(4342.9, 868.6))])).toEqual([
      'favor-pos needs about 1e4343 features (head 0; least in head 1: about 1e869) for a relative kernel variance of 1, the largest M here is 64',
    ])
  })

  it('names only the power of ten of what nobody can afford', () => {
    expect(sweepWarnings([sweep({}, heads(4.4e41, 1e9 - 1))])[0]).toContain(
      'needs about 1e42 features (head 0; least in head 1: about 1e9)',
    )
  })

  it('counts a head of unknown size, beyond doubles in older runs, as the worst', () => {
    expect(sweepWarnings([sweep({}, heads(null, 400))])[0]).toContain(
      'needs more than 1e308 features (head 0; least in head 1: about 400)',
    )
  })

  it('says where rounding decides, and what to try', () => {
    const signed = (deviation: number, guarded = 0) => ({
      ...heads(4),
      row_sum_deviation: metric(deviation),
      negative_denominators_pct: metric(40),
      guarded_pct: metric(guarded),
    })
    const hrf = {method: 'hrf'} as const
    expect(sweepWarnings([sweep(hrf, signed(1e-6)), sweep(hrf, signed(0.25))])).toEqual([
      'hrf: float32 rounding decides on these outputs, and another backend has others (sums of weights, which are 1 but for rounding, are off by 0.250); try smaller queries and keys (`scales`), or favor-pos, where nothing cancels',
    ])
    expect(sweepWarnings([sweep(hrf, signed(1e-4))])).toEqual([])
    expect(sweepWarnings([sweep(hrf, signed(0.25, 3))])).toEqual([]) // a guard moved them
    const shifted = {...hrf, options: {normalizerEpsilon: 0.1}}
    expect(sweepWarnings([sweep(shifted, signed(0.25))])).toEqual([])
  })

  it('says nothing while every head has enough', () => {
    expect(sweepWarnings([sweep({num_features: 400}, heads(400, 31))])).toEqual([])
  })

  it('says nothing about methods without theory', () => {
    expect(sweepWarnings([deterministic('elu')])).toEqual([])
  })

  it('tells the M for an error of 5 % where errors are predicted, beside both errors at the largest M', () => {
    const predicted = (needs: readonly (number | null)[], overall: number | null) => ({
      rel_l2: metric(0.19),
      predicted_rel_l2: 0.21,
      num_features_for_5_percent: overall,
      per_head: heads(...needs).per_head.map((own, at) => ({
        ...own,
        predicted_rel_l2: 0.21,
        num_features_for_5_percent: needs[at]!,
      })),
    })
    const warnings = (needs: readonly (number | null)[], overall: number | null) =>
      sweepWarnings([
        sweep({num_features: 8}),
        sweep({num_features: 64}, predicted(needs, overall)),
      ])
    expect(warnings([400, 25_300, 3000], 3200)).toEqual([
      'favor-pos needs about 3,200 features (most in head 1: about 25,000; least in head 0: about 400) for an error of 5 %; at M=64 rel L2 is 0.190, predicted 0.210',
    ])
    expect(warnings([400, null], null)).toEqual([
      'favor-pos needs more than 16 million features (most in head 1: more than 16 million; least in head 0: about 400) for an error of 5 %; at M=64 rel L2 is 0.190, predicted 0.210',
    ])
    expect(warnings([400], 400)).toEqual([
      'favor-pos needs about 400 features for an error of 5 %; at M=64 rel L2 is 0.190, predicted 0.210',
    ])
    // one head needs more, all together do not
    expect(warnings([20, 80], 50)).toEqual([])
  })

  it('says why the M for an error of 5 % is not known', () => {
    const unknown = (predicted_rel_l2: number | null) =>
      sweepWarnings([
        sweep(
          {num_features: 64},
          {rel_l2: metric(0.19), predicted_rel_l2, prediction_unknown: 'uncertain'},
        ),
      ])
    const why =
      'the M that favor-pos needs for an error of 5 % is not known, as two seeds differ by more than 15 %, or errors rise with M'
    expect(unknown(0.21)).toEqual([`${why}; at M=64 rel L2 is 0.190, predicted 0.210`])
    expect(unknown(null)).toEqual([`${why}; at M=64 rel L2 is 0.190`])
  })

  it('says in one sentence that logits overflow, and what to try', () => {
    const {statistics} = sweep().result
    const overflowing = {
      statistics: {...statistics, sum_norm2: 3.1e16},
      prediction_unknown: 'overflow',
    } as const
    const records = [sweep({}, overflowing), sweep({num_features: 256}, overflowing)]
    expect(sweepWarnings(records)).toEqual([
      'logits overflow float32: the mean of |x+y|^2 is 3.10e16, and float32 has only every other integer above 2^24. No error is predicted; try --scales 1e-9',
    ])
  })
})
