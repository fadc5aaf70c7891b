/** Runs of the same cells in the order in which they were made, each held against the one before. */
import type {
  ComparedLine,
  Comparison,
  MeasuredRecord,
  QuantityName,
  UncomparedLine,
} from '../experiments/comparison.js'
import {groupBy} from '../report/groups.js'
import {plural} from '../report/numbers.js'
import {type CellRecord, endedRecords} from '../results/record.js'
import {finiteOrNull} from '../stats/index.js'
import {
  endOf,
  type Found,
  isMeasured,
  isPassed,
  leftLine,
  linesOf,
  measuredPairs,
  rowsOf,
} from './compare.js'
import type {HistoryFacts, HistoryRow} from './history-schema.js'
import type {Limit} from './limits.js'
import {type MeasuredPair, matchRuns, type Side} from './match.js'
import type {ComparedRow, LeftRow} from './schema.js'
import {machineText, SOFTWARE, stepWarnings} from './warnings.js'

type HistoryRun = Pick<Side, 'directory' | 'manifest' | 'records' | 'cells'>

/** Runs of one experiment. */
export interface HistoryOf {
  experiment: string
  comparison: Comparison
  /** In any order. */
  runs: readonly HistoryRun[]
  /** Number of the machine that made them, where several made runs of the experiment. */
  machine?: string
}

export interface HistoryRequest {
  limits: readonly Limit[]
  strict: boolean
  /** Whether a line is shown and judged. Default: all are. */
  isAsked?: (line: {quantity: QuantityName; at: HistoryRow['at']}) => boolean
  /** Folders that have no part in it. Default: none. */
  leftOut?: HistoryFacts['left_out']
}

/** The history of each cell that two runs have measured. */
export function history(all: readonly HistoryOf[], request: HistoryRequest): HistoryFacts {
  const {limits, strict, isAsked = () => true, leftOut = []} = request
  const series = all.flatMap(comparable)
  const over = series.map(own => linesOver(own, limits))
  const rows = over
    .flatMap(({lines}) => lines)
    .filter(own => isAsked(own[0]!) && (own.length > 1 || own[0]!.change))
    .flatMap((own, line) => own.toReversed().map(row => ({...row, line})))
  const left = over
    .flatMap(one => one.left)
    .filter(({quantity, at}) => quantity !== null && isAsked({quantity, at}))
  return {
    runs: all
      .flatMap(({runs}) => runs.map(factsOf))
      .sort((a, b) => b.created_at.localeCompare(a.created_at)),
    warnings: [
      ...all.flatMap(machinesOf),
      ...series.flatMap(warningsOf),
      ...over.flatMap(({warnings}) => warnings),
    ],
    ...{rows, left, left_out: leftOut, limits: [...limits], strict},
    passed:
      isPassed(newestChanges({rows}), left, {limits, strict}) &&
      !(strict && leftOut.some(({open}) => open)),
  }
}

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

/** A line of a cell, and the run that had it last. */
type Last = Pick<HistoryRow, 'quantity' | 'at' | 'directory'>

/** A cell over runs. */
interface Cell {
  newest: MeasuredRecord
  /** The run of that record. */
  run: HistoryRun
  /** Its rows by line, oldest first. */
  rows: Map<string, Unnumbered[]>
  last: Map<string, Last>
  /** Lines of the run at hand that could not be compared with the run before. */
  uncompared: Map<string, UncomparedLine>
  /** How it ended in the run at hand, where that did not measure it. */
  ended: string
}

/** The rows of each line, oldest first, and what the newest run did not measure, or could not be compared there. */
function linesOver(own: HistoryOf, limits: readonly Limit[]) {
  const cells: Cell[] = []
  const steps = own.runs.map(run => addRun(run, cells, own, limits))
  return {
    lines: cells.flatMap(({rows}) => [...rows.values()]),
    left: cells.flatMap(cell => leftOf(cell, own.runs.at(-1)!)),
    warnings: [...steps.flatMap(({otherwise}) => otherwise), ...steps.flatMap(({apart}) => apart)],
  }
}

/** A line that has numbers. */
type Told = Found & {line: ComparedLine}

function hasNumbers(one: Found): one is Told {
  return !('reason' in one.line)
}

/** Adds a run to the cells of those before it. @returns what else differs from those, and why lines are not compared */
function addRun(
  run: HistoryRun,
  cells: Cell[],
  own: HistoryOf,
  limits: readonly Limit[],
): {otherwise: string[]; apart: string[]} {
  const {comparison} = own
  const records = run.records.filter(isMeasured)
  const owners = new Map<CellRecord, Cell>(cells.map(cell => [cell.newest, cell]))
  const matching = matchRuns([...owners.keys()], run.records, comparison)
  for (const cell of cells) Object.assign(cell, {uncompared: new Map(), ended: ''})
  for (const [a, b] of matching.pairs) owners.get(a)!.ended = endOf(b).slice(': '.length)
  const pairs = measuredPairs(matching)
  const earlierOf = ([a]: MeasuredPair) => owners.get(a)!.run.directory
  // each earlier run has a shift against this one
  const found = groupBy(pairs, earlierOf).flatMap(same => {
    const earlier = owners.get(same[0]![0])!.run
    const all = [...earlier.records.filter(isMeasured), ...records]
    const between = comparison.between('runs', all, [earlier.directory, run.directory])
    return same.flatMap(pair => linesOf(pair, comparison, between))
  })
  const compared = found.filter(hasNumbers)
  const rows = rowsOf(compared, {comparison, limits})
  const otherwise = groupBy(pairs, earlierOf).flatMap(same => {
    const own = new Set(same)
    const changed = compared.flatMap(({pair}, at) => (own.has(pair) ? [rows[at]!] : []))
    const against = `${run.directory} against ${earlierOf(same[0]!)}`
    return stepWarnings(same, changed).map(warning => `${against}: ${warning}`)
  })
  const changes = new Map<Found, ComparedRow>(compared.map((one, at) => [one, rows[at]!]))
  const known = new Map(pairs.map(([a, b]) => [b, owners.get(a)!]))
  const since = new Map<MeasuredRecord, Found[]>(records.map(record => [record, []]))
  for (const one of found) since.get(one.pair[1])!.push(one)
  const alone = comparison.between('runs', records)
  for (const record of records) {
    const lines = linesOf([record, record], comparison, alone)
    const none = {rows: new Map(), last: new Map(), uncompared: new Map(), ended: ''}
    const cell = known.get(record) ?? {newest: record, run, ...none}
    addLines(cell, {run, own, lines, since: since.get(record)!, changes})
    // what has no numbers by itself is no base for the next run
    if (lines.every(({line}) => 'reason' in line && !line.settled)) continue
    if (!known.has(record)) cells.push(cell)
    Object.assign(cell, {newest: record, run})
  }
  const reasons = found.flatMap(({line}) =>
    'reason' in line && !line.settled ? [line.reason] : [],
  )
  const apart = groupBy(reasons, reason => reason).map(
    ({0: reason, length}) =>
      `${run.directory}, ${plural(length, 'line')} not compared with the run before: ${reason}`,
  )
  return {otherwise, apart}
}

/** What a run has of a cell. */
interface Added {
  run: HistoryRun
  own: HistoryOf
  /** By themselves. */
  lines: readonly Found[]
  /** Against the run before. */
  since: readonly Found[]
  changes: ReadonlyMap<Found, ComparedRow>
}

function addLines(cell: Cell, {run, own, lines, since, changes}: Added): void {
  const before = cell.run === run ? null : cell.run.directory
  const compared = new Map(since.map(one => [nameOf(one), one]))
  const alone = new Map(lines.map(one => [nameOf(one), one]))
  for (const [name, one] of new Map([...compared, ...alone])) {
    const change = compared.get(name)
    // what is the rounding of float32 has numbers only against an error
    const shown = [one, ...(change ? [change] : [])].find(hasNumbers)
    const {quantity} = one.line
    const at = own.machine === undefined ? one.at : {...one.at, machine: own.machine}
    if (change && 'reason' in change.line) cell.uncompared.set(name, change.line)
    if (shown) {
      const step = {before, change: (change && changes.get(change)) ?? null}
      const row = {...rowOf(run, shown, own), at, ...step}
      cell.rows.set(name, [...(cell.rows.get(name) ?? []), row])
    }
    if (shown || alone.has(name)) cell.last.set(name, {quantity, at, directory: run.directory})
  }
}

/** What distinguishes a line from others of its cell. */
function nameOf({line: {quantity, at}}: Found): string {
  return JSON.stringify([quantity, at])
}

function rowOf({directory, manifest}: HistoryRun, {pair, line}: Told, own: HistoryOf) {
  const {quantity, b: value, interval} = line
  const {commit, rfa} = manifest.machine
  return {
    ...{experiment: own.experiment, quantity, directory, created_at: manifest.created_at},
    ...{commit, rfa, key: pair[1].key},
    unit: own.comparison.quantities.find(({name}) => name === quantity)!.unit,
    value,
    low: finiteOrNull(interval?.low ?? Number.NaN),
    high: finiteOrNull(interval?.high ?? Number.NaN),
    newest: directory === own.runs.at(-1)!.directory,
  }
}

/** Lines of a cell that the newest run lacks, which may hide a regression, and those that it has and that were not compared. */
function leftOf({last, uncompared, ended}: Cell, newest: HistoryRun): LeftRow[] {
  return [...last].flatMap(([name, {quantity, at, directory}]): LeftRow[] => {
    const line = uncompared.get(name)
    if (line && (line.settled || directory === newest.directory)) return [leftLine(line, at)]
    if (directory === newest.directory) return []
    const reason = `${ended ? `${ended}; ` : ''}last measured in ${directory}`
    return [{where: 'a', quantity, at: {...at}, reason, open: true}]
  })
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
