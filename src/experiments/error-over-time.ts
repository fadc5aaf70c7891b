/** Errors of a sweep over times of a benchmark, of the cells that both have. */
import {table} from '../report/document.js'
import {errorOverTime, type TimedError} from '../report/figures/error-over-time.js'
import {type Axis, drawable, type Figure} from '../report/figures/figure.js'
import {groupBy} from '../report/groups.js'
import {nanoseconds, withInterval} from '../report/numbers.js'
import {experimentNamed} from './index.js'
import {variantLabel} from './labels.js'
import type {Measured, MeasuredError, MeasuredTime} from './measured.js'
import type {ReportedRun} from './run-report.js'

const MS = 1e6

/** Both of a method at one M. */
interface Pair {
  error: MeasuredError
  time: MeasuredTime
}

/**
 * Figures of all sweeps among runs with all benchmarks among them; empty if no two share a cell.
 *
 * @returns figures as they can be drawn; `undefined` where the runs are not of both kinds
 */
export async function errorsOverTimes(runs: readonly ReportedRun[]): Promise<Figure[] | undefined> {
  const errors: MeasuredError[] = []
  const times: MeasuredTime[] = []
  for (const {manifest, records} of runs) {
    const experiment = await experimentNamed(manifest.plan.experiment)
    errors.push(...((await experiment.errors?.(records)) ?? []))
    times.push(...((await experiment.times?.(records)) ?? []))
  }
  if (errors.length === 0 || times.length === 0) return undefined
  return groupBy(times, ({place}) => place).flatMap(timed =>
    groupBy(errors, ({place}) => place).flatMap(own =>
      figureOf(own, timed).flatMap(figure => drawable(figure) ?? []),
    ),
  )
}

function figureOf(errors: readonly MeasuredError[], times: readonly MeasuredTime[]): Figure[] {
  const byKey = new Map(times.map(time => [keyOf(time), time]))
  const pairs = errors.flatMap((error): Pair[] => {
    const time = byKey.get(keyOf(error))
    return time === undefined || time.isExact ? [] : [{error, time}]
  })
  const [first] = pairs
  if (!first) return []
  const {length, headDim} = first.error
  const {average} = first.error
  const isThere = (time: MeasuredTime) => time.length === length && time.headDim === headDim
  return errorOverTime({
    title: `Error over time, ${first.error.place}, timed at ${first.time.place}`,
    error: {label: 'error, % of the exact output', percent: true, ...limitOf(pairs)},
    points: pairs.map(pointOf),
    exact: times
      .filter(time => time.isExact && isThere(time) && time.cell.causal === first.time.cell.causal)
      .map(({cell, value}) => ({form: cell.method, ms: value / MS})),
    levels: average === null ? [] : [{label: 'averaging V', error: average}],
    table: table<Pair>(
      [
        {title: 'variant', align: 'left', cell: ({error}) => variantLabel(error.cell)},
        {title: 'rel L2', cell: ({error: {value, low, high}}) => withInterval(value, low, high)},
        {title: 'time', cell: ({time}) => nanoseconds(time.value)},
      ],
      pairs,
    ),
  })
}

function keyOf({cell, length, headDim}: Measured): string {
  return JSON.stringify([variantLabel(cell), cell.causal, length, headDim])
}

/** An error that is so many times that of averaging V lies beyond the axis, unless all do. */
const DIVERGES = 10

function limitOf(pairs: readonly Pair[]): Pick<Axis, 'limit'> {
  const average = pairs[0]!.error.average ?? Number.POSITIVE_INFINITY
  const usual = pairs.map(({error}) => error.value).filter(value => value <= DIVERGES * average)
  if (usual.length === 0 || usual.length === pairs.length) return {}
  return {limit: Math.max(average, ...usual)}
}

function pointOf({error: {cell, value: error, low, high}, time}: Pair): TimedError {
  const ms = (ns: number | null) => (ns === null ? null : ns / MS)
  return {
    ...{method: cell.method, projection: cell.projection},
    ...{error, errorLow: low, errorHigh: high},
    ...{ms: time.value / MS, msLow: ms(time.low), msHigh: ms(time.high)},
    facts: [
      variantLabel(cell),
      `rel L2: ${withInterval(error, low, high)}`,
      `time: ${nanoseconds(time.value)}`,
    ],
  }
}
