/** Runs of the same cells in the order in which they were made, each held against the one before. */
import type {
  ComparedLine,
  Comparison,
  MeasuredRecord,
  QuantityName,
} from '../experiments/comparison.js'
import {groupBy} from '../report/groups.js'
import {plural} from '../report/numbers.js'
import {endedRecords} from '../results/record.js'
import {finiteOrNull} from '../stats/index.js'
import {type Found, isMeasured, isPassed, linesOf, measuredPairs, rowsOf} from './compare.js'
import type {HistoryFacts, HistoryRow} from './history-schema.js'
import type {Limit} from './limits.js'
import {type MeasuredPair, matchRuns, type Side} from './match.js'
import type {ComparedRow, LeftRow} from './schema.js'
import {machineText, SOFTWARE} from './warnings.js'

/** A run of a history. */
export type HistoryRun = Pick<Side, 'directory' | 'manifest' | 'records' | 'cells'>

/** Runs of one experiment. */
export interface HistoryOf {
  experiment: string
  comparison: Comparison
  /** In any order. */
  runs: readonly HistoryRun[]
  /** Number of the machine that made them, where several made runs of the experiment. */
  machine?: string
}

/** What a history is asked for. */
export interface HistoryRequest {
  limits: readonly Limit[]
  strict: boolean
  /** Whether a line is shown and judged. Default: all are. */
  isAsked?: (line: {quantity: QuantityName; at: HistoryRow['at']}) => boolean
}

/** The history of each cell that two runs have measured. */
export function history(all: readonly HistoryOf[], request: HistoryRequest): HistoryFacts {
  const {limits, strict, isAsked = () => true} = request
  const series = all.flatMap(comparable)
  const over = series.map(own => linesOver(own, limits))
  const lines = over.flatMap(({lines}) => lines).filter(own => isAsked(own[0]!))
  const rows = lines
    .filter(({length}) => length > 1)
    .flatMap((own, line) => own.toReversed().map(row => ({...row, line})))
  const left = lines.flatMap(own => (own.at(-1)!.newest ? [] : [notInNewest(own.at(-1)!)]))
  return {
    runs: all
      .flatMap(({runs}) => runs.map(factsOf))
      .sort((a, b) => b.created_at.localeCompare(a.created_at)),
    warnings: [
      ...all.flatMap(machinesOf),
      ...over.flatMap(({apart}) => apart),
      ...series.flatMap(warningsOf),
    ],
    ...{rows, left, limits: [...limits], strict},
    passed: isPassed(newestChanges({rows}), left, {limits, strict}),
  }
}

/** What the newest runs changed. */
export function newestChanges({rows}: Pick<HistoryFacts, 'rows'>): ComparedRow[] {
  return rows.flatMap(({newest, change}) => (newest && change ? [change] : []))
}

function factsOf({directory, manifest, records}: HistoryRun): HistoryFacts['runs'][number] {
  const {created_at, machine, plan} = manifest
  const {commit, rfa} = machine
  const measured = records.filter(isMeasured).length
  const {experiment} = plan
  return {directory, experiment, created_at, commit, rfa, machine: machineText(machine), measured}
}

function isTimed({comparison: {quantities}}: HistoryOf): boolean {
  return quantities.some(({name}) => name === 'time')
}

/** Runs that can be compared with each other, oldest first: times are those of one machine. */
function comparable(own: HistoryOf): HistoryOf[] {
  const runs = own.runs.toSorted((a, b) =>
    a.manifest.created_at.localeCompare(b.manifest.created_at),
  )
  if (!isTimed(own)) return [{...own, runs}]
  const machines = groupBy(runs, ({manifest}) => machineText(manifest.machine))
  return machines.map((same, at) => ({
    ...{...own, runs: same},
    ...(machines.length > 1 && {machine: String(at + 1)}),
  }))
}

/** A row before its line has a number. */
type Unnumbered = Omit<HistoryRow, 'line'>

/** A cell over runs. */
interface Cell {
  newest: MeasuredRecord
  directory: string
  /** By quantity and place, oldest first. */
  lines: Map<string, Unnumbered[]>
}

/** The rows of each line, oldest first, and which runs are not compared with the one before, and why. */
function linesOver(
  own: HistoryOf,
  limits: readonly Limit[],
): {lines: Unnumbered[][]; apart: string[]} {
  const cells: Cell[] = []
  const apart: string[] = []
  for (const run of own.runs) {
    const {directory} = run
    const owners = new Map(cells.map(cell => [cell.newest, cell]))
    const {steps, reasons} = step(run, [...owners.keys()], own, limits)
    for (const [reason = '', ...same] of groupBy(reasons, reason => reason)) {
      const lines = plural(same.length + 1, 'line')
      apart.push(`${directory}, ${lines} not compared with the run before: ${reason}`)
    }
    for (const {record, before, found, changes} of steps) {
      const known = before && owners.get(before)
      const cell = known ?? {newest: record, directory, lines: new Map()}
      for (const one of found) {
        const name = nameOf(one)
        const change = changes.get(name) ?? null
        const row = {...rowOf(run, one, own), before: known?.directory ?? null, change}
        cell.lines.set(name, [...(cell.lines.get(name) ?? []), row])
      }
      if (!known) cells.push(cell)
      Object.assign(cell, {newest: record, directory})
    }
  }
  return {lines: cells.flatMap(({lines}) => [...lines.values()]), apart}
}

/** A line that has numbers. */
type Told = Found & {line: ComparedLine}

/** A record of a run, its lines, the record before, and what changed since, by the names of lines. */
interface Step {
  record: MeasuredRecord
  before: MeasuredRecord | undefined
  found: readonly Told[]
  changes: ReadonlyMap<string, ComparedRow>
}

/** The records of a run against those before, and why lines are not compared. @param latest - of each cell so far */
function step(
  run: HistoryRun,
  latest: readonly MeasuredRecord[],
  {comparison}: HistoryOf,
  limits: readonly Limit[],
): {steps: Step[]; reasons: string[]} {
  const records = run.records.filter(isMeasured)
  const pairs = measuredPairs(matchRuns(latest, records, comparison))
  const between = comparison.between('runs', [...pairs.map(([a]) => a), ...records])
  const told = (pair: MeasuredPair) =>
    linesOf(pair, comparison, between).filter((one): one is Told => !('reason' in one.line))
  const changed = pairs.flatMap(told)
  const reasons = pairs
    .flatMap(pair => linesOf(pair, comparison, between))
    .flatMap(({line}) => ('reason' in line ? [line.reason] : []))
  const rows = rowsOf(changed, {comparison, limits})
  const before = new Map(pairs.map(([a, b]) => [b, a]))
  const changes = new Map(records.map(record => [record, new Map<string, ComparedRow>()]))
  for (const [at, one] of changed.entries()) {
    changes.get(one.pair[1])!.set(nameOf(one), rows[at]!)
  }
  const steps = records.flatMap(record => {
    const found = told([record, record])
    if (found.length === 0) return []
    return [{record, before: before.get(record), found, changes: changes.get(record)!}]
  })
  return {steps, reasons}
}

/** What distinguishes a line from others of its cell. */
function nameOf({line: {quantity, at}}: Told): string {
  return JSON.stringify([quantity, at])
}

function rowOf({directory, manifest}: HistoryRun, {pair, line, at}: Told, own: HistoryOf) {
  const {quantity, b: value, interval} = line
  const {commit, rfa} = manifest.machine
  return {
    ...{experiment: own.experiment, quantity},
    at: own.machine === undefined ? at : {...at, machine: own.machine},
    ...{directory, created_at: manifest.created_at, commit, rfa, key: pair[1].key},
    unit: own.comparison.quantities.find(({name}) => name === quantity)!.unit,
    ...{value, low: endOf(interval?.low), high: endOf(interval?.high)},
    newest: directory === own.runs.at(-1)!.directory,
  }
}

function endOf(end = Number.NaN): number | null {
  return finiteOrNull(end)
}

/** A line of an earlier run alone may hide a regression. */
function notInNewest({quantity, at, directory}: Unnumbered): LeftRow {
  const reason = `last measured in ${directory}, not in the newest run`
  return {where: 'a', quantity, at, reason, open: true}
}

/** That several machines made runs of an experiment, and which. */
function machinesOf(own: HistoryOf): string[] {
  const machines = new Set(own.runs.map(({manifest}) => machineText(manifest.machine)))
  if (machines.size === 1) return []
  const ran = `${own.experiment} ran on ${machines.size} machines`
  if (!isTimed(own)) {
    return [`${ran}, values may differ by more than rounding: ${[...machines].join('; ')}`]
  }
  const each = comparable(own).map(({machine, runs}) => {
    const text = machineText(runs[0]!.manifest.machine)
    return `machine ${machine} is ${text} (${plural(runs.length, 'run')})`
  })
  return [`${ran}, times of two are not compared: ${each.join('; ')}`]
}

/** What else differs between runs of a series, runs that are not finished, and machines that were busy. */
function warningsOf({experiment, comparison, runs}: HistoryOf): string[] {
  const differing = SOFTWARE.flatMap(([name, of]) => {
    const values = [...new Set(runs.map(({manifest}) => String(of(manifest.machine))))]
    return values.length > 1 && name !== 'rfa' ? [`${name} ${values.join(', then ')}`] : []
  })
  const each = runs.flatMap(({directory, records, cells, manifest}) => {
    const busy = comparison.disturbed?.(records.filter(isMeasured))
    const ended = endedRecords(records).length
    const others = [manifest.machine, ...(manifest.sessions ?? [])].map(({commit}) => commit)
    return [
      ...(busy === undefined ? [] : [`${directory}: ${busy}`]),
      ...(cells === null || ended >= cells
        ? []
        : [`${directory} is not finished: ${ended} of ${plural(cells, 'cell')}`]),
      ...(new Set(others).size > 1
        ? [`${directory} has cells of several commits: ${[...new Set(others)].join(', ')}`]
        : []),
    ]
  })
  const same = differing.length === 0 ? [] : [`runs of ${experiment}: ${differing.join('; ')}`]
  return [...same, ...each]
}
