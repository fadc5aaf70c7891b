import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {placesOf} from '../../../../../src/experiments/error-sweep/report/groups/places.js'
import {errorSweepScreen} from '../../../../../src/experiments/error-sweep/report/screen.js'
import {answerSentences} from '../../../../../src/experiments/error-sweep/report/sentences/answer.js'
import type {
  CompletedSweep,
  ErrorSweepCell,
  ErrorSweepRecord,
  ErrorSweepResult,
} from '../../../../../src/experiments/error-sweep/schema.js'
import {errorText} from '../../../../../src/report/numbers.js'
import {renderTerminal} from '../../../../../src/report/terminal.js'
import {summarise} from '../../../../../src/stats/index.js'
import {
  failedSweep,
  metric,
  replicated,
  replicatedOnce,
  STATISTICS,
  scattered,
  skippedSweep,
  withoutMeans,
} from '../../../../helpers/records/error-sweep.js'

const screen = (records: readonly ErrorSweepRecord[]) => {
  const lines = renderTerminal(errorSweepScreen(records), {width: 80, colour: false}).split('\n')
  expect(lines.length).toBeLessThanOrEqual(20)
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(80)
  return lines.join('\n')
}

/** rel L2 of averaging V, and the mean square of an exact output. */
const [AVERAGE, SQUARE] = [0.94, 0.002]

/** What a record says of squared errors where these are those of its replicates. */
const squares = (errors: readonly number[], average = AVERAGE) => {
  const mse = summarise(errors.map(error => error ** 2 * SQUARE))
  return {
    mse,
    mean_value_mse: average ** 2 * SQUARE,
    mse_over_mean_value: mse.median === null ? null : mse.median / SQUARE / average ** 2,
  }
}

/** A drawn method. @param spread - power of the scatter of its replicates */
const drawn = (
  method: string,
  error: number,
  cell: Partial<ErrorSweepCell> & {spread?: number; start?: number} = {},
  result: Partial<ErrorSweepResult> = {},
) => {
  const {spread = 0.2, start = 0, ...changes} = cell
  const errors = scattered(changes.replicates ?? 9, start).map(factor => error * factor ** spread)
  return replicated(
    errors,
    {method, causal: false, num_features: 64, ...changes},
    {feature_dim: changes.num_features ?? 64, ...squares(errors), ...result},
  )
}

/** A method that draws nothing. */
const fixed = (
  method: string,
  error: number,
  feature_dim: number,
  cell: Partial<ErrorSweepCell> = {},
  result: Partial<ErrorSweepResult> = {},
) => {
  const record = replicatedOnce(method, error, {feature_dim, ...squares([error]), ...result})
  return {...record, cell: {...record.cell, causal: false, ...cell}}
}

const averaging = (cell?: Partial<ErrorSweepCell>) => fixed('mean-value', AVERAGE, 1, cell)
const softmax = fixed('softmax', 3e-7, 0)

/** Both projections at both M. */
const both = (
  method: string,
  [few, many]: readonly [number, number],
  cell: Partial<ErrorSweepCell> & {spread?: number} = {},
  result: (num_features: number) => Partial<ErrorSweepResult> = () => ({}),
) =>
  (['iid', 'orth'] as const).flatMap((projection, start) =>
    [64, 256].map(num_features =>
      drawn(
        method,
        num_features === 64 ? few : many,
        {projection, num_features, start, ...cell},
        result(num_features),
      ),
    ),
  )

const CHANGES_SIGN = {...withoutMeans('sign_changes'), negative_denominators_pct: metric(40)}
const sincos = () => both('favor-trig', [116, 443], {spread: 3}, () => CHANGES_SIGN)
const twice = (num_features: number) => ({feature_dim: 2 * num_features})
const needed = (count: number) => () => ({
  predicted_rel_l2: 0.88,
  num_features_for_5_percent: count,
  num_features_for_5_percent_low: count / 1.3,
  num_features_for_5_percent_high: count * 1.3,
})
const left = (error: number) => () => ({
  predicted_rel_l2: 0.88,
  last_num_features: 4096,
  last_rel_l2: error,
  last_rel_l2_low: error / 1.3,
  last_rel_l2_high: error * 1.3,
})

const quick = () => [
  ...both('favor-pos', [0.92, 0.86], {}, left(0.7)),
  ...sincos(),
  ...both('rfa', [0.845, 0.84], {spread: 0.01}, twice),
  ...both('rfa', [0.1, 0.05], {target: 'matched'}, twice),
  fixed('elu', 0.908, 32),
  averaging(),
  softmax,
]

describe('errorSweepScreen', () => {
  it('says that no method comes close, why, and what is unusable', () => {
    const padded = quick().map(record => ({
      ...record,
      result: {...record.result, batch: 2, hidden_keys: 7, judged_queries: 55},
    }))
    expect(screen(padded)).toMatchInlineSnapshot(`
      "Error on tiny.safetensors: 2 heads, 31 tokens, bidirectional

      No method with up to M=256 comes close to exact attention: the best, rfa orth
      M=256, is 84.0 % [83.9, 84.1] off. Not distinguishable from it: rfa iid (M=64,
      256), rfa orth M=64 and favor-pos. Averaging V, which ignores q and k, is 94 %
      off. Logits are large (mean |q+k|^2/sqrt(D) = 9.3, by head 9.3 to 10): favor-pos
      orth with M=4,096 would still be 70 % [54, 91] off; exact attention of 31 tokens
      is cheaper.

      method         M=64    M=256  features  note
      ----------  -------  -------  --------  ----------------------------------
      rfa         84-85 %     84 %        2M  at its limit: more M does not help
      favor-pos   89-95 %  83-89 %         M  iid and orth not distinguishable
      elu            91 %                 32
      mean-value     94 %                  1  averages V, ignores q and k
      favor-trig        -        -         M  unusable: denominators change sign
      softmax       exact                  -

      Error: |estimate-exact|/|exact|, 95 % interval over 9 draws. M: random vectors.
      The details have 1 more note."
    `)
  })

  it('says that a method is at its limit where less than a third of its error is off that', () => {
    const noteOf = (off: number) =>
      screen([
        ...both('rfa', [0.5, 0.3], {}, twice),
        ...both('rfa', [0.4, off], {target: 'matched'}, twice),
        averaging(),
      ])
        .split('\n')
        .find(line => line.startsWith('rfa'))
    expect(noteOf(0.09)).toContain('at its limit')
    expect(noteOf(0.12)).not.toContain('at its limit') // 40 % of the error
  })

  it('says that a method comes within 5 %', () => {
    const records = [
      ...both('favor-pos', [0.09, 0.04]),
      ...both('favor-hyp', [0.2, 0.11], {}, twice),
      averaging(),
    ]
    expect(screen(records)).toMatchInlineSnapshot(`
      "Error on tiny.safetensors: 2 heads, 31 tokens, bidirectional

      favor-pos orth M=256 comes within 5 % of exact attention: it is 4.0 % [3.9, 4.1]
      off. Not distinguishable from it: favor-pos iid M=256. Averaging V, which
      ignores q and k, is 94 % off.

      method           M=64      M=256  features  note
      ----------  ---------  ---------  --------  --------------------------------
      favor-pos   8.7-9.3 %  3.9-4.1 %         M  iid and orth not distinguishable
      favor-hyp     19-21 %       11 %        2M  iid and orth not distinguishable
      mean-value       94 %                    1  averages V, ignores q and k

      Error: |estimate-exact|/|exact|, 95 % interval over 9 draws. M: random vectors."
    `)
  })

  it('is about the one row of one method', () => {
    const causal = {causal: true}
    expect(screen([drawn('favor-pos', 0.3, causal)])).toMatchInlineSnapshot(`
      "Error on tiny.safetensors: 2 heads, 31 tokens, causal

      favor-pos orth M=64 is 30 % [29, 31] off exact attention. Averaging V, which
      ignores q and k, is 94 % off.

      method        M=64  features
      ---------  -------  --------
      favor-pos  29-31 %         M

      Error: |estimate-exact|/|exact|, 95 % interval over 9 draws. M: random vectors."
    `)
    expect(screen([fixed('elu', 0.7, 32)])).toMatchInlineSnapshot(`
      "Error on tiny.safetensors: 2 heads, 31 tokens, bidirectional

      elu does not come close to exact attention: it is 70 % off. Averaging V, which
      ignores q and k, is 94 % off.

      method  error  features
      ------  -----  --------
      elu      70 %        32

      Error: |estimate-exact|/|exact|."
    `)
  })

  it('names what ties with the best, and what more features do not change', () => {
    const records = [
      ...both('favor-pos', [0.3, 0.3]),
      ...both('oprf', [0.301, 0.301]),
      ...both('favor-hyp', [0.6, 0.6], {}, twice),
      averaging(),
    ]
    expect(screen(records)).toMatchInlineSnapshot(`
      "Error on tiny.safetensors: 2 heads, 31 tokens, bidirectional

      The best method, favor-pos orth M=64, is 30 % [29, 31] off exact attention. Not
      distinguishable from it: favor-pos iid (M=64, 256), favor-pos orth M=256 and
      oprf. Averaging V, which ignores q and k, is 94 % off.

      method         M=64    M=256  features  note
      ----------  -------  -------  --------  --------------------------------
      favor-pos   29-31 %  29-31 %         M  iid and orth not distinguishable
      oprf        29-31 %  29-31 %         M  iid and orth not distinguishable
      favor-hyp   58-62 %  58-62 %        2M  iid and orth not distinguishable
      mean-value     94 %                  1  averages V, ignores q and k

      Error: |estimate-exact|/|exact|, 95 % interval over 9 draws. M: random vectors."
    `)
  })

  it('keeps projections apart that differ', () => {
    const records = [
      drawn('favor-pos', 0.4, {projection: 'iid'}),
      drawn('favor-pos', 0.2, {projection: 'orth'}),
      averaging(),
    ]
    expect(screen(records)).toMatchInlineSnapshot(`
      "Error on tiny.safetensors: 2 heads, 31 tokens, bidirectional

      The best variant, favor-pos orth M=64, is 20 % [19, 21] off exact attention.
      Averaging V, which ignores q and k, is 94 % off.

      method             M=64  features  note
      --------------  -------  --------  ---------------------------
      favor-pos orth  19-21 %         M
      favor-pos iid   39-41 %         M
      mean-value         94 %         1  averages V, ignores q and k

      Error: |estimate-exact|/|exact|, 95 % interval over 9 draws. M: random vectors."
    `)
  })

  it('says that no method has a lower error than averaging V', () => {
    const worse = [...both('favor-pos', [1.4, 1.1]), fixed('elu', 1.02, 32), averaging()]
    expect(screen(worse)).toMatchInlineSnapshot(`
      "Error on tiny.safetensors: 2 heads, 31 tokens, bidirectional

      No method with up to M=256 has a lower error than averaging V (94 % off), which
      ignores q and k; the closest, elu, is 102 % off.

      method           M=64      M=256  features  note
      ----------  ---------  ---------  --------  ---------------------------
      mean-value       94 %                    1  averages V, ignores q and k
      elu             102 %                   32  worse than averaging V
      favor-pos   135-145 %  106-114 %         M  worse than averaging V

      Error: |estimate-exact|/|exact|, 95 % interval over 9 draws. M: random vectors."
    `)
    expect(screen([drawn('favor-pos', 1.4), averaging()])).toContain(
      'favor-pos orth M=64 is 142 % [',
    )
  })

  it('does not call what is not distinguishable from averaging V better', () => {
    const records = [drawn('favor-pos', 0.938, {spread: 0.5}), averaging()]
    expect(screen(records)).toMatchInlineSnapshot(`
      "Error on tiny.safetensors: 2 heads, 31 tokens, bidirectional

      favor-pos orth M=64 is 96 % [87, 102] off, not distinguishable from averaging V
      (94 % off), which ignores q and k.

      method          M=64  features  note
      ----------  --------  --------  ---------------------------
      mean-value      94 %         1  averages V, ignores q and k
      favor-pos   87-102 %         M

      Error: |estimate-exact|/|exact|, 95 % interval over 9 draws. M: random vectors."
    `)
  })

  it('says that nothing is usable', () => {
    const broken = replicated([null, 0.4, 0.5, 0.4, 0.3, 0.2], {method: 'taylor', causal: false})
    expect(screen([...sincos(), broken])).toMatchInlineSnapshot(`
      "Error on tiny.safetensors: 2 heads, 31 tokens, bidirectional

      favor-trig is unusable: denominators change sign. taylor is broken: outputs are
      not finite. Averaging V, which ignores q and k, is 94 % off.

      method      M=64  M=256  features  note
      ----------  ----  -----  --------  ----------------------------------
      favor-trig     -      -         M  unusable: denominators change sign
      taylor         -      -         M  not finite

      Error: |estimate-exact|/|exact|, 95 % interval over 6 to 9 draws. M: random
      vectors."
    `)
  })

  it('says that exact attention is zero where errors are unknown for that alone', () => {
    const none = {...drawn('favor-pos', 1).result.mse, max: 0, median: 0, mean: 0, min: 0}
    const result = {mse: none, not_finite_pct: none}
    const records = [replicated([null, null, null], {method: 'favor-pos', causal: false}, result)]
    const text = screen(records)
    expect(text).toContain('Exact attention is zero here, so no error relative to it exists.')
    expect(text).toContain('exact attention is zero\n')
    expect(text).not.toContain('broken')
  })

  it('says what exact forms and averaging V do where nothing else was measured', () => {
    const online = fixed('softmax-online', 2e-7, 0)
    expect(screen([softmax, online, averaging()])).toMatchInlineSnapshot(`
      "Error on tiny.safetensors: 2 heads, 31 tokens, bidirectional

      softmax and softmax-online equal exact attention up to float32 rounding.
      Averaging V, which ignores q and k, is 94 % off.

      method                      error  features  note
      --------------------------  -----  --------  ---------------------------
      mean-value                   94 %         1  averages V, ignores q and k
      softmax and softmax-online  exact         -

      Error: |estimate-exact|/|exact|."
    `)
    expect(screen([softmax])).toContain('softmax equals exact attention up to float32 rounding.')
    expect(screen([averaging()])).toContain('Averaging V, which ignores q and k, is 94 % off.')
  })

  it('says that one draw has no interval', () => {
    const text = screen([drawn('favor-pos', 0.3, {replicates: 1})])
    expect(text).toContain('|estimate-exact|/|exact|, 1 draw: no interval.')
    expect(text).not.toContain('range over')
  })

  it('says that few draws rank nothing, and gives their range', () => {
    const records = [
      drawn('favor-pos', 0.3, {replicates: 3}),
      drawn('rfa', 0.4, {replicates: 3, start: 2}, twice(64)),
    ]
    expect(screen(records)).toMatchInlineSnapshot(`
      "Error on tiny.safetensors: 2 heads, 31 tokens, bidirectional

      The best method, favor-pos orth M=64, is 30 % (29-31 % in 3 draws) off exact
      attention. 3 draws are too few to rank them; use --replicates 6 or more.
      Averaging V, which ignores q and k, is 94 % off.

      method        M=64  features
      ---------  -------  --------
      favor-pos  29-31 %         M
      rfa           40 %        2M

      Error: |estimate-exact|/|exact|, range over 3 draws. M: random vectors."
    `)
  })

  it('has a row for each of several layers, and says from where to where they go', () => {
    const layers = Array.from({length: 12}, (_, layer) => [
      drawn('favor-pos', 0.1 + layer / 20, {layer, start: layer}),
      fixed('elu', 0.5, 32, {layer}),
      averaging({layer}),
    ])
    expect(screen(layers.flat())).toMatchInlineSnapshot(`
      "Error on tiny.safetensors: 12 layers, 2 heads, 31 tokens, bidirectional

      The lowest error against exact attention goes from 10 % (layer 0: favor-pos orth
      M=64) to 50 % (layer 11: elu). Averaging V, which ignores q and k, is 94 % off.

      layer  lowest error  method               averaging V
      -----  ------------  -------------------  -----------
          0      9.7-10 %  favor-pos orth M=64         94 %
          1       15-16 %  favor-pos orth M=64         94 %
          3       24-26 %  favor-pos orth M=64         94 %
          4       29-31 %  favor-pos orth M=64         94 %
          6       39-41 %  favor-pos orth M=64         94 %
          7       44-46 %  favor-pos orth M=64         94 %
          8          50 %  elu                         94 %
         10          50 %  elu                         94 %
         11          50 %  elu                         94 %

      Error: |estimate-exact|/|exact|, 95 % interval over 9 draws. M: random vectors.
      The details have 3 more rows."
    `)
  })

  it('has a row for each scale and length', () => {
    const records = [0.5, 1, 2].flatMap(scale =>
      [256, 1024].flatMap(seq_len => {
        const statistics = {...STATISTICS, sum_norm2: 9 * scale ** 2}
        const result = {query_len: seq_len, key_len: seq_len, statistics}
        return [
          drawn('favor-pos', 0.04 * 5 ** (2 * scale), {scale, seq_len}, result),
          {...averaging({scale, seq_len}), result: {...averaging().result, ...result}},
        ]
      }),
    )
    expect(screen(records)).toMatchInlineSnapshot(`
      "Error on tiny.safetensors: 2 heads, 256 to 1024 tokens, bidirectional, q and k
      times 0.5 to 2

      The lowest error against exact attention is 20 % (256 tokens, q and k times 0.5:
      favor-pos orth M=64). For 4 of the 6 settings no method with up to M=64 has a
      lower error than averaging V. Averaging V, which ignores q and k, is 94 % off.
      The size of logits, mean |q+k|^2/sqrt(D), goes from 2.3 to 36.

      tokens  q, k times  lowest error  method               averaging V
      ------  ----------  ------------  -------------------  -----------
         256         0.5       19-21 %  favor-pos orth M=64         94 %
        1024         0.5       19-21 %  favor-pos orth M=64         94 %
         256           1      97-103 %  favor-pos orth M=64         94 %
        1024           1      97-103 %  favor-pos orth M=64         94 %
         256           2        24-26x  favor-pos orth M=64         94 %
        1024           2        24-26x  favor-pos orth M=64         94 %

      Error: |estimate-exact|/|exact|, 95 % interval over 9 draws. M: random vectors."
    `)
  })

  it('says where no method has a lower error than averaging V, or none anywhere', () => {
    const at = (layer: number, error: number) => [
      drawn('favor-pos', error, {layer}),
      averaging({layer}),
    ]
    expect(screen([...at(0, 0.3), ...at(1, 1.5), ...at(2, 1.5)])).toMatchInlineSnapshot(`
      "Error on tiny.safetensors: layers 0, 1 and 2, 2 heads, 31 tokens, bidirectional

      The lowest error against exact attention is 30 % (layer 0: favor-pos orth M=64).
      For 2 of the 3 layers no method with up to M=64 has a lower error than averaging
      V. Averaging V, which ignores q and k, is 94 % off.

      layer  lowest error  method               averaging V
      -----  ------------  -------------------  -----------
          0       29-31 %  favor-pos orth M=64         94 %
          1     145-155 %  favor-pos orth M=64         94 %
          2     145-155 %  favor-pos orth M=64         94 %

      Error: |estimate-exact|/|exact|, 95 % interval over 9 draws. M: random vectors."
    `)
    expect(screen([...at(0, 1.3), ...at(1, 1.5), ...at(2, 1.5)])).toMatchInlineSnapshot(`
      "Error on tiny.safetensors: layers 0, 1 and 2, 2 heads, 31 tokens, bidirectional

      No method with up to M=64 has a lower error than averaging V for any of the 3
      layers. Averaging V, which ignores q and k, is 94 % off.

      layer  lowest error  method               averaging V
      -----  ------------  -------------------  -----------
          0     126-135 %  favor-pos orth M=64         94 %
          1     145-155 %  favor-pos orth M=64         94 %
          2     145-155 %  favor-pos orth M=64         94 %

      Error: |estimate-exact|/|exact|, 95 % interval over 9 draws. M: random vectors."
    `)
  })

  it('says what was skipped and what failed', () => {
    const trouble = [
      skippedSweep('no causal form', {method: 'identity'}),
      failedSweep('CELL_CRASHED', `the process ended ${'and ended '.repeat(30)}`, {method: 'rfa'}),
    ]
    expect(screen([drawn('favor-pos', 0.3), ...trouble])).toMatchInlineSnapshot(`
      "Error on tiny.safetensors: 2 heads, 31 tokens, bidirectional

      favor-pos orth M=64 is 30 % [29, 31] off exact attention. Averaging V, which
      ignores q and k, is 94 % off.

      method        M=64  features
      ---------  -------  --------
      favor-pos  29-31 %         M

      Error: |estimate-exact|/|exact|, 95 % interval over 9 draws. M: random vectors.

      - 1 cell failed (rfa): the process ended and ended and ended and ended and ended
        and ended and ended and ended...
      - 1 cell skipped (identity): no causal form"
    `)
    expect(screen(trouble)).toMatchInlineSnapshot(`
      "- 1 cell failed (rfa): the process ended and ended and ended and ended and ended
        and ended and ended and ended...
      - 1 cell skipped (identity): no causal form"
    `)
    expect(screen([])).toBe('')
  })

  it('shows the best of thirty methods, and counts the others', () => {
    const records = Array.from({length: 30}, (_, at) =>
      both(`method-${at}`, [0.4 + at / 90, 0.3 + at / 90]),
    )
    const skipped = ['a', 'b', 'c'].map(why => skippedSweep(why, {method: 'rfa-gate'}))
    expect(screen([...records.flat(), averaging(), softmax, ...skipped])).toMatchInlineSnapshot(`
      "Error on tiny.safetensors: 2 heads, 31 tokens, bidirectional

      The best method, method-0 orth M=256, is 30 % [29, 31] off exact attention. Not
      distinguishable from it: method-0 iid M=256 and method-1. Averaging V, which
      ignores q and k, is 94 % off.

      method         M=64    M=256  features  note
      ----------  -------  -------  --------  --------------------------------
      method-0    39-41 %  29-31 %         M  iid and orth not distinguishable
      method-1    40-43 %  30-32 %         M  iid and orth not distinguishable
      method-2    41-44 %  31-33 %         M  iid and orth not distinguishable
      method-3    42-45 %  32-34 %         M  iid and orth not distinguishable
      method-4    43-46 %  33-36 %         M  iid and orth not distinguishable
      method-5    44-47 %  34-37 %         M  iid and orth not distinguishable
      mean-value     94 %                  1  averages V, ignores q and k

      Error: |estimate-exact|/|exact|, 95 % interval over 9 draws. M: random vectors.
      The details have 25 more rows.

      - 3 cells skipped (rfa-gate): 3 reasons, see --details"
    `)
  })

  it('compares with what methods converge to where nothing else was asked for', () => {
    const limit = {target_label: 'softmax of unit q, k at temperature 1'}
    const matched = (error: number, target_label: string, method = 'rfa') =>
      drawn(method, error, {method, target: 'matched'}, {target_label})
    expect(screen([matched(0.12, limit.target_label)])).toMatchInlineSnapshot(`
      "Error on tiny.safetensors: 2 heads, 31 tokens, bidirectional

      rfa orth M=64 is 12.1 % [11.6, 12.4] off its limit, softmax of unit q, k at
      temperature 1. Averaging V, which ignores q and k, is 94 % off.

      method  M=64  features
      ------  ----  --------
      rfa     12 %         M

      Error: |estimate-exact|/|exact|, 95 % interval over 9 draws. M: random vectors."
    `)
    expect(
      screen([matched(0.12, limit.target_label), matched(0.3, 'squared dot products', 'favor-x')]),
    ).toMatchInlineSnapshot(`
      "Error on tiny.safetensors: 2 heads, 31 tokens, bidirectional

      The lowest error against what methods converge to goes from 12 % (softmax of
      unit q, k at temperature 1: rfa orth M=64) to 30 % (squared dot products:
      favor-x orth M=64). Averaging V, which ignores q and k, is 94 % off.

      compared with                 lowest error  method             averaging V
      ----------------------------  ------------  -----------------  -----------
      softmax of un...emperature 1          12 %  rfa orth M=64             94 %
      squared dot products               29-31 %  favor-x orth M=64         94 %

      Error: |estimate-exact|/|exact|, 95 % interval over 9 draws. M: random vectors."
    `)
  })

  it('says what became of row metrics and of a precision', () => {
    const until_ci = {metric: 'rel_l2', relative_half_width: 0.05, max_replicates: 40} as const
    const record = drawn(
      'favor-pos',
      0.3,
      {until_ci, row_metrics: true},
      {
        replicates_run: 20,
        stopped_by: 'precision',
        row_kl_nats: metric(0.12),
        row_total_variation: metric(0.21),
        row_top1_agreement: metric(0.6),
      },
    )
    expect(screen([record, averaging()])).toMatchInlineSnapshot(`
      "Error on tiny.safetensors: 2 heads, 31 tokens, bidirectional

      favor-pos orth M=64 is 30 % [29, 31] off exact attention. Averaging V, which
      ignores q and k, is 94 % off.

      method         M=64  features  note
      ----------  -------  --------  ---------------------------
      favor-pos   29-31 %         M
      mean-value     94 %         1  averages V, ignores q and k

      Error: |estimate-exact|/|exact|, 95 % interval over 20 draws. M: random vectors.

      - the 95 % interval of the median rel L2 is within ±5.0 % in 1 row (20
        replicates)
      - favor-pos orth M=64: 21 % of attention on other keys; top key right: 60 %"
    `)
  })

  it('cuts long names of files, methods and options', () => {
    const paths = [`arrays/${'a-very-long-name-'.repeat(8)}.safetensors`]
    const names = {query: 'q', key: 'k', value: 'v'}
    const input = {kind: 'file', paths, names} as const
    const options = {normalizerEpsilon: 0.000001, numericalStabilizer: 0.001}
    const records = [1, 2, 3].map(at =>
      drawn(`favor-of-a-plug-in-with-a-long-name-${at}`, 0.3 * at, {input, options}),
    )
    expect(screen(records)).toMatchInlineSnapshot(`
      "Error on a-very-long-name-a-...-name-.safetensors: 2 heads, 31 tokens,
      bidirectional

      The best method, favor-of-a-plug-in-with-a-long-name-1
      (normalizerEpsilon=0.000001, numericalStabilizer=0.001) orth M=64, is 30 % [29,
      31] off exact attention. Averaging V, which ignores q and k, is 94 % off.

      method                           M=64  features
      ----------------------------  -------  --------
      favor-of-a-pl...lizer=0.001)  29-31 %         M
      favor-of-a-pl...lizer=0.001)  58-62 %         M
      favor-of-a-pl...lizer=0.001)  87-93 %         M

      Error: |estimate-exact|/|exact|, 95 % interval over 9 draws. M: random vectors."
    `)
  })

  it('says first where averaging V is exact like all others', () => {
    const exact = (method: string) => drawn(method, 1e-7)
    const said = screen(['favor-pos', 'mean-value'].map(exact)).replaceAll(/\s+/g, ' ')
    expect(said).toContain('ignores q and k, is exact here up to float32 rounding.')
    expect(said).not.toContain('equals exact attention')
  })

  it('says that averaging V is exact where V hardly varies', () => {
    const records = [drawn('favor-pos', 0.01, {}, {mse_over_mean_value: null})]
    expect(screen(records).replaceAll(/\s+/g, ' ')).toContain(
      'This input cannot tell methods apart: averaging V, which ignores q and k, is exact here, as V hardly varies.',
    )
  })
})

describe('what the screen does not claim', () => {
  const said = (records: readonly CompletedSweep[]) => answerSentences(placesOf(records)).join(' ')

  it('ranks nothing where averaging V is close, too', () => {
    const near = 0.031
    const records = [
      ...both('favor-pos', [0.02, 0.01], {}, () => squares([0.02], near)),
      fixed('elu', 0.03, 32, {}, squares([0.03], near)),
      fixed('mean-value', near, 1, {}, squares([near], near)),
    ]
    const text = screen(records)
    expect(said(records)).toBe(
      'This input cannot tell methods apart: averaging V, which ignores q and k, is within 5 %, too: 3.1 % off.',
    )
    expect(text).not.toMatch(/best|distinguishable from it|rows of/)
    expect(said(records.slice(3))).toMatch(/^This input cannot tell methods apart/) // one method
  })

  it('says first how many settings cannot tell methods apart, and ranks the others', () => {
    const far = [drawn('favor-pos', 0.3, {layer: 0}), averaging({layer: 0})]
    const near = (layer: number) => [
      drawn('favor-pos', 0.001, {layer}, squares([0.001], 0.03)),
      fixed('mean-value', 0.03, 1, {layer}, squares([0.03], 0.03)),
    ]
    const text = said([...far, ...near(1), ...near(2)])
    expect(text).toMatch(/^2 of the 3 layers cannot tell methods apart: averaging V is within 5 %/)
    expect(text).toContain('is 30 % (layer 0')
    expect(said([...near(0), ...near(1), ...near(2)])).toMatch(
      /^None of the 3 layers can tell methods apart/,
    )
    expect(said([...far, ...near(1)])).toMatch(/In layer 1, this input cannot tell methods apart/)
  })

  it('names every row that the test cannot tell from the best', () => {
    const others = [
      ...both('favor-pos', [0.304, 0.3], {spread: 1}),
      drawn('oprf', 0.31, {spread: 1, start: 4}),
      averaging(),
    ]
    expect(said(others)).toContain(
      'Not distinguishable from it: favor-pos iid (M=64, 256) and oprf.',
    )
  })

  it('names the M up to which methods were tried', () => {
    expect(
      said([...both('favor-pos', [0.9, 0.86]), fixed('elu', 0.91, 32), averaging()]),
    ).toContain('No method with up to M=256 comes close')
    expect(said([fixed('elu', 0.91, 32), fixed('taylor', 0.92, 32), averaging()])).toContain(
      'No method comes close',
    )
  })

  it('gives the M for 5 % of the best row with its interval, not the least of several', () => {
    const iid = (count: number) => ({projection: 'iid' as const, num_features: count})
    const records = [
      drawn('favor-pos', 0.2, {num_features: 256}, needed(12_000)()),
      drawn('favor-pos', 0.24, iid(256), needed(9000)()),
      averaging(),
    ]
    expect(said(records)).toContain(
      'favor-pos orth would need about 12,000 [9,200, 16,000] random vectors (M) for 5 %',
    )
  })

  it('says what error is left at a stated M where 5 % is out of reach', () => {
    const records = [...both('favor-pos', [0.92, 0.86], {}, left(0.7)), averaging()]
    expect(said(records)).toMatch(
      /favor-pos (iid|orth) with M=4,096 would still be 70 % \[54, 91\] off; exact attention of 31 tokens is cheaper\.$/,
    )
  })

  it('says how large logits are where nobody asked for predictions', () => {
    const unasked = {prediction_unknown: 'not_asked'} as const
    expect(said([drawn('favor-pos', 0.9, {}, unasked), averaging()])).toMatch(
      /Logits are large \(mean \|q\+k\|\^2\/sqrt\(D\) = 9\.3, by head 9\.3 to 10\): `predictions` says which M an error of 5 % would take\.$/,
    )
    const statistics = {...STATISTICS, sum_norm2: 2}
    expect(said([drawn('favor-pos', 0.9, {}, {...unasked, statistics}), averaging()])).not.toMatch(
      /Logits/,
    )
  })

  it('asks for the scale of logits that no model has', () => {
    const statistics = {...STATISTICS, sum_norm2: 1e36}
    const records = [drawn('favor-pos', 0.9, {}, {statistics, ...left(0.7)()}), averaging()]
    expect(said(records)).toMatch(/Logits are huge \(mean .* = 1\.0e36\): is their scale right\?$/)
  })
})

describe('the answer', () => {
  /** A sweep of several methods, its yardstick measured or not. */
  const sweeps = fc.record({
    methods: fc.array(
      fc.record({
        error: fc.double({min: -4, max: 2, noNaN: true}).map(log => 10 ** log),
        spread: fc.constantFrom(0, 0.1, 1, 4),
        replicates: fc.constantFrom(1, 3, 6, 9),
        num_features: fc.constantFrom(16, 64, 256),
        projection: fc.constantFrom('iid', 'orth'),
        unusable: fc.boolean(),
      }),
      {maxLength: 12},
    ),
    average: fc.double({min: 0.1, max: 1.5, noNaN: true}),
    measured: fc.boolean(),
  })

  type Sweep = typeof sweeps extends fc.Arbitrary<infer T> ? T : never

  const recordsOf = ({methods, average}: Sweep, place: Partial<ErrorSweepCell> = {}) =>
    methods.map(({error, spread, unusable, ...cell}, start): CompletedSweep => {
      const errors = scattered(cell.replicates, start).map(factor => error * factor ** spread)
      return drawn(
        `m${start}`,
        error,
        {...cell, ...place, spread, start},
        {...squares(errors, average), ...(unusable && CHANGES_SIGN)},
      )
    })

  it('agrees with the numbers, in 20 lines', () => {
    fc.assert(
      fc.property(sweeps, sweep => {
        const {average, measured} = sweep
        const rows = recordsOf(sweep)
        const yardstick = fixed('mean-value', average, 1, {}, squares([average], average))
        const records = measured ? [...rows, yardstick] : rows
        screen(records)
        const said = answerSentences(placesOf(records)).join(' ')
        const better = rows.filter(({result}) => (result.mse_over_mean_value ?? 0) <= 1)
        const errors = better.map(({result}) => result.rel_l2.median!)
        if (records.length === 0) expect(said).toBe('')
        else if (rows.length === 0 || better.length > 0) {
          const least = rows.length === 0 ? average : Math.min(...errors)
          const digits = [2, 3].map(count => errorText(least, count).replace(/[x ].*/, ''))
          expect(said).toMatch(new RegExp(`\\b(${digits.join('|')})(x| %)`))
        } else
          expect(said).toMatch(
            /unusable|No method( with up to M=\d+)? has a lower error|(more than|not distinguishable from) averaging V/,
          )
        if (said.includes('comes within 5 %')) expect(Math.min(...errors)).toBeLessThanOrEqual(0.05)
        if (said.includes('close to')) expect(Math.min(...errors)).toBeGreaterThanOrEqual(0.5)
        if (rows.length > 0 && better.length > 0) expect(said).toMatch(/[Aa]veraging V/)
      }),
      {numRuns: 60},
    )
  })

  it('agrees with the numbers of several layers, in 20 lines', () => {
    fc.assert(
      fc.property(fc.array(sweeps, {minLength: 2, maxLength: 14}), layers => {
        const places = layers
          .map((sweep, layer) => recordsOf(sweep, {layer}))
          .filter(({length}) => length > 0)
        screen(places.flat())
        if (places.length < 3) return
        const said = answerSentences(placesOf(places.flat())).join(' ')
        const lowest = places.flatMap(rows => {
          const better = rows.filter(({result}) => (result.mse_over_mean_value ?? 0) <= 1)
          return better.length > 0
            ? [Math.min(...better.map(own => own.result.rel_l2.median!))]
            : []
        })
        const none = places.length - lowest.length
        if (lowest.length === 0)
          expect(said).toMatch(/No method with up to M=\d+ has a lower error than averaging/)
        else {
          expect(said).toContain(`${errorText(Math.min(...lowest))} (layer`)
          if (said.includes('goes from')) {
            expect(said).toContain(` to ${errorText(Math.max(...lowest))} (layer`)
          }
          expect(said.includes(`For ${none} of the ${places.length} layers`)).toBe(none > 0)
          if (said.includes('within 5 %')) expect(Math.max(...lowest)).toBeLessThanOrEqual(0.05)
          if (said.includes('close to')) expect(Math.min(...lowest)).toBeGreaterThanOrEqual(0.5)
        }
      }),
      {numRuns: 40},
    )
  })
})

describe('two places', () => {
  const logits = (scale: number, size: number, errors: readonly [number, number]) => [
    ...both('favor-pos', errors, {scale}, () => ({
      statistics: {...STATISTICS, sum_norm2: size},
      ...squares([errors[0]], 0.9),
    })),
    ...both('rfa', [0.845, 0.84], {scale, spread: 0.01}, twice),
    averaging({scale}),
    {...softmax, cell: {...softmax.cell, scale}},
  ]

  it('that differ in the size of logits stand side by side, the answer of each first', () => {
    const records = [...logits(1, 8.3, [0.88, 0.8]), ...logits(0.25, 0.52, [0.05, 0.023])]
    expect(screen(records)).toMatchInlineSnapshot(`
      "Error on tiny.safetensors: 2 heads, 31 tokens, bidirectional

      With logits as given, no method with up to M=256 comes close to exact attention:
      the best, favor-pos orth M=256, is 80 % [77, 83] off. Not distinguishable from
      it: favor-pos iid M=256. Averaging V, which ignores q and k, is 94 % off. With
      logits / 16, favor-pos orth M=256 comes within 5 % of exact attention: it is
      2.3 % [2.2, 2.4] off. Not distinguishable from it: favor-pos iid M=256.
      Averaging V is 94 % off. The size of logits decides: mean |q+k|^2/sqrt(D) is 8.3
      and 0.52.

                  logits as given           logits / 16
      method                 M=64    M=256         M=64      M=256  features
      ----------  ---------------  -------  -----------  ---------  --------
      favor-pos           85-91 %  77-83 %    4.8-5.2 %  2.2-2.4 %         M
      rfa                 84-85 %     84 %      84-85 %       84 %        2M
      mean-value             94 %                  94 %                    1
      softmax               exact                 exact                    -

      Error: |estimate-exact|/|exact|, 95 % interval over 9 draws. M: random vectors."
    `)
  })

  it('that do not differ beyond their intervals leave open what decides', () => {
    const records = [...logits(1, 8.3, [0.88, 0.8]), ...logits(0.25, 0.52, [0.88, 0.8])]
    const said = answerSentences(placesOf(records)).join(' ')
    expect(said).toContain('The size of logits, mean |q+k|^2/sqrt(D), goes from 0.52 to 8.3.')
    expect(said).not.toContain('decides')
  })

  it('that differ in more than one axis, or in the input, have a row each', () => {
    const [as, other] = [logits(1, 8.3, [0.88, 0.8]), logits(0.25, 0.52, [0.05, 0.023])]
    const layered = [as, other].flatMap((rows, layer) =>
      rows.map(row => ({...row, cell: {...row.cell, layer}})),
    )
    expect(screen(layered)).toContain('lowest error')
    expect(screen([...as, ...other])).not.toContain('lowest error')
  })

  it.each([
    [0.5, 'logits / 4'],
    [2, 'logits x 4'],
    [0.3, 'logits / 11'],
  ])('calls a factor %d on q and k by what logits become', (scale, name) => {
    const records = [...logits(1, 8.3, [0.88, 0.8]), ...logits(scale, 4, [0.3, 0.2])]
    expect(screen(records)).toContain(name)
  })
})

describe('a batch of texts', () => {
  const over = {rel_l2_over_texts: {mean: 0.26, low: 0.2, high: 0.35}}

  it('has the mean over texts and draws of the best method, named for what it is over', () => {
    const text = screen([
      drawn('favor-pos', 0.25, {}, {batch: 8, ...over}),
      drawn('rfa', 0.5, {}, {batch: 8}),
    ])
    expect(text.replaceAll(/\s+/g, ' ')).toContain(
      'over 8 texts and 9 draws: favor-pos orth M=64 is 26 % [20, 35] off on average',
    )
  })

  it('of two says nothing of others', () => {
    expect(screen([drawn('favor-pos', 0.25, {}, {batch: 2, ...over})])).not.toContain('texts')
    const three = screen([drawn('favor-pos', 0.25, {}, {batch: 3, ...over})])
    expect(three.replaceAll(/\s+/g, ' ')).toContain('95 % interval over 9 draws on these 3 texts.')
  })
})
