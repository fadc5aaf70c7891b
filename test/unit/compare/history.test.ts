import {describe, expect, it} from 'vitest'
import {compare} from '../../../src/compare/compare.js'
import {type HistoryOf, type HistoryRequest, history} from '../../../src/compare/history.js'
import {historyFigures, historyScreen} from '../../../src/compare/history-report.js'
import {historyFacts} from '../../../src/compare/history-schema.js'
import type {QuantityName} from '../../../src/experiments/comparison.js'
import {comparisonOf, experimentNamed} from '../../../src/experiments/index.js'
import {SCREEN_LINES, screenLines} from '../../../src/report/screen.js'
import {renderTerminal} from '../../../src/report/terminal.js'
import type {CellRecord} from '../../../src/results/record.js'
import {BENCH_MANIFEST, decoded, timed} from '../../helpers/records/bench.js'
import {replicated} from '../../helpers/records/error-sweep.js'
import {MACHINE} from '../../helpers/records/machine.js'
import {failed, skipped} from '../../helpers/records/outcomes.js'
import {variance} from '../../helpers/records/variance.js'

type Name = 'bench' | 'error-sweep' | 'variance'

/** Runs on consecutive days, as folders might list them: the newest first. */
async function of(
  experiment: Name,
  runs: readonly (readonly CellRecord[])[],
  changes: (at: number) => object = () => ({}),
): Promise<HistoryOf> {
  const comparison = await comparisonOf(await experimentNamed(experiment))
  const all = runs.map((records, at) => ({
    directory: `run-${at}`,
    manifest: {
      ...BENCH_MANIFEST,
      created_at: `2026-01-0${at + 1}T00:00:00.000Z`,
      machine: {...MACHINE, commit: `c${at}`},
      ...changes(at),
    },
    records,
    cells: records.length,
  }))
  return {experiment, comparison, runs: all.toReversed()}
}

const ask = (own: HistoryOf, request: Partial<HistoryRequest> = {}) =>
  history([own], {limits: [], strict: false, ...request})

const times = (...factors: number[]) =>
  [128, 256].map((seq_len, at) => timed({seq_len}, 1e7 * (factors[at] ?? 1)))
const ERRORS = [0.2, 0.3, 0.25, 0.22, 0.27, 0.31, 0.24]
const SIZES = {batch: 1, heads: 1, head_dim: 8, value_dim: 8, key_len: null}
const GENERATED = {kind: 'generator', name: 'gaussian', ...SIZES} as const
const only = (quantity: QuantityName) => ({
  isAsked: (line: {quantity: QuantityName}) => line.quantity === quantity,
})

describe('history', () => {
  it('says of each step what compare says of the two runs', async () => {
    const runs = [times(1, 1), times(1.5, 1), times(1.5, 0.5)]
    const own = await of('bench', runs)
    const facts = ask(own)
    expect(historyFacts.parse(facts)).toEqual(facts)
    const [newest, middle, oldest] = own.runs
    const steps = [
      [oldest, middle],
      [middle, newest],
    ] as const
    for (const [a, b] of steps) {
      const side = (run: typeof a) => ({...run!, method: null})
      const request = {experiment: 'bench', comparison: own.comparison, related: 'runs'} as const
      const {rows} = compare({...request, a: side(a), b: side(b), limits: [], strict: false})
      const found = facts.rows.filter(({directory}) => directory === b!.directory)
      const byName = (one: (typeof rows)[number]) => one.quantity + one.key_b
      expect(
        found.map(({change}) => change!).sort((x, y) => (byName(x) < byName(y) ? -1 : 1)),
      ).toEqual(rows.toSorted((x, y) => (byName(x) < byName(y) ? -1 : 1)))
    }
    const first = facts.rows.filter(({line}) => line === 0)
    expect(first.map(({commit}) => commit)).toEqual(['c2', 'c1', 'c0'])
    expect(first.map(({value}) => Math.round(value))).toEqual([1.5e7, 1.5e7, 1e7])
    expect(first.map(({before}) => before)).toEqual(['run-1', 'run-0', null])
    expect(first.map(({newest}) => newest)).toEqual([true, false, false])
    expect(facts.runs.map(({directory}) => directory)).toEqual(['run-2', 'run-1', 'run-0'])
  })

  it('holds a cell against the last run that measured it', async () => {
    const [short, long] = [times()[0]!, times()[1]!]
    const facts = ask(await of('bench', [[short, long], [short, failed(long)], times(1, 2)]))
    const own = facts.rows.filter(({at, quantity}) => at.L === '256' && quantity === 'time')
    expect(own.map(({directory, before}) => [directory, before])).toEqual([
      ['run-2', 'run-0'],
      ['run-0', null],
    ])
    expect(own[0]!.change).toMatchObject({answer: 'more', key_a: long.key})
  })

  it('judges the newest run, and counts what it lacks where that is strict', async () => {
    const limits = [{quantity: 'time', percent: 30}] as const
    const slowed = await of('bench', [times(1, 1), times(2, 2), times(2, 2)])
    expect(ask(slowed, {limits}).passed).toBe(true)
    expect(ask(await of('bench', [times(1, 1), times(2, 1)]), {limits}).passed).toBe(false)
    const lost = await of('bench', [times(), times(), times().slice(0, 1)])
    expect(ask(lost, {limits, ...only('time')}).passed).toBe(true)
    const strict = ask(lost, {limits, strict: true, ...only('time')})
    expect(strict.passed).toBe(false)
    expect(strict.left).toMatchObject([{where: 'a', at: {L: '256'}, open: true}])
    expect(strict.left[0]!.reason).toBe('last measured in run-1')
    const [short, long] = times()
    const broken = ask(await of('bench', [times(), [short!, failed(long!)]]), only('time'))
    expect(broken.left[0]!.reason).toMatch(/^failed, [\s\S]*; last measured in run-0$/)
  })

  it('judges with --strict what the newest run has and could not be compared', async () => {
    const drawn = (seed: number, ...methods: string[]) =>
      methods.map(method => replicated(ERRORS, {input: GENERATED, seed, method}))
    const runs = [drawn(0, 'favor-pos', 'elu'), drawn(1, 'favor-pos'), drawn(1, 'favor-pos', 'elu')]
    const own = await of('error-sweep', runs)
    const limits = [{quantity: 'error', percent: 50}] as const
    const facts = ask(own, {limits, strict: true})
    expect(facts.passed).toBe(false)
    expect(facts.left).toMatchObject([
      {where: 'both', quantity: 'error', at: {method: 'elu'}, open: true},
    ])
    expect(facts.left[0]!.reason).toMatch(/^generated inputs of another seed/)
    expect(ask(own, {limits}).passed).toBe(true)
  })

  it('judges what is the rounding of float32, and what no longer is', async () => {
    const cells = (...errors: number[]) =>
      errors.map((error, at) =>
        replicated(
          ERRORS.map(x => x * error),
          {num_features: 64 + at},
        ),
      )
    const limits = [{quantity: 'error', percent: 50}] as const
    const strict = {limits, strict: true}
    const same = ask(await of('error-sweep', [cells(1, 1e-12), cells(1, 1e-12)]), strict)
    expect(same).toMatchObject({passed: true, warnings: []})
    expect(same.left).toMatchObject([{where: 'both', at: {M: '65'}, open: false}])
    const rounding = ask(await of('error-sweep', [cells(1e-12), cells(1e-12)]), strict)
    expect(rounding).toMatchObject({passed: true, rows: []})
    const lost = await of('error-sweep', [cells(1, 1e-12), cells(1)])
    expect(ask(lost, strict).left).toMatchObject([{where: 'a', at: {M: '65'}, open: true}])
    const worse = ask(await of('error-sweep', [cells(1e-12), cells(1e-12), cells(1)]), strict)
    expect(worse.rows).toMatchObject([{change: {judgement: 'regression'}, before: 'run-1'}])
    const better = ask(await of('error-sweep', [cells(1), cells(1e-12)]), strict)
    expect(better).toMatchObject({passed: true, left: []})
    expect(better.rows[0]).toMatchObject({newest: true, change: {answer: 'less'}})
  })

  it('finds for each earlier run by how much the machine was slower', async () => {
    const cells = (factor: number) =>
      [16, 32, 64, 128, 256, 512, 1024].map(num_features => timed({num_features}, 1e6 * factor))
    const own = await of('bench', [cells(1), cells(1.1).slice(3), cells(1.21)])
    const [newest, , oldest] = own.runs.map(run => ({...run, method: null}))
    const request = {experiment: 'bench', comparison: own.comparison, related: 'runs'} as const
    const {rows} = compare({...request, a: oldest!, b: newest!, limits: [], strict: false})
    const found = ask(own).rows.flatMap(({before, newest: is, change}) =>
      is && before === 'run-0' ? [change!] : [],
    )
    expect(found).toHaveLength(6)
    for (const {quantity, key_b, ratio_low, ratio_high} of found) {
      const same = rows.find(row => row.key_b === key_b && row.quantity === quantity)
      expect(same).toMatchObject({ratio_low, ratio_high})
    }
  })

  it('has values with their intervals: of times, errors and variances', async () => {
    const errors = ERRORS.map(error => error * 1.01)
    const own: Record<Name, readonly CellRecord[]> = {
      bench: times(),
      'error-sweep': [replicated(errors)],
      variance: [variance()],
    }
    for (const [name, records] of Object.entries(own) as [Name, readonly CellRecord[]][]) {
      const {rows} = ask(await of(name, [records, records]))
      const drawn = rows.filter(({quantity}) => quantity !== 'memory')
      expect(drawn.length).toBeGreaterThan(0)
      for (const {low, value, high} of drawn) {
        expect(low).toBeLessThan(value)
        expect(high).toBeGreaterThan(value)
      }
    }
  })

  it('compares errors over machines, and times on each by itself', async () => {
    const other = (at: number) => ({machine: {...MACHINE, cpu: `CPU ${at % 2}`}})
    const errors = [replicated([0.2, 0.3, 0.25])]
    const sweeps = ask(await of('error-sweep', [errors, errors], other))
    expect(sweeps.rows).toHaveLength(2)
    expect(sweeps.warnings[0]).toMatch(/^error-sweep ran on 2 machines, values may differ/)
    const benches = ask(await of('bench', [times(), times(3, 3), times(), times(3, 3)], other))
    expect(new Set(benches.rows.map(({change}) => change?.answer))).not.toContain('more')
    expect(new Set(benches.rows.map(({at}) => at.machine))).toEqual(new Set(['1', '2']))
    expect(benches.warnings[0]).toMatch(/machine 1 is processor CPU 0, .* \(2 runs\)/)
  })

  it('says why lines are not compared with the run before', async () => {
    const drawn = (seed: number) => [replicated([0.2, 0.3, 0.25], {input: GENERATED, seed})]
    const {rows, warnings} = ask(await of('error-sweep', [drawn(0), drawn(1)]))
    expect(rows.map(({change}) => change)).toEqual([null, null])
    expect(warnings).toEqual([
      'run-1 against run-0: seeds differ, so that draws are not shared',
      expect.stringMatching(/^run-1, 1 line not compared with the run before: generated inputs of/),
    ])
  })

  it('names the run that alone has a length of a decode, or a random matrix', async () => {
    const decodes = (marks: number[]) => [decoded({}, {token: 1e4}, undefined, marks)]
    const more = ask(await of('bench', [decodes([100]), decodes([25, 100])]), only('time'))
    expect(more.left).toMatchObject([
      {at: {tokens: '25'}, reason: 'only run-1 has a time at this number of tokens', open: false},
    ])
    const fewer = ask(await of('bench', [decodes([25, 100]), decodes([100])]))
    expect(fewer.warnings).toEqual([
      'run-1, 2 lines not compared with the run before: only run-0 has a time at this number of tokens',
    ])
    const drawn = (...projections: string[]) => {
      const {result, ...record} = variance()
      const [row] = result.per_projection
      const per_projection = projections.map(projection => ({...row!, projection}))
      return [{...record, result: {...result, per_projection}}]
    }
    const {left} = ask(await of('variance', [drawn('iid'), drawn('iid', 'orth')]))
    expect(left).toMatchObject([
      {at: {projection: 'orth'}, reason: 'a random matrix of run-1 alone'},
    ])
  })

  it('warns of what compare warns of, for each run', async () => {
    const cells = (factor: number, changes: object = {}) =>
      [16, 32, 64, 128, 256, 512].map(num_features => {
        const {result, ...record} = timed({num_features, ...changes}, 1e6 * factor)
        return {...record, result: {...result, threads: factor}}
      })
    const runs = [cells(1), cells(1, {seed: 5}), cells(4)]
    const {warnings} = ask(await of('bench', runs))
    expect(warnings).toEqual([
      'run-1 against run-0: seeds differ, so that draws are not shared',
      'run-2 against run-1: threads 1, then 4',
      'run-2 against run-1: seeds differ, so that draws are not shared',
      expect.stringMatching(/^run-2 against run-1: all 6 times moved one way, by 4.* busier/),
    ])
    const sweeps = [[replicated([0.2, 0.3, 0.25])], [replicated([0.4, 0.5, 0.45])]]
    expect(ask(await of('error-sweep', sweeps)).warnings).toEqual([
      expect.stringMatching(/^run-1 against run-0: .*3 /),
    ])
  })

  it('warns of other software, several commits in a run, and runs that are not finished', async () => {
    const own = await of('bench', [times(), times()], at => ({
      machine: {...MACHINE, node: `v2${at}.0.0`, commit: `c${at}`},
      ...(at === 1 && {
        sessions: [
          {
            ...{started_at: '2026-01-03T00:00:00.000Z', argv: ['rfa'], commit: 'later'},
            ...{instruction_set: null, extended: false},
          },
        ],
      }),
    }))
    const runs = own.runs.map((run, at) => (at === 1 ? {...run, cells: 9} : run))
    expect(ask({...own, runs}).warnings).toEqual([
      'runs of bench: Node v20.0.0, then v21.0.0',
      'run-0 is not finished: 2 of 9 cells',
      'run-1 has cells of several commits: c1, later',
    ])
  })
})

describe('a history as figures and on a screen', () => {
  it('draws lines over commits, oldest first, and fits a screen', async () => {
    const many = [64, 128, 256, 512, 1024].flatMap(num_features =>
      ['elu', 'rfa', 'favor-pos'].map(method => ({method, num_features})),
    )
    const run = (factor: number) =>
      many.map((cell, at) => timed(cell, 1e6 * (at + 1) * (at === 7 ? factor : 1)))
    const own = await of('bench', [run(1), run(1), run(3)])
    const facts = ask(own)
    const quantities = new Map(own.comparison.quantities.map(one => [one.name, one] as const))
    const screen = historyScreen(facts, quantities)
    expect(screenLines(screen)).toBeLessThanOrEqual(SCREEN_LINES)
    const text = renderTerminal(screen, {width: 80, colour: false})
    expect(text).toMatch(/^rfa M=256 +c2 .* slower$/m)
    expect(text).toMatch(/^Values with their 95 % intervals/m)
    const shown = Number(/Shown:\s(\d+)\sof\s45\srows,\sthe\slines\sthat\schanged/.exec(text)![1])
    expect(shown).toBeGreaterThan(0)
    expect(shown % 3).toBe(0)
    const [figure] = historyFigures(facts, quantities)
    expect(figure).toMatchObject({name: 'history-time', x: {names: ['c0', 'c1', 'c2']}})
    expect(figure!.caption).toContain('The 8 lines that changed most; tables have 7 more.')
    expect(figure!.series[0]!.points.map(({x, y}) => [x, Math.round(y)])).toEqual([
      [0, 8],
      [1, 8],
      [2, 24],
    ])
    expect(new Set(figure!.series.map(({colour}) => colour)).size).toBe(8)
  })

  it('says what the newest run lacks and why, and that nothing changed', async () => {
    const many = [64, 128, 256, 512, 1024, 2048, 4096].map(M => timed({num_features: M}, 1e6))
    const lost = [...many.slice(0, -1), skipped(many.at(-1)!, 'too long')]
    const own = await of('bench', [many, many, lost], () => ({
      created_at: '2026-01-01T00:00:00.000Z',
    }))
    const quantities = new Map(own.comparison.quantities.map(one => [one.name, one] as const))
    const isAsked = ({quantity}: {quantity: QuantityName}) => quantity === 'memory'
    const facts = ask({...own, runs: own.runs.toReversed()}, {isAsked})
    const text = renderTerminal(historyScreen(facts, quantities), {width: 300, colour: false})
    expect(text).toMatch(/^rfa history: 7 lines over 3 runs, 1 January 2026, 00:00 UTC$/m)
    expect(text).toContain(
      '1 line is not in the newest run: M=4096 (skipped, too long; last measured in run-1)',
    )
    expect(text).not.toContain('changed most')
  })

  it('ranks lines by what the newest run changed', async () => {
    const cells = (...factors: number[]) =>
      factors.map((factor, at) => timed({num_features: 64 << at}, 1e6 * factor))
    const own = await of('bench', [cells(1, 1, 1), cells(9, 1, 1), cells(9, 2, 1)])
    const quantities = new Map(own.comparison.quantities.map(one => [one.name, one] as const))
    const limits = [{quantity: 'time', percent: 10}] as const
    const facts = ask(own, {limits, ...only('time')})
    const text = renderTerminal(historyScreen(facts, quantities), {width: 300, colour: false})
    const [figure] = historyFigures(facts, quantities)
    expect(figure!.series.map(({label}) => label)).toEqual(['M=128', 'M=64', 'M=256'])
    expect(text).toMatch(/regression: time of M=128: 2\.0.* times the run before, beyond 10%/)
  })
})
