import {describe, expect, it} from 'vitest'
import {errorSweepReport} from '../../../../../../src/experiments/error-sweep/report/report.js'
import {
  featureNotes,
  inputNotes,
  predictionNotes,
  splitReplicates,
} from '../../../../../../src/experiments/error-sweep/report/tables/notes.js'
import type {
  CompletedSweep,
  ErrorSweepCell,
} from '../../../../../../src/experiments/error-sweep/schema.js'
import type {InputSpec} from '../../../../../../src/inputs/spec.js'
import {renderMarkdown} from '../../../../../../src/report/markdown.js'
import * as plans from '../../../../../helpers/plans.js'
import {
  deterministic,
  metric,
  sweep,
  withoutMeans,
} from '../../../../../helpers/records/error-sweep.js'

const NAMES = {query: 'q', key: 'k', value: 'v'}
const file = (path: string): InputSpec => ({kind: 'file', paths: [path], names: NAMES})
const swept = (cell: Partial<ErrorSweepCell>, sizes: object = {}) => {
  const record = sweep(cell) as CompletedSweep
  return {...record, result: {...record.result, ...sizes}}
}

describe('notes on the input of a sweep', () => {
  it('say what a key mask leaves out', () => {
    const sizes = {batch: 2, query_len: 31, key_len: 31, hidden_keys: 7}
    expect(inputNotes(swept({}, {...sizes, judged_queries: 55}))).toEqual([
      '7 of 62 tokens are padding and are ignored, as keys and as queries',
    ])
    expect(inputNotes(swept({}, {...sizes, query_len: 29, judged_queries: 58}))).toEqual([
      '7 of 62 keys are masked and are ignored',
    ])
    expect(inputNotes(swept({}, {...sizes, hidden_keys: 0}))).toEqual([])
  })

  it('say that heads are more than tokens, as one types the remedy', () => {
    const sizes = {heads: 31, query_len: 3, key_len: 3}
    const note =
      'read as [B, H, L, D] it has 31 heads and 3 tokens; if its axes are [B, L, H, D], say `layout: blhd`'
    expect(inputNotes(swept({}, sizes))).toEqual([note])
    const told = {...file('a.npz'), layout: 'blhd'} as InputSpec
    expect(inputNotes(swept({input: told}, sizes))).toEqual([
      expect.stringMatching(/say `layout: bhld`$/),
    ])
    expect(inputNotes(swept({seq_len: 3}, sizes))).toEqual([]) // the file may have more
    const generated = plans.sweep().input
    expect(inputNotes(swept({input: generated}, sizes))).toEqual([])
  })

  it('stand in the report before its tables', () => {
    const text = renderMarkdown(
      errorSweepReport([swept({}, {heads: 31, query_len: 3, key_len: 3})]),
    )
    const [note, tables] = ['layout: blhd', 'Inputs (entropy'].map(part => text.indexOf(part))
    expect(note).toBeGreaterThan(0)
    expect(note).toBeLessThan(tables!)
  })
})

const heads = (...needs: (number | null)[]) => {
  const [first] = sweep().result.per_head
  return {per_head: needs.map((need, head) => ({...first!, head, needed_num_features: need}))}
}

describe('notes on features', () => {
  it('says nothing of an M by the mean size of logits: single pairs need far more', () => {
    expect(featureNotes([sweep({num_features: 64}, heads(400, 25_000, 3000))])).toEqual([])
  })

  it('says where rounding decides, and what to try', () => {
    const signed = (deviation: number, guarded = 0) => ({
      ...heads(4),
      row_sum_deviation: metric(deviation),
      negative_denominators_pct: metric(40),
      guarded_pct: metric(guarded),
    })
    const hrf = {method: 'hrf'} as const
    expect(featureNotes([sweep(hrf, signed(1e-6)), sweep(hrf, signed(0.25))])).toEqual([
      'hrf: float32 rounding decides on these outputs, and another backend has others (sums of weights, which are 1 but for rounding, are off by 0.250); try smaller queries and keys (`scales`), or favor-pos, where nothing cancels',
    ])
    expect(featureNotes([sweep(hrf, signed(1e-4))])).toEqual([])
    expect(featureNotes([sweep(hrf, signed(0.25, 3))])).toEqual([]) // a guard moved them
    const shifted = {...hrf, options: {normalizerEpsilon: 0.1}}
    expect(featureNotes([sweep(shifted, signed(0.25))])).toEqual([])
  })

  it('says nothing about methods without theory', () => {
    expect(featureNotes([deterministic('elu')])).toEqual([])
  })

  it('tells the M for an error of 5 % where errors are predicted, beside both errors at the largest M', () => {
    const predicted = (needs: readonly (number | null)[], overall: number | null) => ({
      rel_l2: metric(0.19),
      predicted_rel_l2: 0.21,
      num_features_for_5_percent: overall,
      ...(overall === 3200 && {
        num_features_for_5_percent_low: 2420,
        num_features_for_5_percent_high: 4232,
      }),
      per_head: heads(...needs).per_head.map((own, at) => ({
        ...own,
        predicted_rel_l2: 0.21,
        num_features_for_5_percent: needs[at]!,
      })),
    })
    const warnings = (needs: readonly (number | null)[], overall: number | null) =>
      featureNotes([sweep({num_features: 8}), sweep({num_features: 64}, predicted(needs, overall))])
    expect(warnings([400, 25_300, 3000], 3200)).toEqual([
      'favor-pos orth needs about 3,200 [2,400, 4,200] features (most in head 1: about 25,000; least in head 0: about 400) for an error of 5 %; at M=64 rel L2 is 0.190, predicted 0.210',
    ])
    expect(warnings([400, null], null)).toEqual([
      'favor-pos orth needs more than 16 million features (most in head 1: more than 16 million; least in head 0: about 400) for an error of 5 %; at M=64 rel L2 is 0.190, predicted 0.210',
    ])
    expect(warnings([400], 400)).toEqual([
      'favor-pos orth needs about 400 features for an error of 5 %; at M=64 rel L2 is 0.190, predicted 0.210',
    ])
    // one head needs more, all together do not
    expect(warnings([20, 80], 50)).toEqual([])
  })

  it('says why the M for an error of 5 % is not known', () => {
    const unknown = (predicted_rel_l2: number | null) =>
      featureNotes([
        sweep(
          {num_features: 64},
          {rel_l2: metric(0.19), predicted_rel_l2, prediction_unknown: 'uncertain'},
        ),
      ])
    const why =
      'favor-pos: the M for an error of 5 % is not known (two seeds differ by more than 15 %, or errors rise with M)'
    expect(unknown(0.21)).toEqual([`${why}; at M=64 rel L2 is 0.190, predicted 0.210`])
    expect(unknown(null)).toEqual([`${why}; at M=64 rel L2 is 0.190`])
    const proposals = {feature_dim: 0, rel_l2: metric(0.19), predicted_rel_l2: 0.21}
    expect(
      featureNotes([sweep({num_features: 64}, {...proposals, prediction_unknown: 'tokens'})]),
    ).toEqual([
      'no M is predicted to bring favor-pos to an error of 5 % (there are no more proposals than tokens); at M=64 rel L2 is 0.190, predicted 0.210',
    ])
    const needing = {...proposals, num_features_for_5_percent: 400, per_head: []}
    expect(featureNotes([sweep({num_features: 64}, needing)])).toEqual([
      'favor-pos orth needs about 400 proposals for an error of 5 %; at M=64 rel L2 is 0.190, predicted 0.210',
    ])
  })

  it('says once that predictions were not asked for, and what has them', () => {
    const left = sweep({}, {prediction_unknown: 'not_asked'})
    expect(featureNotes([left])).toEqual([])
    const sentence = (of: string) =>
      `predictions${of} were not asked for: the same command with \`predictions\` has them`
    expect(predictionNotes([left, left])).toEqual([sentence('')])
    expect(predictionNotes([left, deterministic('elu')])).toEqual([sentence(' of 1 row')])
    expect(predictionNotes([sweep()])).toEqual([])
    const report = renderMarkdown(errorSweepReport([left, deterministic('elu')]))
    expect(report).toContain('- predictions of 1 row were not asked for')
  })

  it('says in one sentence that logits overflow, and what to try', () => {
    const {statistics} = sweep().result
    const overflowing = {
      statistics: {...statistics, sum_norm2: 3.1e16},
      prediction_unknown: 'overflow',
    } as const
    const records = [sweep({}, overflowing), sweep({num_features: 256}, overflowing)]
    expect(featureNotes(records)).toEqual([
      'logits overflow float32: the mean of |x+y|^2 is 3.10e16, and float32 has only every other integer above 2^24. No error is predicted; try --scales 1e-9',
    ])
  })
})

describe('replicates of a split', () => {
  const noisy = {mse: metric(1), bias_squared: 0.01, bias_squared_standard_error: 0.1}

  it('are as many as show a bias of a tenth nine times in ten', () => {
    // noise falls like 1/R: 10 x 0.1 x 2.927 / 0.1
    expect(splitReplicates(sweep({}, noisy))).toBe(30)
    expect(splitReplicates(sweep({replicates: 40}, noisy))).toBe(118)
  })

  it('are none where the bias is seen, the noise is small, or nothing is known', () => {
    expect(splitReplicates(sweep({}, {...noisy, bias_squared: 0.2}))).toBeUndefined()
    expect(
      splitReplicates(sweep({}, {...noisy, bias_squared_standard_error: 0.01})),
    ).toBeUndefined()
    expect(splitReplicates(sweep({}, {...noisy, ...withoutMeans('one_draw')}))).toBeUndefined()
    expect(splitReplicates(deterministic('elu'))).toBeUndefined()
  })
})
