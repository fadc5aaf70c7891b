/**
 * How well the intervals of `rfa bench` hold here: runs a small grid many times in fresh programs, on an idle
 * machine and with a loop that keeps one processor busy. Prints how often the interval of one run contains the
 * results of the others, how wide it is, and what `rfa compare` says of equal runs. The word is the number of runs
 * of each kind, 21 by default.
 */
import {spawn} from 'node:child_process'
import {mkdtemp, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {compareSides} from '../../src/cli/compare/run-compare.js'
import type {Side} from '../../src/compare/match.js'
import experiment from '../../src/experiments/bench/index.js'
import type {BenchPlan, TimedRecord} from '../../src/experiments/bench/schema.js'
import {PairedTimes} from '../../src/experiments/bench/times/paired-times.js'
import {medianOf} from '../../src/experiments/bench/times/time-estimates.js'
import {percent} from '../../src/report/numbers.js'
import {machineFacts} from '../../src/results/machine.js'
import {openRun} from '../../src/results/run-directory.js'
import {type Estimate, factorOf, mapped, mean, median, variance} from '../../src/stats/index.js'
import {measured} from '../measured.js'
import {bench} from './plans.js'
import type {Row} from './rows.js'
import type {Calibration} from './run.js'

/** Calls of at least this long have to be known to a few per cent. */
const LONG_NS = 150e3
/** A change that is to be seen, and one that a gate lets pass. */
const CHANGE = 1.1
const GATE = {quantity: 'time', percent: 5} as const

/** The same method twice: an option that says what is the default anyway. */
const METHODS: BenchPlan['methods'] = [
  {method: 'softmax-online', preset: 'exact', options: {}},
  {method: 'favor-pos', preset: 'exact', options: {}},
  {method: 'elu', preset: 'exact', options: {}},
  {method: 'elu', preset: 'exact', options: {denGuard: 'none'}},
]

const {plan: PLAN} = bench('', {
  ...{methods: METHODS, num_features: [64], seq_lens: [256, 1024], heads: 2, order: 'random'},
  timing: {processes: 5, warmup_runs: 10, min_runs: 10, max_runs: 3000, min_time_ns: 0.3e9},
})

/** Under which conditions runs are made. */
const KINDS = [
  {machine: 'alone', threads: 1},
  {machine: 'alone', threads: 2},
  {machine: 'beside a busy loop', threads: 1},
  {machine: 'beside a busy loop', threads: 2},
] as const
type Kind = (typeof KINDS)[number]

/** A row of the report; shares are of 1. */
type Found = Kind & {
  runs: number
  /** How often the interval of a time holds the mean of the other runs. */
  covered: number
  /** The same once it is taken out how fast the machine as a whole was in each run. */
  covered_aside: number
  /** How far that differs between runs: standard deviation of the logarithm of their common level. */
  runs_apart: number
  /** Usual half-width of the intervals of calls of 150 us and longer, as a share. */
  half_width: number
  /** The same of ratios of times within a run. */
  ratio_covered: number
  ratio_half_width: number
  /** How often ratios of equal calls within a run are called different. */
  equal_told_different: number
  /** Lines of such calls with a difference of 10 % that `compare` can detect between two runs. */
  told_ten_percent: number
  /** How many of them it sees once all times of one run are multiplied by 1.1. */
  change_seen: number
  /** Pairs of runs with a regression by `--fail-on time:5%`. */
  false_alarms: number
  pairs: number
}

export default (async ([runs = '21']) => {
  const count = Number(runs)
  const folder = await mkdtemp(join(tmpdir(), 'rfa-repeatability-'))
  try {
    const found: Found[] = []
    // conditions take turns, too: an hour in which the machine is slow falls on all of them
    const sides = new Map<Kind, Side[]>(KINDS.map(kind => [kind, []]))
    for (let run = 0; run < count; run++) {
      for (const kind of KINDS) sides.get(kind)!.push(await oneRun(folder, kind, run))
      process.stderr.write(`${run + 1} of ${count} runs of each kind\n`)
    }
    for (const kind of KINDS) found.push({...kind, ...(await judged(sides.get(kind)!))})
    const machine = await machineFacts({timed: true})
    const report = {schema: 'rfa.repeatability/1', machine, plan: PLAN, found}
    return {rows: found.map(shown), report}
  } finally {
    await rm(folder, {recursive: true, force: true})
  }
}) satisfies Calibration

async function oneRun(folder: string, {machine, threads}: Kind, run: number): Promise<Side> {
  const name = join(folder, `${machine.replaceAll(' ', '-')}-${threads}-${run}`)
  await writeFile(`${name}.json`, JSON.stringify({...PLAN, threads, seed: run}))
  const busy = machine === 'alone' ? undefined : spawn(process.execPath, ['-e', 'for (;;);'])
  try {
    measured(['run', `${name}.json`, '--output', name, '--quiet'])
  } finally {
    busy?.kill('SIGKILL')
  }
  const {manifest, records} = await openRun(name, [experiment])
  return {directory: name, method: null, manifest, records, cells: records.length}
}

async function judged(sides: readonly Side[]): Promise<Omit<Found, keyof Kind>> {
  const runs = sides.map(timesOf)
  const names = [...runs[0]!.keys()]
  const single = (name: string) => runs.map(run => medianOf(run.get(name)!))
  const times = names.map(single)
  const long = (one: Estimate) => one.value >= LONG_NS
  const paired = runs.map(run => new PairedTimes([...run.values()]))
  const ratioOf = (a: string, b: string) =>
    runs.map((run, at) => paired[at]!.ratio(run.get(a)!, run.get(b)!))
  const ratios = names.flatMap((a, at) => names.slice(0, at).map(b => ratioOf(a, b)))
  const equal = PLAN.seq_lens.flatMap(length =>
    ratioOf(`elu ${length}`, `elu (denGuard=none) ${length}`),
  )
  const pairs = sides.slice(1).map((side, at) => [sides[at]!, side] as const)
  const lines = await Promise.all(pairs.map(([a, b]) => linesOf(a, b)))
  const changed = await Promise.all(pairs.map(([a, b]) => linesOf(a, slower(b))))
  const longLines = lines.flat().filter(({a}) => a >= LONG_NS)
  return {
    runs: runs.length,
    covered: coverage(times),
    covered_aside: coverage(levelAside(times)),
    runs_apart: Math.sqrt(
      variance(runs.map((_, run) => mean(levels(times).map(own => own[run]!)))),
    ),
    half_width: median(times.flat().filter(long).map(factorOf)) - 1,
    ratio_covered: coverage(ratios),
    ratio_half_width: median(ratios.flat().map(factorOf)) - 1,
    equal_told_different: shareOf(equal, ({low, high}) => low > 1 || high < 1),
    told_ten_percent: shareOf(
      longLines,
      ({ratio, ratio_low, ratio_high}) =>
        ratio_high! <= CHANGE * ratio! && ratio_low! >= ratio! / CHANGE,
    ),
    change_seen: shareOf(
      changed.flat().filter(({a}) => a >= LONG_NS),
      ({answer}) => answer === 'more',
    ),
    false_alarms: lines.filter(rows => rows.some(({judgement}) => judgement === 'regression'))
      .length,
    pairs: pairs.length,
  }
}

/** Completed records of a run by what they time. */
function timesOf({records}: Side): Map<string, TimedRecord> {
  return new Map(
    (records as readonly TimedRecord[]).map(record => {
      const {method, options, seq_len} = record.cell
      const marks = Object.entries(options).map(([name, value]) => ` (${name}=${value})`)
      return [`${method}${marks.join('')} ${seq_len}`, record]
    }),
  )
}

/** By what was measured, then by runs: how far a logarithm is above the mean of all runs. */
function levels(all: readonly (readonly Estimate[])[]): number[][] {
  return all.map(runs => {
    const logs = runs.map(({value}) => Math.log(value))
    return logs.map(log => log - mean(logs))
  })
}

/** Times without what the others of their run have in common. */
function levelAside(all: readonly (readonly Estimate[])[]): Estimate[][] {
  const above = levels(all)
  return all.map((runs, own) =>
    runs.map((time, run) => {
      const others = above.filter((_, at) => at !== own).map(level => level[run]!)
      return mapped(time, value => value / Math.exp(mean(others)))
    }),
  )
}

/** How often the interval of one run holds the geometric mean of the others. @param all - by what was measured, then by runs */
function coverage(all: readonly (readonly Estimate[])[]): number {
  const held = all.flatMap(runs => {
    const logs = runs.map(({value}) => Math.log(value))
    const sum = logs.reduce((total, log) => total + log, 0)
    return runs.map(({low, high}, at) => {
      const others = Math.exp((sum - logs[at]!) / (runs.length - 1))
      return low <= others && others <= high
    })
  })
  return shareOf(held, Boolean)
}

/** What `rfa compare A B --fail-on time:5%` says of times. */
async function linesOf(a: Side, b: Side) {
  const {facts} = await compareSides([a, b], {related: 'runs', limits: [GATE], strict: false})
  return facts.rows.filter(({quantity}) => quantity === 'time')
}

/** A run as if all of its times were longer. */
function slower(side: Side): Side {
  const records = (side.records as readonly TimedRecord[]).map(
    ({schema, key, cell, status, result}) => {
      const samples_ns = result.samples_ns.map(time => CHANGE * time)
      return {schema, key, cell, status, result: {...result, samples_ns}}
    },
  )
  return {...side, records}
}

function shareOf<T>(all: readonly T[], holds: (one: T) => boolean): number {
  return all.filter(holds).length / all.length
}

function shown({machine, threads, runs, pairs, ...found}: Found): Row {
  const share = (value: number) => percent(100 * value)
  return {
    ...{machine, threads, runs, 'times: half-width %': share(found.half_width)},
    ...{'covered %': share(found.covered), 'runs apart %': share(found.runs_apart)},
    'covered, that aside %': share(found.covered_aside),
    'ratios: covered %': share(found.ratio_covered),
    'half-width %': share(found.ratio_half_width),
    'equal told different %': share(found.equal_told_different),
    'compare tells 10 % %': share(found.told_ten_percent),
    ...{
      'x1.1 seen %': share(found.change_seen),
      'false alarms': `${found.false_alarms} of ${pairs}`,
    },
  }
}
