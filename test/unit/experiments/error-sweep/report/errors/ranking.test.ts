import {readFileSync} from 'node:fs'
import {describe, expect, it} from 'vitest'
import {rankingsOf} from '../../../../../../src/experiments/error-sweep/report/errors/ranking.js'
import {errorSweepFigures} from '../../../../../../src/experiments/error-sweep/report/figures/figures.js'
import {errorSweepReport} from '../../../../../../src/experiments/error-sweep/report/report.js'
import {errorSweepHighlights} from '../../../../../../src/experiments/error-sweep/report/sentences/answer.js'
import {errorSweepVerdicts} from '../../../../../../src/experiments/error-sweep/report/tables/paired.js'
import {
  type CompletedSweep,
  errorSweepCell,
  errorSweepResult,
} from '../../../../../../src/experiments/error-sweep/schema.js'
import {variantLabel} from '../../../../../../src/experiments/labels.js'
import {tableMarkup} from '../../../../../../src/report/html/table.js'
import {renderMarkdown} from '../../../../../../src/report/markdown.js'
import {renderTerminal} from '../../../../../../src/report/terminal.js'
import {
  deterministic,
  metric,
  ranged,
  replicated,
  replicatedOnce,
  scattered,
  sweep,
} from '../../../../../helpers/records/error-sweep.js'

const names = (rows: Iterable<CompletedSweep>) => [...rows].map(({cell}) => variantLabel(cell))
const onlyRanking = (rows: readonly CompletedSweep[]) => {
  const [ranking, ...others] = rankingsOf(rows)
  expect(others).toEqual([])
  return ranking!
}
const front = (rows: readonly CompletedSweep[]) => names(onlyRanking(rows).front)

/** A row of a method with F of M or 2M, its errors about some value. */
const row = (
  method: 'favor-pos' | 'rfa',
  num_features: number,
  error: number,
  {draws = 10, ratio = 0.5} = {},
) =>
  replicated(
    scattered(draws, num_features + method.length).map(factor => error * factor),
    {method, projection: 'iid', num_features},
    {feature_dim: method === 'rfa' ? 2 * num_features : num_features, mse_over_mean_value: ratio},
  )

/** Methods with F = 2M have an F of their own, and several times the error of those with F = M. */
const madeCase = (draws = 10) => [
  row('favor-pos', 64, 0.2, {draws}),
  row('favor-pos', 256, 0.1, {draws}),
  row('rfa', 64, 0.6, {draws}),
  row('rfa', 256, 0.4, {draws}),
  row('rfa', 512, 0.3, {draws}),
]

describe('stars', () => {
  it.each([10, 6])('stand on the front of error and features, from %i draws', draws => {
    expect(front(madeCase(draws))).toEqual(['favor-pos iid M=64', 'favor-pos iid M=256'])
  })

  it.each([5, 3, 1])('are none of %i draws, which no test tells apart', draws => {
    expect(front(madeCase(draws))).toEqual([])
    const text = renderTerminal(errorSweepReport(madeCase(draws)), {width: 300, colour: false})
    expect(text).toContain('No * for rel L2: tests need 6 draws.')
  })

  it('stand there in a terminal, Markdown, a page and the table of a figure', () => {
    const rows = madeCase()
    const blocks = errorSweepReport(rows)
    const errors = blocks.find(block => block.kind === 'table' && block.columns.some(c => c.best))
    if (errors?.kind !== 'table') throw new Error('no table of errors')
    const starred = (lines: readonly string[]) =>
      lines
        .filter(line => line.includes('favor-pos') || line.includes('rfa'))
        .map(line => /★/.test(line))
    const expected = [true, true, false, false, false]
    const text = renderTerminal([errors], {width: 200, colour: false, unicode: true})
    expect(starred(text.split('\n'))).toEqual(expected)
    expect(starred(renderMarkdown([errors]).split('\n'))).toEqual(expected)
    expect(tableMarkup(errors, {label: 'Errors'}).text.match(/class="best"/g)).toHaveLength(2)
    const [figure] = errorSweepFigures(rows)
    const marks = figure!.table.columns.flatMap(({best}) => [...(best?.rows ?? [])])
    expect(marks.map(at => figure!.table.rows[at]!.slice(0, 3))).toEqual([
      ['favor-pos', 'iid', '64'],
      ['favor-pos', 'iid', '256'],
    ])
    expect(text).toContain(
      '★ lowest rel L2 with at most its F, ties included (paired tests; differences below 1 % are equal); never on a row worse than averaging V.',
    )
    expect(errorSweepHighlights(rows)[0]).toMatch(/^The best method, favor-pos iid M=256, is /)
  })

  it('are never on a row above averaging V, and say so where none is below', () => {
    const rows = [row('favor-pos', 64, 1.1, {ratio: 1.2}), row('rfa', 64, 0.9)]
    expect(front(rows)).toEqual(['rfa iid M=64'])
    const worse = [row('favor-pos', 64, 1.1, {ratio: 1.2}), row('rfa', 64, 2, {ratio: 4})]
    expect(front(worse)).toEqual([])
    const text = renderTerminal(errorSweepReport(worse), {width: 100, colour: false})
    expect(text).toContain('No * for rel L2: no row with features is better than averaging V.')
  })

  it('stand on ties, also those that cost more, and on none where no two rows differ', () => {
    const equal = row('favor-pos', 256, 0.2 * 1.004)
    const rows = [row('favor-pos', 64, 0.2), equal, row('rfa', 64, 0.6)]
    expect(front(rows)).toEqual(['favor-pos iid M=64', 'favor-pos iid M=256'])
    expect(front(rows.slice(0, 2))).toEqual([])
    const text = renderTerminal(errorSweepReport(rows.slice(0, 2)), {width: 100, colour: false})
    expect(text).toContain('No * for rel L2: no two rows differ (paired tests;')
  })

  it('go by intervals of ratios where single draws are not known, and say so', () => {
    // recorded by a version that kept no single draws
    const old = (num_features: number, low: number) =>
      sweep({num_features}, {feature_dim: num_features, rel_l2: metric(low + 0.05, low, low + 0.1)})
    const rows = [old(64, 0.3), old(128, 0.35), old(256, 0.5)]
    expect(front(rows)).toEqual(['favor-pos orth M=64', 'favor-pos orth M=128'])
    const text = renderTerminal(errorSweepReport(rows), {width: 300, colour: false})
    expect(text).toContain('(95 % intervals of ratios;')
  })

  it('are not for the yardstick, exact forms and what broke', () => {
    const rows = [
      ...madeCase(),
      replicatedOnce('mean-value', 0.05, {feature_dim: 1}),
      deterministic('softmax', {rel_l2: ranged(1e-7, 1e-7, 1e-7), feature_dim: 0}),
      replicated([...scattered(9, 1).map(factor => 0.01 * factor), null], {method: 'hrf'}),
    ]
    expect(front(rows)).toEqual(['favor-pos iid M=64', 'favor-pos iid M=256'])
  })

  it('are by M where there is no F, of each layer by itself', () => {
    const landmarks = [0.3, 0.1].map((error, at) =>
      replicated(
        scattered(8, at).map(factor => error * factor),
        {method: 'nystrom', projection: null, num_features: 64, seed: 0, options: {at}},
        {feature_dim: 0},
      ),
    )
    const mixed = [...landmarks, ...madeCase()]
    expect(names(onlyRanking(mixed).front)).toContain('nystrom (at=1) M=64')
    const legend = (rows: readonly CompletedSweep[]) =>
      renderTerminal(errorSweepReport(rows), {width: 300, colour: false})
    expect(legend(landmarks)).toContain('* lowest rel L2 with at most its M, ties included')
    expect(legend(mixed)).toContain('with at most its F (or M where there is no F), ties included')
    const layers = [0, 1].flatMap(layer =>
      madeCase().map(one => ({...one, cell: {...one.cell, layer}})),
    )
    expect(rankingsOf(layers).map(one => one.front.size)).toEqual([2, 2])
    expect(legend(layers)).toContain(
      '* lowest rel L2 of its layer with at most its F, ties included',
    )
  })

  it('need no replicates of very many rows, but the intervals of their medians', () => {
    const drawn = Array.from({length: 200}, (_, at) =>
      replicated(
        scattered(10, 1).map(factor => factor / (at + 1)),
        {num_features: at + 1},
        {feature_dim: at + 1},
      ),
    )
    const fixed = [0.001, 2].map((error, at) =>
      replicatedOnce(`fixed-${at}`, error, {feature_dim: 200}),
    )
    // as of a large journal, but without the place where lists would be read again
    const rows = [...drawn, ...fixed].map(({result, ...record}): CompletedSweep => {
      const {per_head: _, replicate_metrics: __, ...held} = result
      return {...record, result: held}
    })
    const {front: marked, basis} = onlyRanking(rows)
    expect(basis).toBe('intervals')
    expect(names(marked).slice(0, 2)).toEqual(['favor-pos orth M=1', 'favor-pos orth M=2'])
    expect(names(marked).slice(-2)).toEqual(['favor-pos orth M=199', 'fixed-0'])
    expect(marked.size).toBe(200)
  })
})

describe('comparisons of a table', () => {
  it('are equal, lower or higher by more than 1 %, or not distinguishable', () => {
    const base = scattered(10, 3).map(factor => 0.3 * factor)
    const noise = scattered(10, 5).map(factor => factor ** 0.02)
    const times = (factor: number) =>
      replicated(
        base.map((error, at) => error * factor * noise[at]!),
        {num_features: Math.round(1000 * factor)},
      )
    const [first, same, lower, higher] = [1, 1.003, 0.9, 1.1].map(times)
    const wide = replicated(scattered(10, 6).map(factor => 0.3 * factor ** 2))
    const {compare} = onlyRanking([first!, same!, lower!, higher!, wide])
    const against = (a: CompletedSweep) => compare(a, first!).answer
    expect([same, lower, higher, wide].map(a => against(a!))).toEqual([
      'same',
      'less',
      'more',
      'cannot_be_told',
    ])
    expect(compare(first!, lower!)).toMatchObject({answer: 'more', pairs: 10})
    expect(compare(first!, lower!).pValue).toBe(compare(lower!, first!).pValue)
  })

  it('takes errors that draw nothing as they are', () => {
    const [a, b, c] = [0.3, 0.301, 0.31].map((error, at) =>
      replicatedOnce('elu', error, {feature_dim: 32 + at}),
    )
    const {compare, basis} = onlyRanking([a!, b!, c!])
    expect([compare(b!, a!).answer, compare(c!, a!).answer]).toEqual(['same', 'more'])
    expect(basis).toBe('tests')
  })
})

/** Completed records of a run that is committed. */
const reference = (name: string) =>
  readFileSync(`results/reference/${name}/records.jsonl`, 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
    .filter(({status}) => status === 'completed')
    .map(
      (record): CompletedSweep => ({
        ...record,
        cell: errorSweepCell.parse(record.cell),
        result: errorSweepResult.parse(record.result),
      }),
    )

/** What tables say in place of the sentences of verdicts. */
const SAID: Record<string, string> = {
  'has a lower error than': 'lower error',
  'has a higher error than': 'higher error',
  'has the same error as': 'equal',
  'is not distinguishable from': 'not distinguishable',
}

describe('the report of results/reference/error-sweep-quick', () => {
  const rows = reference('error-sweep-quick')
  const rankings = rankingsOf(rows)

  it('says the same of each pair in its tables, verdicts and stars', () => {
    const shown = errorSweepReport(rows).flatMap(block => {
      const isPaired = block.kind === 'table' && block.columns.some(one => one.title === 'verdict')
      return isPaired ? block.rows.map(cells => cells.at(-1)) : []
    })
    const verdicts = errorSweepVerdicts(rows)
    const said = verdicts.map(({statement, against}) => {
      const [, label, verb] = /^(?:[^:]+: )?(.+) ((?:has|is) [a-z ]+ (?:than|as|from)) /.exec(
        statement,
      )!
      expect(statement).toContain(`${label} ${verb} ${against}, ratio `)
      return {label: label!, answer: SAID[verb!]}
    })
    expect(said.map(({answer}) => answer)).toEqual(shown)
    for (const [at, {statement, against, answer}] of verdicts.entries()) {
      const {
        compare,
        front: marked,
        rows: own,
      } = rankings.find(
        one =>
          /random vectors alone: /.test(statement) === (one.rows[0]!.cell.target === 'matched'),
      )!
      const named = (label: string) => own.find(({cell}) => variantLabel(cell) === label)!
      const [a, b] = [named(said[at]!.label), named(against!)]
      const found = compare(a, b).answer
      expect(answer).toBe({less: 'yes', more: 'no', same: 'no', cannot_be_told: answer}[found])
      const [low, high] = found === 'less' ? [a, b] : [b, a]
      if (found === 'cannot_be_told' || found === 'same') continue
      if (low.result.feature_dim <= high.result.feature_dim) expect(marked.has(high)).toBe(false)
    }
  })

  it('has its stars on the front, none above averaging V, and none beside a lower error', () => {
    for (const {front: marked, rows: own, compare} of rankings) {
      expect(marked.size).toBeGreaterThan(0)
      for (const row of marked) {
        expect(row.result.mse_over_mean_value).toBeLessThanOrEqual(1)
        const lower = own.filter(
          other =>
            other !== row &&
            other.result.feature_dim > 0 &&
            other.result.feature_dim <= row.result.feature_dim &&
            compare(other, row).answer === 'less',
        )
        expect(names(lower)).toEqual([])
      }
    }
  })

  it('calls a pair the same from both sides, and none with a ratio within 1 % different', () => {
    const turned = {less: 'more', more: 'less', same: 'same', cannot_be_told: 'cannot_be_told'}
    for (const {rows: own, compare} of rankings) {
      own.forEach((a, at) => {
        for (const b of own.slice(0, at)) {
          const {answer, ratio} = compare(a, b)
          expect(compare(b, a).answer).toBe(turned[answer])
          if (answer === 'less' || answer === 'more') {
            expect(Math.abs(Math.log(ratio.value))).toBeGreaterThan(Math.log(1.01))
          }
        }
      })
    }
  })

  it('answers with a row that has a star', () => {
    const marked = new Set(rankings.flatMap(one => names(one.front)))
    const [, best] = /(?:the best|The best method), (.*?), is /.exec(
      errorSweepHighlights(rows)[0]!,
    )!
    expect([...marked]).toContain(best)
  })
})
