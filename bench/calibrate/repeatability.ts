/**
 * How well the intervals of `rfa bench --quick` hold here: runs a small grid many times in fresh programs, on the machine as it
 * is and beside two and four loops that keep processors busy. Prints how often the ratios of one run hold what the quiet
 * machine says, how wide they are, the same of times, and what `rfa compare` says of equal runs. The word is the number of
 * runs of each kind, 8 by default; runs that `--cache` has are not made again.
 *
 * Half of the runs, those with even numbers, say what the quiet machine measures and how far the floor is that processes of one
 * run do not show; the intervals of the others are held against it.
 */

import {spawn} from 'node:child_process'
import {mkdir, mkdtemp, readFile, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {isTold} from '../../src/answers/index.js'
import {compareSides} from '../../src/cli/compare/run-compare.js'
import {BENCH} from '../../src/cli/plans/bench.js'
import type {Side} from '../../src/compare/match.js'
import experiment from '../../src/experiments/bench/index.js'
import type {BenchPlan, TimedRecord} from '../../src/experiments/bench/schema.js'
import {intervalOf, PairedTimes} from '../../src/experiments/bench/times/paired-times.js'
import {FLOOR, medianOf, undisturbedTime} from '../../src/experiments/bench/times/time-estimates.js'
import {percent} from '../../src/report/numbers.js'
import {machineFacts} from '../../src/results/folder/machine.js'
import {openRun} from '../../src/results/folder/run-directory.js'
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
/** What changes. */
const CHANGED = 'favor-pos'

/** The same method twice: an option that says what is the default anyway. */
const METHODS: BenchPlan['methods'] = [
  {method: 'softmax-online', preset: 'exact', options: {}},
  {method: 'favor-pos', preset: 'exact', options: {}},
  {method: 'elu', preset: 'exact', options: {}},
  {method: 'elu', preset: 'exact', options: {denGuard: 'none'}},
]

const {processes, warmupRuns, minRuns, maxRuns, minTime} = BENCH.quick

const {plan: PLAN} = bench('', {
  ...{methods: METHODS, num_features: [64], seq_lens: [256, 1024], heads: 2, order: 'random'},
  timing: {
    ...{processes, warmup_runs: warmupRuns, min_runs: minRuns, max_runs: maxRuns},
    min_time_ns: minTime * 1e9,
  },
})

/** Under which conditions runs are made. */
const KINDS = [0, 2, 4].flatMap(loops => [1, 2].map(threads => ({loops, threads})))
type Kind = (typeof KINDS)[number]

/** A row of the report; shares are of 1. */
type Found = Kind & {
  runs: number
  /** Usual wall time of a run. */
  seconds: number
  /** How often the interval of a ratio of calls of 150 us and longer holds what the quiet machine says. */
  ratio_covered: number
  /** Usual half-width of these, as a share. */
  ratio_half_width: number
  /** Share of ratios that are withheld, because the machine was too busy; they are in neither of the above. */
  ratio_withheld: number
  /** Standard deviation of a logarithm that no process of a run shows, by runs that no interval is held against. */
  floor: number
  /** How often ratios of equal calls within a run are called different. */
  equal_told_different: number
  /** How often the interval of a time holds the mean of the other runs of its kind. */
  covered: number
  /** Usual half-width of those of 150 us and longer, as a share. */
  half_width: number
  /** How far times of runs differ as a whole: standard deviation of the logarithm of their common level. */
  runs_apart: number
  /** Lines of such calls with a difference of 10 % that `compare` can detect between two runs. */
  told_ten_percent: number
  /** How many of one method it sees once all times of that in one run are multiplied by 1.1. */
  change_seen: number
  /** Pairs of runs with a regression by `--fail-on time:5%`. */
  false_alarms: number
  pairs: number
}

export default (async ([runs = '8'], {cache}) => {
  const count = Number(runs)
  const folder = cache ?? (await mkdtemp(join(tmpdir(), 'rfa-repeatability-')))
  try {
    await mkdir(folder, {recursive: true})
    // conditions take turns, too: an hour in which the machine is slow falls on all of them
    const made = new Map<Kind, Made[]>(KINDS.map(kind => [kind, []]))
    for (let run = 0; run < count; run++) {
      for (const kind of KINDS) made.get(kind)!.push(await oneRun(folder, kind, run))
      process.stderr.write(`${run + 1} of ${count} runs of each kind\n`)
    }
    const found: Found[] = []
    for (const kind of KINDS) {
      const quiet = made.get(
        KINDS.find(({loops, threads}) => loops === 0 && threads === kind.threads)!,
      )!
      found.push({...kind, ...(await judged(made.get(kind)!, quiet))})
    }
    const machine = await machineFacts({timed: true})
    const report = {schema: 'rfa.repeatability/2', machine, plan: PLAN, floor: FLOOR, found}
    return {rows: found.map(shown), report}
  } finally {
    if (!cache) await rm(folder, {recursive: true, force: true})
  }
}) satisfies Calibration

/** A run, and the seconds that it took. */
type Made = Side & {seconds: number}

/** Loops end by themselves, should nobody end them. */
const LOOP = 'const end = Date.now() + 600e3; while (Date.now() < end);'

async function oneRun(folder: string, {loops, threads}: Kind, run: number): Promise<Made> {
  const name = join(folder, `loops-${loops}-threads-${threads}-run-${run}`)
  const there = await savedRun(name)
  if (there) return there
  await rm(name, {recursive: true, force: true})
  await writeFile(`${name}.json`, JSON.stringify({...PLAN, threads, seed: run}))
  const busy = Array.from({length: loops}, () => spawn(process.execPath, ['-e', LOOP]))
  try {
    const {seconds} = measured(['run', `${name}.json`, '--output', name, '--quiet'])
    await writeFile(`${name}.seconds`, String(seconds))
  } finally {
    for (const loop of busy) loop.kill('SIGKILL')
  }
  return (await savedRun(name))!
}

/** A run that has ended. */
async function savedRun(directory: string): Promise<Made | undefined> {
  const seconds = await readFile(`${directory}.seconds`, 'utf8').catch(() => undefined)
  if (seconds === undefined) return undefined
  const {manifest, records} = await openRun(directory, [experiment])
  return {
    directory,
    method: null,
    manifest,
    records,
    cells: records.length,
    seconds: Number(seconds),
  }
}

/** Ratios of a run, and what it says of each. */
interface Ratios {
  estimates: Estimate[]
  /** Logarithms, and their variances without the floor. */
  logs: {value: number; variance: number}[]
}

function ratiosOf(run: ReadonlyMap<string, TimedRecord>): Ratios {
  const paired = new PairedTimes([...run.values()])
  const pairs = pairsOf(run).map(([a, b]) => paired.logRatio(run.get(a)!, run.get(b)!))
  return {
    estimates: pairs.map(log => mapped(intervalOf(log), Math.exp)),
    logs: pairs.map(({value, error}) => ({value, variance: error ** 2 - 2 * FLOOR ** 2})),
  }
}

/** Names of cells that make a ratio, those of long calls. */
function pairsOf(run: ReadonlyMap<string, TimedRecord>): (readonly [string, string])[] {
  const names = [...run.keys()].sort().filter(name => undisturbedTime(run.get(name)!) >= LONG_NS)
  return names.flatMap((a, at) => names.slice(0, at).map(b => [a, b] as const))
}

const even = <T>(all: readonly T[]): T[] => all.filter((_, at) => at % 2 === 0)
const odd = <T>(all: readonly T[]): T[] => all.filter((_, at) => at % 2 === 1)

/**
 * Standard deviation of one time that its processes do not show.
 *
 * @param truth - by ratios and runs: a mean of other runs @param others - how many; it varies, too
 */
function floorOf(
  runs: readonly Ratios[],
  truth: (ratio: number, run: number) => number,
  others: number,
): number {
  const beyond = runs.flatMap(({logs}, run) =>
    logs.flatMap(({value, variance}, ratio) => {
      const apart = (value - truth(ratio, run)) ** 2 / (1 + 1 / others)
      return Number.isFinite(variance) ? [apart - variance] : []
    }),
  )
  return Math.sqrt(Math.max(0, mean(beyond) / 2))
}

async function judged(
  sides: readonly Made[],
  quiet: readonly Made[],
): Promise<Omit<Found, keyof Kind>> {
  const runs = sides.map(timesOf)
  const reference = even(quiet.map(side => ratiosOf(timesOf(side))))
  const known = (ratio: number, without?: number) =>
    mean(reference.filter((_, at) => at !== without).map(({logs}) => logs[ratio]!.value))
  const all = runs.map(ratiosOf)
  const isQuiet = sides === quiet
  const held = odd(all).flatMap(({estimates}) =>
    estimates.map((estimate, ratio) => ({estimate, truth: Math.exp(known(ratio))})),
  )
  const told = held.filter(({estimate}) => isTold(estimate))
  const names = [...runs[0]!.keys()]
  const single = (name: string) => runs.map(run => medianOf(run.get(name)!))
  const times = names.map(single)
  const long = (one: Estimate) => one.value >= LONG_NS
  const paired = runs.map(run => new PairedTimes([...run.values()]))
  const ratioOf = (a: string, b: string) =>
    runs.map((run, at) => paired[at]!.ratio(run.get(a)!, run.get(b)!))
  const equal = PLAN.seq_lens.map(length =>
    ratioOf(`elu ${length}`, `elu (denGuard=none) ${length}`),
  )
  const pairs = sides.slice(1).map((side, at) => [sides[at]!, side] as const)
  const lines = await Promise.all(pairs.map(([a, b]) => linesOf(a, b)))
  const changed = await Promise.all(pairs.map(([a, b]) => linesOf(a, slower(b))))
  const longLines = lines.flat().filter(({a}) => a >= LONG_NS)
  return {
    runs: runs.length,
    seconds: median(sides.map(({seconds}) => seconds)),
    ratio_covered: shareOf(told, ({estimate: {low, high}, truth}) => low <= truth && truth <= high),
    ratio_half_width: median(told.map(({estimate}) => factorOf(estimate))) - 1,
    ratio_withheld: 1 - told.length / held.length,
    // of the quiet machine, each run against the others
    floor: floorOf(
      even(all),
      (ratio, run) => known(ratio, isQuiet ? run : undefined),
      reference.length - Number(isQuiet),
    ),
    equal_told_different: shareOf(equal.flat(), ({low, high}) => low > 1 || high < 1),
    covered: coverage(times),
    half_width: median(times.flat().filter(long).map(factorOf)) - 1,
    runs_apart: Math.sqrt(
      variance(runs.map((_, run) => mean(levels(times).map(own => own[run]!)))),
    ),
    told_ten_percent: shareOf(
      longLines,
      ({ratio, ratio_low, ratio_high}) =>
        ratio_high! <= CHANGE * ratio! && ratio_low! >= ratio! / CHANGE,
    ),
    change_seen: shareOf(
      changed.flat().filter(({a, at}) => a >= LONG_NS && at.method === CHANGED),
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

/** A run as if all times of a method were longer. */
function slower(side: Side): Side {
  const records = (side.records as readonly TimedRecord[]).map(
    ({schema, key, cell, status, result}) => {
      if (cell.method !== CHANGED) return {schema, key, cell, status, result}
      const longer = (times: readonly number[]) => times.map(time => CHANGE * time)
      const [samples_ns, run_waits_ns] = [longer(result.samples_ns), longer(result.run_waits_ns)]
      const waited_ns = result.waited_ns && CHANGE * result.waited_ns
      const changed = {...result, samples_ns, run_waits_ns, waited_ns}
      return {schema, key, cell, status, result: changed}
    },
  )
  return {...side, records}
}

function shareOf<T>(all: readonly T[], holds: (one: T) => boolean): number {
  return all.filter(holds).length / all.length
}

function shown({loops, threads, runs, seconds, pairs, ...found}: Found): Row {
  const share = (value: number) => percent(100 * value)
  return {
    ...{'busy loops': loops, threads, runs, seconds: seconds.toFixed(0)},
    'ratios: hold the quiet value %': share(found.ratio_covered),
    'half-width %': share(found.ratio_half_width),
    'withheld %': share(found.ratio_withheld),
    'floor %': share(found.floor),
    'equal told different %': share(found.equal_told_different),
    'times: hold the other runs %': share(found.covered),
    'their half-width %': share(found.half_width),
    'runs apart %': share(found.runs_apart),
    'compare tells 10 % %': share(found.told_ten_percent),
    'x1.1 seen %': share(found.change_seen),
    'false alarms': `${found.false_alarms} of ${pairs}`,
  }
}
