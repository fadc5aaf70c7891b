/** `rfa compare`: reads runs, compares them, writes what was asked for. */
import {realpath} from 'node:fs/promises'
import {compare} from '../../compare/compare.js'
import type {Limit} from '../../compare/limits.js'
import {
  type ComparisonRequest,
  cellsOfMethod,
  matchMethods,
  matchRuns,
  methodsOf,
  type Side,
} from '../../compare/match.js'
import {comparisonCsv, comparisonReport} from '../../compare/report.js'
import {comparisonScreen} from '../../compare/screen.js'
import {expected, unknownName} from '../../errors.js'
import {comparisonOf, experimentNamed} from '../../experiments/index.js'
import type {ReportedRun} from '../../experiments/run-report.js'
import {differences} from '../../results/folder/resume.js'
import {type FailOnFlags, limitsOf} from '../plans/compare.js'
import type {ComparisonDocument} from '../program/json-documents.js'
import {readSaved} from '../report/read-saved.js'
import type {RunServices} from '../report/write-report.js'
import type {Compared} from './compare-page.js'
import {type ResultFlags, writeResult} from './result-files.js'

/** What `rfa compare` was asked for. */
export interface CompareFlags extends FailOnFlags {
  methods?: readonly [string, string] | undefined
}

/**
 * Compares two runs, or two methods of one.
 *
 * @param bin - what the program is called
 * @throws {USAGE} for another number of runs, one run twice, and limits of what the experiment does not measure
 * @throws {UNKNOWN_NAME} for a method that is not in the run
 * @throws {PLAN_MISMATCH} where no cell has a partner
 * @throws {FILE_MISSING | BAD_FILE | UNKNOWN_SCHEMA} where a run cannot be read
 */
export async function compareSaved(
  directories: readonly string[],
  flags: CompareFlags,
  {bin, services}: {bin: string; services: RunServices},
): Promise<Compared> {
  const limits = limitsOf(flags)
  const {methods, strict} = flags
  checkNumber(directories, methods !== undefined)
  await refuseSameFolder(directories)
  const saved = await readSaved(directories, bin, services)
  const runs = saved.map(one => {
    if (one.kind === 'run') return one.run
    const remedy = 'name the folders of runs that are in it'
    throw expected('USAGE', one.directory, 'the folder of a run', 'one of claims', remedy)
  })
  const sides = methods ? sidesOfMethods(runs[0]!, methods) : sidesOfRuns(runs)
  const related = methods ? 'methods' : 'runs'
  return compareSides(sides, {related, limits, strict})
}

type How = Pick<ComparisonRequest, 'related' | 'limits' | 'strict'>

/** Compares sides of one experiment. @throws {USAGE | PLAN_MISMATCH} as {@link compareSaved} */
export async function compareSides([a, b]: readonly [Side, Side], how: How): Promise<Compared> {
  const {experiment: id} = a.manifest.plan
  const experiment = await experimentNamed(id)
  const comparison = await comparisonOf(experiment)
  const names = comparison.quantities.map(({name}) => name)
  requireMeasured(how.limits, id, names)
  const request: ComparisonRequest = {experiment: id, comparison, a, b, ...how}
  requirePartners(request)
  const facts = compare(request)
  return {
    facts,
    blocks: comparisonReport(facts, comparison),
    screen: () => comparisonScreen(facts, comparison),
  }
}

function checkNumber(directories: readonly string[], methods: boolean): void {
  const [count, what] = methods ? [1, 'one run with --methods'] : [2, 'two runs']
  if (directories.length === count) return
  const remedy = methods
    ? 'leave --methods out to compare runs'
    : 'name the base first; or two methods of one run: --methods A,B'
  throw expected('USAGE', 'RUN', what, String(directories.length), remedy)
}

async function refuseSameFolder([a, b]: readonly string[]): Promise<void> {
  if (a === undefined || b === undefined) return
  const [own, other] = await Promise.all(
    [a, b].map(folder => realpath(folder).catch(() => undefined)),
  )
  if (own === undefined || own !== other) return
  const remedy = 'compare two methods of one run: --methods A,B'
  throw expected('USAGE', 'RUN', 'two runs', `${a} twice`, remedy)
}

function sidesOfRuns(runs: readonly ReportedRun[]): [Side, Side] {
  const [a, b] = runs.map((run): Side => {
    const {directory, manifest, records, cells} = run
    if (records.length > 0) return {directory, method: null, manifest, records, cells}
    const remedy = run.resumeCommand === null ? [] : [`go on with it: ${run.resumeCommand}`]
    throw expected('PLAN_MISMATCH', directory, 'a run with finished cells', 'none', ...remedy)
  }) as [Side, Side]
  const [own, other] = [a, b].map(({manifest}) => manifest.plan.experiment)
  if (own === other) return [a, b]
  const got = `${own} in ${a.directory}, ${other} in ${b.directory}`
  throw expected('USAGE', 'RUN', 'two runs of one experiment', got, 'rfa report shows both')
}

function sidesOfMethods(run: ReportedRun, names: readonly [string, string]): [Side, Side] {
  const {directory, manifest, records, cells} = run
  const [a, b] = names.map((method): Side => {
    const own = cellsOfMethod(records, method)
    if (own.length === 0)
      throw unknownName('--methods', 'methods of the run', method, methodsOf(records))
    const complete = cells !== null && records.length >= cells
    return {directory, method, manifest, records: own, cells: complete ? own.length : null}
  }) as [Side, Side]
  refuseOverlap(a, b)
  return [a, b]
}

/** A name stands for all options of a method where none of its cells has the name as it is. @throws {USAGE} */
function refuseOverlap(a: Side, b: Side): void {
  const own = new Set(a.records)
  const shared = methodsOf(b.records.filter(record => own.has(record)))
  if (shared.length === 0) return
  const what = 'two different methods of the run'
  const got = `${a.method} and ${b.method}, which are both ${shared.join(', ')}`
  const labels = methodsOf([...own, ...b.records]).join(', ')
  throw expected('USAGE', '--methods', what, got, `name each as the tables do: ${labels}`)
}

/** @param experiment - what measures the names @throws {USAGE} for a limit of what it does not measure */
export function requireMeasured(
  limits: readonly Limit[],
  experiment: string,
  names: readonly string[],
): void {
  const strange = limits.find(({quantity}) => !names.includes(quantity))
  if (!strange) return
  const remedy = `write --fail-on ${names[0]}:${strange.percent}%`
  const what = `${names.join(' or ')}, as ${experiment} measures`
  throw expected('USAGE', '--fail-on', what, strange.quantity, remedy)
}

/** @throws {PLAN_MISMATCH} where no cell of one has a partner in the other */
function requirePartners({comparison, related, a, b}: ComparisonRequest): void {
  const {pairs} =
    related === 'runs'
      ? matchRuns(a.records, b.records, comparison)
      : matchMethods([a.records, b.records])
  if (pairs.length > 0) return
  const own = ({records}: Side) => comparison.measured(records[0]!.cell)
  const [change] = related === 'runs' ? differences(own(a), own(b)) : []
  const remedy = change
    ? [`the first cells differ in ${change.field}: ${change.before} in A, ${change.now} in B`]
    : []
  throw expected('PLAN_MISMATCH', b.directory, 'cells that measure the same', 'none', ...remedy)
}

/** Writes the files that were asked for; Markdown for `-` is printed. @throws {WOULD_OVERWRITE | NOT_WRITABLE} */
export function writeComparison(
  compared: Compared,
  flags: ResultFlags,
  print: (text: string) => void,
  argv: readonly string[],
): Promise<string[]> {
  const {facts, blocks} = compared
  const document: ComparisonDocument = {schema: 'rfa.comparison/1', ...facts}
  const result = {
    ...{command: 'compare', what: 'an earlier comparison', blocks, document},
    csv: () => comparisonCsv(facts),
    async page() {
      const {comparisonPage} = await import('./compare-page.js')
      return comparisonPage(compared, argv)
    },
  }
  return writeResult(result, flags, print)
}
