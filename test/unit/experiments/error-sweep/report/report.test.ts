import {describe, expect, it} from 'vitest'
import {errorSweepReport} from '../../../../../src/experiments/error-sweep/report/report.js'
import type {ErrorSweepRecord} from '../../../../../src/experiments/error-sweep/schema.js'
import {renderTerminal} from '../../../../../src/report/terminal.js'
import {
  deterministic,
  failedSweep,
  metric,
  ranged,
  skippedSweep,
  sweep,
  withoutMeans,
} from '../../../../helpers/records/error-sweep.js'
import {WIDE} from '../../../../helpers/terminal.js'

const report = (records: ErrorSweepRecord[], width = WIDE.width) =>
  renderTerminal(errorSweepReport(records), {width, colour: false})

const softmax = deterministic('softmax', {rel_l2: metric(1.2e-7), mse_over_mean_value: 7e-13})

describe('errorSweepReport', () => {
  it('prints statistics, a table per target, and warnings', () => {
    const records = [
      sweep({num_features: 256}, {mse_over_mean_value: 2.5}),
      sweep(),
      softmax,
      sweep(
        {target: 'matched', method: 'rfa', options: {tau: 0.5}},
        {target_label: 'softmax of unit q, k at temperature 0.25', feature_dim: 128},
      ),
      skippedSweep('no causal form', {method: 'identity'}),
    ]
    expect(report(records)).toMatchInlineSnapshot(`
      "tiny.safetensors, B=1 H=2 L=31 S=31 D=17 Dv=13, causal

      Inputs (entropy of exact rows of weights in nats)

      head  E|x|^2  E|y|^2  E|x+y|^2  E|x-y|^2  entropy  maximum
      ----  ------  ------  --------  --------  -------  -------
         0    4.80    4.20      9.25      8.75     5.64     6.24
         1    4.80    4.20      10.1      8.75     5.64     6.24
       all    4.80    4.20      9.25      8.75     5.64     6.24

      x = q/D^(1/4), y = k/D^(1/4). Relative variance of a kernel estimate: about exp(|x+y|^2) / M with positive features,
      exp(|x-y|^2) / 2M with sin/cos.

      Error against softmax of the given q and k

      method     projection    M   F               rel L2  vs mean(V)           mean MSE             bias^2  cosine
      ---------  ----------  ---  --  -------------------  ----------  -----------------  -----------------  ------
      favor-pos  orth         64  64  * 0.25 [0.20, 0.30]       0.707  0.00120 ± 0.00010  0.000400 ± 2.5e-5   0.970
      favor-pos  orth        256  64    0.25 [0.20, 0.30]        1.58  0.00120 ± 0.00010  0.000400 ± 2.5e-5   0.970
      softmax    -             -   -                exact           -                  -                  -   0.970
      * lowest rel L2 with at most its F, ties included (95 % intervals of ratios; differences below 1 % are equal); never on
      a row worse than averaging V.
      (hidden: variance; widen the terminal or pipe to less -S)

      vs mean(V) per head, at the largest M

      method     projection    M  head 0  head 1
      ---------  ----------  ---  ------  ------
      favor-pos  orth        256   0.632    1.26

      Error from random vectors alone: against what each method converges to

      method         projection   M    F             rel L2  vs mean(V)           mean MSE             bias^2  cosine
      -------------  ----------  --  ---  -----------------  ----------  -----------------  -----------------  ------
      rfa (tau=0.5)  orth        64  128  0.25 [0.20, 0.30]       0.707  0.00120 ± 0.00010  0.000400 ± 2.5e-5   0.970
      (hidden: variance; widen the terminal or pipe to less -S)

      - rfa (tau=0.5) converges to softmax of unit q, k at temperature 0.25

      vs mean(V) per head, at the largest M

      method         projection   M  head 0  head 1
      -------------  ----------  --  ------  ------
      rfa (tau=0.5)  orth        64   0.632    1.26

      M: random vectors; F: length of a feature vector; rel L2: |estimate - exact| / |exact|, median over replicates, in []
      their 95 % interval. mean MSE = bias^2 + variance, with standard errors; a negative bias^2 is too small to see. vs
      mean(V): rel L2 over that of averaging V; above 1 is worse.

      - backend native (avx2), 2 threads

      - identity skipped: no causal form [1 cell]"
    `)
  })

  it('has floor and noise beside errors against softmax, and limits without such a row by themselves', () => {
    const rfa = {method: 'rfa', options: {tau: 0.5}}
    const limit = {target_label: 'softmax of unit q, k at temperature 0.25', limit_distance: 0.6125}
    const text = report(
      [
        sweep({}, {limit_distance: 0}),
        sweep(rfa, {feature_dim: 128}),
        sweep({...rfa, target: 'matched'}, {...limit, rel_l2: metric(0.125)}),
        deterministic('elu', {rel_l2: metric(0.75)}),
        {...deterministic('elu', {...limit, target_label: 'elu', rel_l2: metric(1e-8)})},
        sweep({method: 'oprf', target: 'matched'}, limit),
      ].map((record, at) =>
        at === 4 ? {...record, cell: {...record.cell, target: 'matched' as const}} : record,
      ),
    )
    expect(
      text.slice(text.indexOf('Error against'), text.indexOf('vs mean(V) per')),
    ).toMatchInlineSnapshot(`
      "Error against softmax of the given q and k

      method         projection   M    F             rel L2  vs mean(V)  floor  noise           mean MSE             bias^2
      -------------  ----------  --  ---  -----------------  ----------  -----  -----  -----------------  -----------------
      favor-pos      orth        64   64  0.25 [0.20, 0.30]       0.707      0  0.250  0.00120 ± 0.00010  0.000400 ± 2.5e-5
      rfa (tau=0.5)  orth        64  128  0.25 [0.20, 0.30]       0.707  0.613  0.125  0.00120 ± 0.00010  0.000400 ± 2.5e-5
      elu            -            -    -              0.750       0.707  0.613      0            0.00120            0.00120
      No * for rel L2: no two rows differ (95 % intervals of ratios; differences below 1 % are equal).
      (hidden: variance, cosine; widen the terminal or pipe to less -S)

      - rfa (tau=0.5) converges to softmax of unit q, k at temperature 0.25
      - elu converges to elu

      "
    `)
    expect(text).toContain(
      'Error from random vectors alone: against what each method converges to\n\nmethod  projection   M',
    )
    expect(text.replaceAll('\n', ' ')).toContain(
      'floor: how far what a method converges to is off softmax',
    )
  })

  it('shows errors of queries and means over texts where records have them', () => {
    const queries = {
      query_error_p50: metric(0.125),
      query_error_p90: metric(0.5),
      query_error_p99: metric(2),
      rel_l2_over_texts: {mean: 0.26, low: 0.2, high: 0.35},
      batch: 3,
    }
    const text = report([sweep({}, queries), deterministic('elu')], 160)
    expect(text).toMatch(/ mean over +.*\n.* texts +.* queries +90 % +99 %\n/)
    expect(text).toMatch(/favor-pos .* 0\.26 \[0\.20, 0\.35\] .* 0\.125 +0\.500 +2\.00\n/)
    const legend = text.replaceAll('\n', ' ')
    expect(legend).toContain('in [] its 95 % interval over texts and replicates')
    expect(legend).toContain('50, 90, 99 % of queries: their rows of outputs have at most')
  })

  it('shows the range of few replicates, and says that it is one', () => {
    const few = sweep({replicates: 3}, {rel_l2: ranged(0.25, 0.2, 0.3)})
    const text = report([few, deterministic('softmax')])
    expect(text).toMatch(/favor-pos .* 0\.25 \(0\.20 - 0\.30\) /)
    expect(text.replaceAll('\n', ' ')).toContain(
      '|exact|, median over replicates, in () the range of 3 replicates (a 95 % interval needs 6).',
    )
  })

  it('shows means with their standard errors, and says why a square can be negative', () => {
    const skewed = {mse: {...metric(0.05), mean: 5.25}, bias_squared: -0.25, variance: 5.5}
    const errors = {
      mse_standard_error: 1.25,
      bias_squared_standard_error: 0.375,
      variance_standard_error: 1.5,
    }
    const text = report([sweep({}, {...skewed, ...errors})])
    expect(text).toMatch(/ vs mean\(V\) +mean MSE +bias\^2 +variance/)
    expect(text).toMatch(/ 5\.25 ± 1\.3 +-0\.250 ± 0\.38 +5\.50 ± 1\.5/)
    const legend = text.replaceAll('\n', ' ')
    expect(legend).toContain(
      'mean MSE = bias^2 + variance, with standard errors; a negative bias^2 is',
    )
  })

  it('shows the error of a method that draws nothing as bias, beside means of others', () => {
    const text = report([sweep(), deterministic('elu')], 140)
    expect(text).toMatch(/elu .* 0\.707 +0\.00120 +0\.00120 +0 +0\.970/)
    expect(report([deterministic('elu')])).not.toContain('bias^2')
  })

  it('shows no means of few replicates, and says how many they need', () => {
    const few = sweep({replicates: 3}, withoutMeans('few_replicates'))
    const text = report([few, deterministic('elu')])
    expect(text).not.toMatch(/mean MSE|variance {2}/)
    expect(text.replaceAll('\n', ' ')).toContain('Mean MSE, bias^2 and variance need 6 replicates.')
    expect(report([sweep()])).not.toContain('replicates.')
  })

  it('withholds means that say nothing, and says why', () => {
    const trig = (projection: 'iid' | 'orth') =>
      sweep({method: 'favor-trig', projection}, withoutMeans('sign_changes'))
    const text = report([
      sweep(),
      trig('orth'),
      trig('iid'),
      sweep({method: 'ra', projection: null}, withoutMeans('one_draw')),
      sweep({method: 'hrf', projection: null}, withoutMeans('not_finite')),
      sweep({method: 'rfa', projection: null}, withoutMeans('not_recorded')),
    ])
    expect(text).toMatch(/favor-trig +iid .* 0\.707 +- +- +0\.970/)
    for (const reason of [
      'favor-trig orth, iid M=64: denominators change sign, so single errors have no limit',
      'ra M=64: one draw makes more than half of the squared error',
      'hrf M=64: an estimate is not finite',
      'rfa M=64: an earlier version kept no standard errors',
    ]) {
      expect(text.replaceAll(/\n */g, ' ')).toContain(`no means for ${reason}`)
    }
  })

  it('explains brackets only where it shows some', () => {
    expect(report([deterministic('softmax')])).toContain('median over replicates.')
    const broken = sweep({}, {rel_l2: metric(0.25, 0.2, null)})
    expect(report([broken])).toMatch(/ 0\.250 {2}/)
    expect(report([broken])).toContain('median over replicates.')
  })

  it('shows no ratio where averaging V is exact', () => {
    const text = report([sweep({}, {mse: metric(1e-14), mse_over_mean_value: null})])
    expect(text).toMatch(/ 0\.25 \[0\.20, 0\.30\] {11}- /)
    expect(text.replaceAll('\n', ' ')).toContain('No vs mean(V) where V hardly varies')
    expect(report([sweep()])).not.toContain('No vs mean')
    expect(report([sweep({}, {mse: metric(null), mse_over_mean_value: null})])).not.toContain(
      'No vs mean',
    )
  })

  it('opens a section for each length, scale and causality', () => {
    const text = report([sweep(), sweep({causal: false}), sweep({scale: 0.5}), sweep({seq_len: 7})])
    expect(text.match(/^tiny\.safetensors.*$/gm)).toEqual([
      'tiny.safetensors, B=1 H=2 L=31 S=31 D=17 Dv=13, causal',
      'tiny.safetensors, B=1 H=2 L=31 S=31 D=17 Dv=13, bidirectional',
      'tiny.safetensors, B=1 H=2 L=31 S=31 D=17 Dv=13, causal, q and k times 0.500',
      'tiny.safetensors, B=1 H=2 L=31 S=31 D=17 Dv=13, causal',
    ])
  })

  it('shows a diagnostic column as soon as one row has something to tell', () => {
    const clean = report([sweep()])
    for (const title of ['den<0 %', 'NaN %', 'guarded %', 'KL nats']) {
      expect(clean).not.toContain(title)
    }
    const odd = sweep({num_features: 128}, {negative_denominators_pct: metric(16.8)})
    expect(report([sweep(), odd])).toContain('den<0 %')
  })

  it('keeps the errors and what makes them comparable in 60 columns', () => {
    expect(report([sweep()], 60)).toContain(
      [
        'method     projection   M   F             rel L2  vs mean(V)',
        '---------  ----------  --  --  -----------------  ----------',
        'favor-pos  orth        64  64  0.25 [0.20, 0.30]       0.707',
        '(hidden: mean MSE, bias^2, variance, cosine; widen the',
        'terminal or pipe to less -S)',
      ].join('\n'),
    )
  })

  /** A row of so many heads, each with a ratio of its own. */
  const manyHeads = (heads: number, method: string) => {
    const [first] = sweep().result.per_head
    const per_head = Array.from({length: heads}, (_, head) => {
      return {...first!, head, mse_over_mean_value: 1 + head / 1000}
    })
    return sweep({method, projection: 'iid'}, {per_head, heads})
  }

  it.each([12, 32, 96])('shows %i heads as rows, with every ratio', heads => {
    const records = ['favor-pos', 'favor-hyp', 'rfa'].map(method => manyHeads(heads, method))
    const text = report(records, 80).split('\n')
    const start = text.findIndex(line => line.startsWith('vs mean(V) per head'))
    const shown = text.slice(start + 2, start + 2 + 3 + 1 + heads)
    expect(shown[2]).toMatch(/^head +M=64 +M=64 +M=64$/)
    expect(shown.slice(4).map(line => line.split(/\s+/).filter(Boolean)[0])).toEqual(
      Array.from({length: heads}, (_, head) => String(head)),
    )
  })

  it('has no yardstick and no exact form among ratios of heads, where they say nothing', () => {
    const text = report([sweep(), deterministic('mean-value'), softmax])
    const [, heads] = text.split('vs mean(V) per head')
    expect(heads).toContain('favor-pos')
    expect(heads).not.toMatch(/mean-value|softmax/)
  })

  it('says exact where there is no error but rounding', () => {
    expect(report([sweep(), softmax])).toMatch(/softmax .* exact +- +- +-/)
  })

  it('tells only the troubles when no cell completed', () => {
    expect(report([failedSweep('CELL_CRASHED', 'killed by SIGKILL')])).toBe(
      '- favor-pos failed: killed by SIGKILL (CELL_CRASHED) [1 cell]',
    )
  })
})
