import {describe, expect, it} from 'vitest'
import {compare} from '../../../src/compare/compare.js'
import {type Limit, parseLimit} from '../../../src/compare/limits.js'
import type {ComparedRow} from '../../../src/compare/schema.js'
import {comparisonAnswers, comparisonScreen} from '../../../src/compare/screen.js'
import type {TimedRecord} from '../../../src/experiments/bench/schema.js'
import type {Related} from '../../../src/experiments/comparison.js'
import {comparisonOf, experimentNamed} from '../../../src/experiments/index.js'
import {SCREEN_LINES} from '../../../src/report/screen.js'
import {renderTerminal} from '../../../src/report/terminal.js'
import type {CellRecord} from '../../../src/results/record.js'
import {BENCH_MANIFEST, decoded, inProcesses, timed} from '../../helpers/records/bench.js'
import {replicated} from '../../helpers/records/error-sweep.js'
import {MACHINE} from '../../helpers/records/machine.js'
import {failed} from '../../helpers/records/outcomes.js'
import {variance} from '../../helpers/records/variance.js'

interface Case {
  a: readonly CellRecord[]
  b: readonly CellRecord[]
  experiment?: 'bench' | 'error-sweep' | 'variance'
  related?: Related
  limits?: readonly string[]
  otherMachine?: boolean
  unfinished?: boolean
}

async function factsOf({
  a,
  b,
  experiment = 'bench',
  related = 'runs',
  limits = [],
  otherMachine = false,
  unfinished = false,
}: Case) {
  const comparison = await comparisonOf(await experimentNamed(experiment))
  const machine = otherMachine ? {...MACHINE, cpu: 'Another CPU', node: '24.1.0'} : MACHINE
  const side = (name: string, records: readonly CellRecord[], at: number) => ({
    directory: related === 'runs' ? `results/${name}` : 'results/run',
    method: related === 'runs' ? null : ['softmax', 'favor-pos'][at]!,
    manifest: {...BENCH_MANIFEST, machine: at === 1 ? machine : MACHINE},
    records,
    cells: records.length + (unfinished ? 2 : 0),
  })
  const parsed: Limit[] = limits.map(limit => parseLimit(limit, '--fail-on'))
  const facts = compare({
    ...{experiment, comparison, related, limits: parsed, strict: false},
    ...{a: side('before', a, 0), b: side('after', b, 1)},
  })
  return {facts, comparison}
}

const LENGTHS = [128, 256, 512]
const METHODS = ['favor-pos', 'rfa', 'oprf', 'saderf', 'lara', 'elu', 'reformer', 'nystrom']
const NINE = LENGTHS.flatMap(seq_len =>
  METHODS.slice(0, 3).map((method, at) => timed({method, seq_len}, (at + 1) * 1e4 * seq_len)),
)
const MANY = [64, 128, 256, 512].flatMap(num_features =>
  METHODS.map((method, at) => timed({method, num_features}, (at + 1) * 1e4 * num_features)),
)

/** The same cells, each slower by its own factor. */
const slower = (records: readonly TimedRecord[], of: (at: number) => number) =>
  records.map(({cell, result}, at) => timed(cell, of(at) * result.median_ns))

/** Processes that differ so much that little can be said. */
const noisy = (records: readonly TimedRecord[]) =>
  records.map(({cell, result}) =>
    timed(cell, 1, inProcesses([0.5, 1, 2].map(factor => factor * result.median_ns))),
  )

const drawn = (num_features: number, factor: number) =>
  replicated(
    [0.2, 0.3, 0.25, 0.22, 0.28, 0.24, 0.21].map((error, i) => factor * error * (1 + i / 100)),
    {num_features},
  )

const RUNS: Readonly<Record<string, Case>> = {
  'nothing changed': {a: NINE, b: NINE},
  'some slower, some faster': {a: NINE, b: slower(NINE, at => [1, 1.5, 0.5, 1.1][at % 4]!)},
  'a gate that fails': {
    ...{a: NINE, b: slower(NINE, at => (at === 4 ? 1.5 : 1)), limits: ['time:10%', 'memory:0%']},
  },
  'a gate that passes': {a: NINE, b: NINE, limits: ['time:25%']},
  'a gate that cannot judge': {a: noisy(NINE), b: noisy(NINE), limits: ['time:10%']},
  'all slower': {a: NINE, b: slower(NINE, () => 1.3)},
  'one line': {a: NINE.slice(0, 1), b: slower(NINE.slice(0, 1), () => 2)},
  'thirty-two cells': {a: MANY, b: slower(MANY, at => 1 + at / 20)},
  'two methods of a run': {
    related: 'methods',
    a: LENGTHS.map(seq_len =>
      timed({method: 'softmax', projection: null, num_features: null, seq_len}, 60 * seq_len ** 2),
    ),
    b: LENGTHS.map(seq_len => timed({seq_len}, 1.5e4 * seq_len)),
  },
  'another machine, an unfinished run, failures': {
    a: NINE,
    b: [...slower(NINE.slice(0, 6), () => 1.2), ...NINE.slice(6).map(record => failed(record))],
    otherMachine: true,
    unfinished: true,
  },
  'nothing to compare': {a: NINE, b: NINE.map(record => failed(record))},
  decodes: {
    a: [decoded({method: 'rfa'}, {token: 3000})],
    b: [decoded({method: 'rfa'}, {token: 4000})],
  },
  'errors of two methods': {
    ...{experiment: 'error-sweep', a: [64, 128].map(M => drawn(M, 1))},
    b: [64, 128].map(M => drawn(M, M === 64 ? 0.8 : 60)),
  },
  variances: {
    experiment: 'variance',
    a: [0, 90, 180].map(angle_deg => variance({angle_deg})),
    b: [0, 90, 180].map(angle_deg => variance({angle_deg, seed: 1}, 0.2)),
  },
}

describe('comparisonScreen', () => {
  it.each(Object.entries(RUNS))('fits 20 lines of 80 columns: %s', async (_, run) => {
    const {facts, comparison} = await factsOf(run)
    const screen = comparisonScreen(facts, comparison)
    const lines = renderTerminal(screen, {width: 80, colour: false}).split('\n')
    expect(lines.length).toBeLessThanOrEqual(SCREEN_LINES)
    expect(lines.filter(line => line.length > 80)).toEqual([])
    expect(`\n${lines.join('\n')}\n`).toMatchSnapshot()
  })
})

describe('comparisonAnswers', () => {
  it.each(Object.entries(RUNS))('agrees with the lines: %s', async (_, run) => {
    const {facts} = await factsOf(run)
    const all = comparisonAnswers(facts).join(' ')
    const said = all.replace(/Not measured well enough: .*? slower\./, 'inconclusive')
    const told = (text: RegExp, answer: ComparedRow['answer'], quantity: string) => {
      const rows = facts.rows.filter(row => row.answer === answer && row.quantity === quantity)
      expect(text.test(said), `${text} of: ${said}`).toBe(rows.length > 0)
    }
    told(/\bslower\b/, 'more', 'time')
    told(/\bfaster\b/, 'less', 'time')
    told(/\binconclusive\b|difference in time/, 'cannot_be_told', 'time')
    told(/a lower error/, 'less', 'error')
    told(/a higher error/, 'more', 'error')
    told(/a lower variance/, 'less', 'variance')
    told(/the same memory/, 'same', 'memory')
    const slowest = facts.rows
      .filter(row => row.quantity === 'time' && row.answer === 'more')
      .map(({ratio}) => ratio!)
    if (slowest.length > 1) {
      expect(said).toContain(`, ${Math.max(...slowest).toPrecision(2)}x [`)
    }
  })

  it('names no side that the interval of an open line leaves out', async () => {
    const {facts} = await factsOf(Object.values(RUNS)[0]!)
    const row = facts.rows.find(({quantity}) => quantity === 'time')!
    const said = (ratio_low: number, ratio_high: number) => {
      const open = {...row, answer: 'cannot_be_told', ratio: 1.4, ratio_low, ratio_high} as const
      return comparisonAnswers({...facts, rows: [open]}).join(' ')
    }
    expect(said(0.7, 2.8)).toContain('B may be 1.4x faster or 2.8x slower.')
    expect(said(1.02, 1.9)).toContain('B may be 1.9x slower.')
  })
})
