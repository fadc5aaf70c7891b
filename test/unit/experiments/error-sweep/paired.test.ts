import {describe, expect, it} from 'vitest'
import {
  drawProjection,
  type ProjectionRequest,
} from '../../../../src/attention/projections/index.js'
import {orthonormalizeRows} from '../../../../src/attention/projections/orthogonal.js'
import {pairedTable} from '../../../../src/experiments/error-sweep/paired.js'
import {pairedBlocks} from '../../../../src/experiments/error-sweep/paired-report.js'
import {keptMetrics} from '../../../../src/experiments/error-sweep/replicate-metrics.js'
import {errorSweepVerdicts} from '../../../../src/experiments/error-sweep/report.js'
import type {
  ErrorSweepCell,
  ErrorSweepResult,
} from '../../../../src/experiments/error-sweep/schema.js'
import {splitReplicates} from '../../../../src/experiments/error-sweep/split-notes.js'
import {renderTerminal} from '../../../../src/report/terminal.js'
import {verdictSchema} from '../../../../src/results/verdict.js'
import {deterministic, metric, sweep, withoutMeans} from '../../../helpers/records/error-sweep.js'

/** A record with these errors of replicates. */
function withErrors(
  changes: Partial<ErrorSweepCell>,
  mse: number[],
  result: Partial<ErrorSweepResult> = {},
) {
  const ones = mse.map(() => 1)
  const over = {
    ...{mse, rel_l2: ones, rel_l1: ones, max_abs: ones, cosine: ones},
    ...{row_sum_deviation: ones, negative_denominators_pct: ones},
    ...{row_kl_nats: null, row_total_variation: null},
    ...{row_top1_agreement: null, row_top8_agreement: null},
  }
  const cell = {replicates: mse.length, ...changes}
  return sweep(cell, {replicate_metrics: keptMetrics(over, [mse]), ...result})
}

/** Errors that scatter by a factor of 8, the same for all: pairs alone see what differs. */
const noise = (count: number) =>
  Array.from({length: count}, (_, i) => 0.01 * 8 ** (((i * 7) % count) / count))
const iid = withErrors({projection: 'iid'}, noise(12))
const orth = withErrors(
  {projection: 'orth'},
  noise(12).map((error, i) => error * (0.8 + 0.01 * (i % 3))),
)

describe('paired differences', () => {
  it('see past what replicates share', () => {
    const {comparisons, needed} = pairedTable([iid, orth])
    expect(needed).toBeUndefined()
    expect(comparisons).toHaveLength(1)
    const [found] = comparisons
    expect([found!.a, found!.b]).toEqual([orth, iid])
    expect(found!.answer).toBe('yes')
    expect(found!.pValue).toBeCloseTo(2 ** -11, 6) // all twelve to one side, to seven digits
    expect(found!.ratio.value).toBeCloseTo(Math.sqrt(0.8 * 0.82), 6) // middle of pairwise means of logarithms
    expect(pairedTable([orth, iid]).comparisons[0]!.answer).toBe('no')
  })

  it('compare projections of a method, and methods with the first one under the same projection', () => {
    const other = (method: string, projection: 'iid' | 'orth') =>
      withErrors({method, projection}, noise(12).toReversed())
    const rows = [
      ...[iid, orth],
      ...[other('rfa', 'iid'), other('rfa', 'orth')],
      deterministic('elu', {replicate_metrics: withErrors({}, [0.02]).result.replicate_metrics}),
    ]
    const names = pairedTable(rows).comparisons.map(({a, b}) =>
      [a, b].map(({cell}) => `${cell.method} ${cell.projection}`).join(' - '),
    )
    expect(names).toEqual([
      'favor-pos orth - favor-pos iid',
      'rfa orth - rfa iid',
      'rfa iid - favor-pos iid',
      'rfa orth - favor-pos orth',
      'elu null - favor-pos iid',
    ])
  })

  it('adjust p-values for all rows of the table', () => {
    const third = withErrors({method: 'rfa', projection: 'iid'}, noise(12).toReversed())
    const {comparisons} = pairedTable([iid, orth, third])
    expect(comparisons[0]!.pValue).toBeCloseTo(2 * 2 ** -11, 6)
    expect(comparisons[1]!.answer).toBe('cannot_be_told')
  })

  it('leave heavy rows out, with the reason, and old ones without a word', () => {
    const heavy = withErrors({method: 'favor-trig', projection: 'iid'}, noise(12), {
      means_unknown: 'sign_changes',
    })
    const {comparisons, left} = pairedTable([iid, orth, heavy, sweep({method: 'rfa'})])
    expect(comparisons).toHaveLength(1)
    expect(left.map(({row, reason}) => [row.cell.method, reason])).toEqual([
      ['favor-trig', 'sign_changes'],
    ])
    const text = renderTerminal(pairedBlocks([iid, orth, heavy]), {width: 100, colour: false})
    expect(text.replaceAll(/\s+/g, ' ')).toContain(
      'not compared: favor-trig iid M=64: denominators change sign',
    )
    expect(pairedBlocks([sweep(), sweep({projection: 'iid'})])).toEqual([])
  })

  it('say how many replicates it takes, where no p-value can be small enough', () => {
    const few = [
      withErrors({projection: 'iid'}, noise(5)),
      withErrors({projection: 'orth'}, noise(5)),
    ]
    expect(pairedTable(few).needed).toBe(6) // 2^-5 = 0.031 <= 0.05 < 2^-4
    const text = renderTerminal(pairedBlocks(few), {width: 100, colour: false})
    expect(text).toBe(
      '- 1 paired comparison of log MSE: signed ranks of 5 replicates cannot tell any, 6 can',
    )
  })

  it.each([80, 120])('are a table of %d columns', width => {
    const text = renderTerminal(pairedBlocks([iid, orth]), {width, colour: false})
    expect(text).toMatch(
      /favor-pos orth +favor-pos iid +(64 +64 +)?0\.810 \[0\.800, 0\.820\] +0\.00049 +errs less|favor-pos orth/,
    )
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(width)
  })

  it('are verdicts of --json', () => {
    const verdicts = errorSweepVerdicts([iid, orth])
    expect(verdicts.map(verdict => verdictSchema.parse(verdict))).toEqual(verdicts)
    expect(verdicts).toMatchObject([
      {question: 'errs_less', method: 'favor-pos', projection: 'orth', answer: 'yes', measured: 12},
    ])
    expect(verdicts[0]!.statement).toMatch(
      /^favor-pos orth M=64 against favor-pos iid M=64: errs less, MSE ratio 0\.810 \[/,
    )
  })

  it('rest on Gaussians that iid and orthogonal rows share in every block', () => {
    const draw = (name: ProjectionRequest['name'], numFeatures: number) =>
      drawProjection({name, heads: 1, headDim: 5, seed: 3, replicate: 2, numFeatures})
    const [rows, blocks] = [draw('iid', 13), draw('orth-sqrt-d', 13)]
    for (let first = 0; first < 13; first += 5) {
      const span = [first * 5, Math.min(first + 5, 13) * 5] as const
      const own = orthonormalizeRows(rows.slice(...span), 5)
      blocks.slice(...span).forEach((entry, at) => {
        expect(entry / Math.sqrt(5)).toBeCloseTo(own[at]!, 12)
      })
    }
    expect(draw('iid', 7)).toEqual(rows.slice(0, 35)) // a smaller M has the first rows
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
