import {describe, expect, it} from 'vitest'
import {errorSweepReport} from '../../../../../../src/experiments/error-sweep/report/report.js'
import {
  ROW_COLUMNS,
  rowNotes,
  rowSentence,
  rowsAskedNotes,
  rowsLegend,
} from '../../../../../../src/experiments/error-sweep/report/tables/row-columns.js'
import type {CompletedSweep} from '../../../../../../src/experiments/error-sweep/schema.js'
import {renderMarkdown} from '../../../../../../src/report/markdown.js'
import {metric, sweep} from '../../../../../helpers/records/error-sweep.js'

const METRICS = {
  row_kl_nats: metric(1.0521),
  row_total_variation: metric(0.4137),
  row_top1_agreement: metric(0.7149),
  row_top8_agreement: metric(0.6213),
  row_kl_infinite_pct: 0,
}
const STANDARD_ERRORS = {
  row_kl_nats: 0.0653,
  row_total_variation: 0.0142,
  row_top1_agreement: 0.0491,
  row_top8_agreement: 0,
}
const SAMPLE = {rows: 72, of: 5232, draws: 3, standard_errors: STANDARD_ERRORS}
const record = (result: object, method = 'rfa') =>
  sweep({method, num_features: 64}, result) as CompletedSweep
const sampled = record({...METRICS, row_sample: SAMPLE})
const whole = record(METRICS)

const cells = (row: CompletedSweep) =>
  Object.fromEntries(ROW_COLUMNS.map(({title, cell}) => [title, cell(row)]))

describe('errors of attention rows', () => {
  it('of a sample stand with its standard error, to the digit that it leaves', () => {
    expect(cells(sampled)).toMatchObject({
      TV: '0.41 ± 0.01',
      'KL nats': '1.05 ± 0.07',
      'top-1': '0.71 ± 0.05',
      'top-8': '0.621', // no sample, as it seems
    })
    expect(rowsLegend([sampled, whole]).join()).toContain(
      'of 72 of 5,232 attention rows, drawn by the seed, with the standard error of this sample.',
    )
    expect(rowSentence(sampled)).toEqual([
      'rfa orth M=64: 41 ± 3 % of attention on other keys; top key right: 71 ± 10 %',
    ])
    // 1.95996 of it are 2.49996 %
    const errors = {...STANDARD_ERRORS, row_total_variation: 0.01275512}
    const edge = record({...METRICS, row_sample: {...SAMPLE, standard_errors: errors}})
    expect(rowSentence(edge)[0]).toContain('41 ± 2 %')
  })

  it('of all rows stand alone', () => {
    expect(cells(whole)).toMatchObject({TV: '0.414', 'KL nats': '1.05', 'top-1': '0.715'})
    expect(rowsLegend([whole]).join()).toMatch(/that agree; of all attention rows\.$/)
    expect(rowSentence(whole)).toEqual([
      'rfa orth M=64: 41 % of attention on other keys; top key right: 71 %',
    ])
  })

  it('are columns only where there are any', () => {
    const none = sweep() as CompletedSweep
    expect(ROW_COLUMNS.filter(({tells}) => tells!(none))).toEqual([])
    expect([rowsLegend([none]), rowSentence(none), rowNotes([none])]).toEqual([[], [], []])
    const infinite = ROW_COLUMNS.find(({title}) => title === 'KL inf %')!
    expect(infinite.tells!(sampled)).toBe(false)
    const broken = record({...METRICS, row_kl_infinite_pct: 7.351})
    expect(infinite.tells!(broken)).toBe(true)
    expect(infinite.cell(broken)).toBe('7.35')
  })

  it('are missing where they were not asked for, and the report says once what has them', () => {
    const left = record({rows_unknown: 'not_asked'})
    const sentence = 'TV, KL and top-1 of attention rows were not asked for'
    expect(rowsAskedNotes([left, left])).toEqual([
      `${sentence}: the same command with \`row-queries\` has them`,
    ])
    expect(rowsAskedNotes([sampled, whole])).toEqual([])
    expect(renderMarkdown(errorSweepReport([left, left])).split(sentence)).toHaveLength(2)
  })

  it('are missing for methods without weights of single queries, and a note says so', () => {
    const lacking = ['lara', 'nystrom'].map(name => record({rows_unknown: 'no_weights'}, name))
    expect(rowNotes([sampled, record({rows_unknown: 'exact'}, 'softmax'), ...lacking])).toEqual([
      'lara and nystrom: no KL, TV and top-1 by default, as these methods have no weights of single queries; --row-metrics computes them',
    ])
  })
})
