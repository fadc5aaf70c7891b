/**
 * How often `--fail-on` raises a false alarm, sees a regression, and cannot tell, by simulation. The rates are those of
 * docs/compare.md, whose table slow runs print.
 */
import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {type Judgement, judged} from '../../src/compare/limits.js'
import {benchComparison} from '../../src/experiments/bench/report/comparison.js'
import type {TimedRecord} from '../../src/experiments/bench/schema.js'
import type {ComparedLine} from '../../src/experiments/comparison.js'
import {errorSweepComparison} from '../../src/experiments/error-sweep/report/errors/comparison.js'
import {packageRoot} from '../../src/package.js'
import {type RandomStream, randomStream} from '../../src/random/index.js'
import {bonferroniZ, median} from '../../src/stats/index.js'
import {SLOW} from '../helpers/effort.js'
import {timed} from '../helpers/records/bench.js'
import {metric, NO_METRICS, sweep} from '../helpers/records/error-sweep.js'

/** Of the table in the docs; fast runs are the first of them. */
const DOCUMENTED_RUNS = 2000
const RUNS = SLOW ? DOCUMENTED_RUNS : 200
const LIMITS = [5, 10, 25]
/** True ratios B/A at which regressions are looked for. */
const CHANGES = [1.1, 1.25, 1.5]

/** Both sides of a line whose true ratio is given. */
type Draw = (stream: RandomStream, ratio: number) => ComparedLine

const lognormals = (stream: RandomStream, length: number, center: number, spread: number) =>
  Array.from({length}, () => center * Math.exp(spread * stream.normal()))

/** Of each process. */
const TIMED_RUNS = 20

/** A cell whose runs vary by 2 % within a process. @param between - what processes differ by */
function timedBy(processes: number, center: number, between: number, stream: RandomStream) {
  const samples_ns = lognormals(stream, processes, center, between).flatMap(process =>
    lognormals(stream, TIMED_RUNS, process, 0.02),
  )
  const turn_runs = new Array<number>(processes).fill(TIMED_RUNS)
  return timed({}, center, {samples_ns, turn_runs, process_turns: turn_runs.map(() => 1)})
}

/** Both sides of a line, by as many processes each. */
function times(processes: number, between: number): Draw {
  return (stream, ratio) => {
    const [a, b] = [1, ratio].map(factor => timedBy(processes, 1e6 * factor, between, stream)) as [
      TimedRecord,
      TimedRecord,
    ]
    return benchComparison.between('runs', [a, b]).lines(a, b)[0] as ComparedLine
  }
}

/** Errors of replicates that vary by 10 %. @param shared - replicates of B are those of A, but for 3 % each */
function errors(replicates: number, shared: boolean): Draw {
  const cell = (rel_l2: number[], seed: number) => {
    const replicate_metrics = {...NO_METRICS, rel_l2}
    return sweep({seed}, {replicate_metrics, rel_l2: metric(median(rel_l2))})
  }
  return (stream, ratio) => {
    const a = lognormals(stream, replicates, 0.2, 0.1)
    const b = shared
      ? a.map(error => ratio * error * Math.exp(0.03 * stream.normal()))
      : lognormals(stream, replicates, ratio * 0.2, 0.1)
    const [one, other] = [cell(a, 0), cell(b, shared ? 0 : 1)]
    const [line] = errorSweepComparison.between('runs', [one, other]).lines(one, other)
    return line as ComparedLine
  }
}

const CASES: Record<string, Draw> = {
  'time, 3 processes 1.6 % apart': times(3, 0.016),
  'time, 5 processes 1.6 % apart': times(5, 0.016),
  'time, 5 processes 6 % apart': times(5, 0.06),
  'error, 6 replicates of one seed': errors(6, true),
  'error, 20 replicates of one seed': errors(20, true),
  'error, 6 replicates of two seeds each': errors(6, false),
  'error, 20 replicates of two seeds each': errors(20, false),
}

/** Shares of the judgements, of lines of one true ratio. */
function shares(name: string, ratio: number, percent: number): Record<Judgement, number> {
  const found = {regression: 0, within: 0, cannot_be_told: 0}
  for (let run = 0; run < RUNS; run++) {
    const line = CASES[name]!(randomStream(29, `gates ${name} ${ratio}`, run), ratio)
    found[judged(line, {quantity: line.quantity, percent})] += 1 / RUNS
  }
  return found
}

/** All checks of this file together raise an alarm with a probability of 1e-4. */
const Z = bonferroniZ(200, 1e-4)

/** The numbers of a row of docs/compare.md, in per cent. */
function documentedRow(row: string): number[] {
  const text = readFileSync(join(packageRoot(), 'docs', 'compare.md'), 'utf8')
  const line = text.split('\n').find(other => other.startsWith(`${row} |`)) ?? ''
  return line.slice(row.length).split('|').slice(1, -1).map(Number)
}

const ROWS = Object.keys(CASES).flatMap(name => LIMITS.map(limit => [name, limit] as const))

describe('a limit', () => {
  const lines: string[] = []

  it.each(ROWS)('%s, %d %%', (name, percent) => {
    const unchanged = shares(name, 1, percent)
    const atLimit = shares(name, 1 + percent / 100, percent)
    const changed = CHANGES.map(ratio => shares(name, ratio, percent).regression)
    const rates = [unchanged.regression, unchanged.cannot_be_told, atLimit.regression, ...changed]
    const row = `| ${name} | ${percent} %`
    lines.push(`${row} | ${rates.map(share => (100 * share).toFixed(1)).join(' | ')} |`)
    // each side of a 95 % interval misses in 2.5 % of all runs
    const chance = Math.sqrt((0.025 * 0.975) / RUNS)
    expect(atLimit.regression).toBeLessThanOrEqual(0.025 + Z * chance + 1 / RUNS)
    const documented = documentedRow(row)
    expect(documented).toHaveLength(rates.length)
    rates.forEach((share, at) => {
      const stated = documented[at]! / 100
      if (RUNS === DOCUMENTED_RUNS) expect(Math.abs(share - stated)).toBeLessThan(0.00051)
      else expectNear(share, stated)
    })
  })

  it('prints the table of the docs', () => {
    expect(lines).toHaveLength(ROWS.length)
    if (SLOW) process.stdout.write(`\n${lines.join('\n')}\n`)
  })
})

/** P(X >= least) of a binomial number of successes. */
function binomialTail(least: number, trials: number, p: number): number {
  let [term, sum] = [trials * Math.log1p(-p), 0]
  for (let k = 0; k <= trials; k++) {
    if (k >= least) sum += Math.exp(term)
    term += Math.log(((trials - k) * p) / ((k + 1) * (1 - p)))
  }
  return sum
}

describe('a limit of 5 % on the times of five processes that differ by 1.6 %', () => {
  const LINES = 40
  const PAIRS = SLOW ? 1000 : 100
  /** Most chance that a rate on the wrong side of what is promised would have to look as good as this. */
  const DOUBT = 0.01
  const judgedAt = (ratio: number, run: number) =>
    Array.from({length: LINES}, (_, line) => {
      const stream = randomStream(31, `gate of ${LINES} ${ratio} ${line}`, run)
      return judged(times(5, 0.016)(stream, ratio), {quantity: 'time', percent: 5})
    })

  it('raises a false alarm on fewer than 5 % of pairs of equal runs of 40 lines', () => {
    const pairs = Array.from({length: PAIRS}, (_, run) => judgedAt(1, run))
    const alarms = pairs.filter(lines => lines.includes('regression')).length
    expect(1 - binomialTail(alarms + 1, PAIRS, 0.05)).toBeLessThan(DOUBT)
    // as docs/compare.md has it
    if (SLOW) expect(alarms).toBe(0)
  })

  it('sees a factor of 1.1 in at least 80 % of lines', () => {
    const lines = Array.from({length: PAIRS / 10}, (_, run) => judgedAt(1.1, run)).flat()
    const seen = lines.filter(judgement => judgement === 'regression').length
    expect(binomialTail(seen, lines.length, 0.8)).toBeLessThan(DOUBT)
    if (SLOW) expect(Math.round((100 * seen) / lines.length)).toBe(89)
  })
})

/** A rate of the first runs, and one of all of them: pooled, one alarm and one silence added. */
function expectNear(share: number, stated: number): void {
  const pooled = (stated * DOCUMENTED_RUNS + share * RUNS + 1) / (DOCUMENTED_RUNS + RUNS + 2)
  const variance = pooled * (1 - pooled) * (1 / RUNS - 1 / DOCUMENTED_RUNS)
  expect(Math.abs(share - stated)).toBeLessThan(Z * Math.sqrt(variance) + 1 / RUNS)
}
