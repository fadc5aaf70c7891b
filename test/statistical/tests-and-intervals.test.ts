/**
 * How often tests raise false alarms and intervals miss, by simulation, under data that they were and were not made for.
 * What is exact must hold; everything must be what docs/statistics.md says, whose tables slow runs print.
 */
import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'
import {type RandomStream, randomStream} from '../../src/random/index.js'
import {
  bonferroniZ,
  hodgesLehmann,
  holm,
  normalCdf,
  pairsNeeded,
  signedRank,
  studentTest,
  weightedLine,
} from '../../src/stats/index.js'
import {SLOW} from '../helpers/effort.js'

/** Of the tables in the docs; fast runs are the first of them. */
const DOCUMENTED_RUNS = 1000
const RUNS = SLOW ? DOCUMENTED_RUNS : 100
const ALPHA = 0.05
const SIZES = [6, 12, 20, 40]

interface Data {
  draw(stream: RandomStream): number
  mean: number
  median: number
  pseudomedian: number
  symmetric: boolean
}
const centred = {mean: 0, median: 0, pseudomedian: 0, symmetric: true}
const DATA: Record<string, Data> = {
  normal: {...centred, draw: stream => stream.normal()},
  'log-normal': {
    draw: stream => Math.exp(stream.normal()),
    mean: Math.exp(0.5),
    median: 1,
    pseudomedian: lognormalPseudomedian(),
    symmetric: false,
  },
  't, 3 degrees': {
    ...centred,
    draw: stream => {
      const squares = stream.normal() ** 2 + stream.normal() ** 2 + stream.normal() ** 2
      return stream.normal() / Math.sqrt(squares / 3)
    },
  },
  'whole numbers': {...centred, draw: stream => stream.integer(5) - 2},
}

/** The median of the mean of two log-normal numbers, by halving their distribution function. */
function lognormalPseudomedian(): number {
  const below = (m: number) => {
    // a normal z and the step from its probability to the next, wide enough for 1e-5
    let sum = 0
    for (let z = -8; Math.exp(z) < 2 * m; z += 1e-4) {
      sum += Math.exp((-z * z) / 2) * normalCdf(Math.log(2 * m - Math.exp(z)))
    }
    return (sum * 1e-4) / Math.sqrt(2 * Math.PI)
  }
  let [low, high] = [1, 2]
  while (high - low > 1e-6) {
    const middle = (low + high) / 2
    if (below(middle) < 0.5) low = middle
    else high = middle
  }
  return low
}

/** One run: is there a false alarm, or a miss? */
type Trial = (data: Data, length: number, stream: RandomStream) => boolean

const sample = ({draw}: Data, length: number, stream: RandomStream) =>
  Float64Array.from({length}, () => draw(stream))
const exchanged = (data: Data, length: number, stream: RandomStream) =>
  sample(data, length, stream).map(value => value - data.draw(stream))
const misses = ({low, high}: {low: number; high: number}, truth: number) =>
  low > truth || high < truth

const TRIALS: Record<string, Trial> = {
  't, mean greater': (data, length, stream) =>
    studentTest(sample(data, length, stream), {mean: data.mean, alternative: 'greater'}).pValue <=
    ALPHA,
  't, mean less': (data, length, stream) =>
    studentTest(sample(data, length, stream), {mean: data.mean, alternative: 'less'}).pValue <=
    ALPHA,
  'signed ranks, exchangeable pairs': (data, length, stream) =>
    signedRank(exchanged(data, length, stream), {alternative: 'greater'}).pValue <= ALPHA,
  'signed ranks, one sample, median greater': (data, length, stream) => {
    const shifted = sample(data, length, stream).map(value => value - data.median)
    return signedRank(shifted, {alternative: 'greater'}).pValue <= ALPHA
  },

  'Hodges-Lehmann interval': (data, length, stream) =>
    misses(hodgesLehmann(sample(data, length, stream)), data.pseudomedian),
}

/** Where 5 % is a promise, whatever the size. */
function isExact(trial: string, data: Data): boolean {
  if (trial.startsWith('t,')) return data === DATA.normal
  return trial === 'signed ranks, exchangeable pairs' || data.symmetric
}

function rate(name: string, runs: number, trial: (stream: RandomStream) => boolean): number {
  let count = 0
  for (let run = 0; run < runs; run++) {
    if (trial(randomStream(21, `tests ${name}`, run))) count++
  }
  return count / runs
}

const CASES = Object.keys(TRIALS).flatMap(trial =>
  Object.keys(DATA).map(data => [trial, data] as const),
)
/** All comparisons of this file together raise an alarm with a probability of 1e-4. */
const Z = bonferroniZ(2 * CASES.length * SIZES.length + 60, 1e-4)

function expectAtMost(found: number, limit: number): void {
  expect(found).toBeLessThanOrEqual(limit + Z * Math.sqrt((limit * (1 - limit)) / RUNS) + 1 / RUNS)
}

/** That a rate is the documented one but for the chance of both; pooled, one alarm and one silence added. */
function expectDocumented(row: string, found: readonly number[]): void {
  const documented = documentedRow(row)
  expect(documented).toHaveLength(found.length)
  found.forEach((share, at) => {
    const stated = documented[at]! / 100
    if (RUNS === DOCUMENTED_RUNS) {
      expect(Math.abs(share - stated)).toBeLessThan(0.00051)
      return
    }
    const pooled = (stated * DOCUMENTED_RUNS + share * RUNS + 1) / (DOCUMENTED_RUNS + RUNS + 2)
    // the runs are the first of the documented ones: their rates differ by the chance of the others
    const variance = pooled * (1 - pooled) * (1 / RUNS - 1 / DOCUMENTED_RUNS)
    expect(Math.abs(share - stated)).toBeLessThan(Z * Math.sqrt(variance) + 1 / RUNS)
  })
}

/** The numbers of a row of docs/statistics.md, in per cent. */
function documentedRow(row: string): number[] {
  const text = readFileSync(join(packageRoot(), 'docs', 'statistics.md'), 'utf8')
  const line = text.split('\n').find(other => other.startsWith(`${row} |`)) ?? ''
  return line.slice(row.length).split('|').slice(1, -1).map(Number)
}

const shown = (rates: readonly number[]) => rates.map(share => (100 * share).toFixed(1)).join(' | ')

function print(head: string, lines: readonly string[]): void {
  if (!SLOW) return
  const rule = head.replace(/[^|]+/g, '---')
  process.stdout.write(`\n${[head, rule, ...lines].join('\n')}\n`)
}

describe('false alarms and misses, of 5 %', () => {
  const lines: string[] = []

  it.each(CASES)('%s: %s', (trial, name) => {
    const data = DATA[name]!
    const rates = SIZES.map(length =>
      rate(`${trial} ${name} ${length}`, RUNS, stream => TRIALS[trial]!(data, length, stream)),
    )
    const row = `| ${trial} | ${name}`
    lines.push(`${row} | ${shown(rates)} |`)
    if (isExact(trial, data)) for (const share of rates) expectAtMost(share, ALPHA)
    expectDocumented(row, rates)
  })

  it('make a table in slow runs', () => {
    expect(lines).toHaveLength(CASES.length)
    print(`| procedure | data | ${SIZES.map(size => `n = ${size}`).join(' | ')} |`, lines)
  })
})

describe('planned pairs see what they were planned for, 90 %', () => {
  it.each(['t', 'signed-rank'] as const)('%s, normal differences', test => {
    const effect = 0.6
    const pairs = pairsNeeded({effect, test})
    const missed = rate(`pairs ${test}`, RUNS, stream => {
      const values = Float64Array.from({length: pairs}, () => stream.normal() + effect)
      const run = test === 't' ? studentTest : signedRank
      return run(values, {alternative: 'greater'}).pValue > ALPHA
    })
    expectAtMost(missed, 0.1)
  })
})

describe('several tests', () => {
  it('by Holm raise any false alarm in 5 % of the runs', () => {
    const alarms = rate('holm', RUNS, stream => {
      const values = Array.from({length: 8}, () => stream.uniform())
      return holm(values).some(p => p <= ALPHA)
    })
    expectAtMost(alarms, ALPHA)
  })
})

describe('weighted lines', () => {
  const x = [0, 1, 2, 3, 4]
  const errors = [0.1, 0.3, 0.2, 0.5, 0.1]
  const line = (stream: RandomStream) => {
    const y = x.map((one, at) => 2 - one + errors[at]! * stream.normal())
    return weightedLine(x, y, errors)
  }

  it('have their slope within 1.96 standard errors but for 5 % of the runs', () => {
    const far = ({slope, slopeError}: ReturnType<typeof line>) =>
      Math.abs(slope + 1) > 1.96 * slopeError
    expectAtMost(
      rate('line slope', RUNS, stream => far(line(stream))),
      ALPHA,
    )
  })
})
