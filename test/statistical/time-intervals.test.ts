/**
 * How often intervals of times miss, by simulation: runs in turns, disturbed as a shared machine disturbs them. The ranks that
 * `rfa bench` goes by stand beside a bootstrap over turns; docs/statistics.md has the table, which slow runs print.
 */
import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {turnsInterval} from '../../src/experiments/bench/noise.js'
import {packageRoot} from '../../src/package.js'
import {type RandomStream, randomStream} from '../../src/random/index.js'
import {
  bonferroniZ,
  bootstrap,
  type Interval,
  median,
  seriesMedianInterval,
} from '../../src/stats/index.js'
import {SLOW} from '../helpers/effort.js'

/** Of the table in the docs; fast runs are the first of them. */
const DOCUMENTED_TRIALS = 1000
const TRIALS = SLOW ? DOCUMENTED_TRIALS : 40
const TURNS = 24
/** Runs of each turn. */
const RUNS = [1, 4, 12]
const RESAMPLES = 300

/** What a disturbance does to the logarithms of the times of a run, and to those of all cells in a turn alike. */
interface Machine {
  /** Shared by all cells, one for each turn. */
  shared(stream: RandomStream): Float64Array
  /** Runs of one cell, turn by turn. */
  own(runs: number, stream: RandomStream): Float64Array
}

const NOISE = 0.02
const none = () => new Float64Array(TURNS)
const noise = (runs: number, stream: RandomStream) =>
  Float64Array.from({length: TURNS * runs}, () => NOISE * stream.normal())
/** A series whose neighbours correlate. */
function series(length: number, spread: number, correlation: number, stream: RandomStream) {
  let last = stream.normal()
  const fresh = Math.sqrt(1 - correlation ** 2)
  return Float64Array.from({length}, (_, at) => {
    if (at > 0) last = correlation * last + fresh * stream.normal()
    return spread * last
  })
}

const MACHINES: Record<string, Machine> = {
  quiet: {shared: none, own: noise},
  'slow runs, one in ten': {
    shared: none,
    own: (runs, stream) =>
      noise(runs, stream).map(x => (stream.uniform() < 0.1 ? x - Math.log(stream.uniform()) : x)),
  },
  'runs like the one before, 0.6': {
    shared: none,
    own: (runs, stream) => series(TURNS * runs, NOISE, 0.6, stream),
  },
  'slow turns, one in four': {
    shared: stream => none().map(() => (stream.uniform() < 0.25 ? 0.5 : 0)),
    own: noise,
  },
  'own slow turns, one in four': {
    shared: none,
    own: (runs, stream) => {
      const slow = none().map(() => (stream.uniform() < 0.25 ? 0.5 : 0))
      return noise(runs, stream).map((x, at) => x + slow[Math.floor(at / runs)]!)
    },
  },
  'turns like the one before, 0.8': {
    shared: stream => series(TURNS, 0.1, 0.8, stream),
    own: noise,
  },
}

/** Two cells of one run, logarithms of times by turns. */
type Pair = readonly [Float64Array, Float64Array]

function measured({shared, own}: Machine, runs: number, stream: RandomStream): Pair {
  const both = shared(stream)
  const cell = () => own(runs, stream).map((x, at) => x + both[Math.floor(at / runs)]!)
  return [cell(), cell()]
}

const turnOf = (values: Float64Array, turn: number) => {
  const runs = values.length / TURNS
  return values.subarray(turn * runs, (turn + 1) * runs)
}
const turnMedians = (values: Float64Array) =>
  Float64Array.from({length: TURNS}, (_, turn) => median(turnOf(values, turn)))

const runsOf = (values: Float64Array) => [...none()].map(() => values.length / TURNS)

/** The runs of some turns, those that were drawn twice twice. */
function drawn(values: Float64Array, turns: Float64Array): Float64Array {
  const runs = values.length / TURNS
  const all = new Float64Array(values.length)
  turns.forEach((turn, at) => {
    all.set(turnOf(values, turn), at * runs)
  })
  return all
}

/** Percentiles of a statistic of turns that are drawn anew with all their runs. */
function overTurns(statistic: (turns: Float64Array) => number, stream: RandomStream): Interval {
  const turns = none().map((_, at) => at)
  return bootstrap(turns, statistic, {stream, resamples: RESAMPLES, kind: 'percentile'})
}

type Procedure = (pair: Pair, stream: RandomStream) => Interval

/** Intervals of the logarithm of a median, and of that of a ratio, whose truth is 0: both cells have one law. */
const PROCEDURES: Record<'median' | 'ratio', Record<string, Procedure>> = {
  median: {
    'median, ranks': ([first]) => seriesMedianInterval(first, runsOf(first)),
    'median, bootstrap of turns': ([first], stream) =>
      overTurns(turns => median(drawn(first, turns)), stream),
  },
  ratio: {
    'ratio, signed ranks of turns': ([first, second]) => {
      const others = turnMedians(second)
      return turnsInterval(turnMedians(first).map((x, at) => x - others[at]!))
    },
    'ratio, bootstrap of turns': ([first, second], stream) =>
      overTurns(turns => median(drawn(first, turns)) - median(drawn(second, turns)), stream),
  },
}

/** The median of the law of a run, by so many that its own error is a hundredth of the intervals. */
function trueMedian(machine: Machine, stream: RandomStream): number {
  const runs = Array.from({length: 4000}, () => [...measured(machine, 1, stream)[0]])
  return median(runs.flat())
}

const CASES = (['median', 'ratio'] as const).flatMap(what =>
  Object.keys(PROCEDURES[what]).flatMap(procedure =>
    Object.keys(MACHINES).map(machine => [what, procedure, machine] as const),
  ),
)
const Z = bonferroniZ(2 * CASES.length * RUNS.length, 1e-4)

/** Share of the trials that miss, and the median distance of an end, as a share of the time. */
function tried(what: 'median' | 'ratio', procedure: string, name: string, runs: number) {
  const machine = MACHINES[name]!
  const truth = what === 'ratio' ? 0 : trueMedian(machine, randomStream(23, `truth ${name}`))
  let missed = 0
  const reach = Float64Array.from({length: TRIALS}, (_, trial) => {
    const pair = measured(machine, runs, randomStream(23, `times ${name} ${runs}`, trial))
    const stream = randomStream(23, `resamples ${name} ${runs}`, trial)
    const {low, high} = PROCEDURES[what][procedure]!(pair, stream)
    if (!(low <= truth && truth <= high)) missed++
    return (high - low) / 2
  })
  return {missed: missed / TRIALS, reach: Math.expm1(median(reach))}
}

/** The numbers of a row of docs/statistics.md, in per cent. */
function documentedRow(row: string): number[] {
  const text = readFileSync(join(packageRoot(), 'docs', 'statistics.md'), 'utf8')
  const line = text.split('\n').find(other => other.startsWith(`${row} |`)) ?? ''
  return line.slice(row.length).split('|').slice(1, -1).map(Number)
}

/** That a share is the documented one but for the chance of both; pooled, one miss and one hit added. */
function expectDocumented(found: number, documented: number): void {
  const stated = documented / 100
  if (SLOW) {
    expect(Math.abs(found - stated)).toBeLessThan(0.00051)
    return
  }
  const pooled =
    (stated * DOCUMENTED_TRIALS + found * TRIALS + 1) / (DOCUMENTED_TRIALS + TRIALS + 2)
  const variance = pooled * (1 - pooled) * (1 / TRIALS - 1 / DOCUMENTED_TRIALS)
  expect(Math.abs(found - stated)).toBeLessThan(Z * Math.sqrt(variance) + 1 / TRIALS)
}

describe('intervals of times in turns, of 95 %', () => {
  const lines: string[] = []

  it.each(CASES)('%s: %s, %s', (what, procedure, machine) => {
    const found = RUNS.map(runs => tried(what, procedure, machine, runs))
    const row = `| ${procedure} | ${machine}`
    const shown = [...found.map(({missed}) => missed), ...found.map(({reach}) => reach)]
    lines.push(`${row} | ${shown.map(share => (100 * share).toFixed(1)).join(' | ')} |`)
    const documented = documentedRow(row)
    expect(documented).toHaveLength(shown.length)
    found.forEach(({missed}, at) => {
      expectDocumented(missed, documented[at]!)
    })
  })

  it('make a table in slow runs', () => {
    if (!SLOW) return
    const counts = RUNS.map(runs => `${runs}`)
    const head = `| interval | machine | misses, ${counts.join(' | ')} | reach, ${counts.join(' | ')} |`
    process.stdout.write(`\n${[head, head.replace(/[^|]+/g, '---'), ...lines].join('\n')}\n`)
  })
})
