import {dirname, relative, resolve} from 'node:path'
import {expected, RfaError} from '../../errors.js'
import {allExperiments, experimentNamed} from '../../experiments/index.js'
import type {ReportedRun} from '../../experiments/run-report.js'
import {resumeLineOf} from '../../report/command-line.js'
import type {Block} from '../../report/document.js'
import {PAGE_START} from '../../report/html/markup.js'
import {renderMarkdown} from '../../report/markdown.js'
import {latestCommand, type RunManifest} from '../../results/folder/manifest.js'
import {countRecords} from '../../results/folder/summary.js'
import {LARGE_JOURNAL} from '../../results/journal/large-journal.js'
import {recordsOfPlan} from '../../results/journal/plan-records.js'
import type {CellRecord} from '../../results/record.js'
import type {ReportDocument} from '../program/json-documents.js'
import type {Services} from '../program/services.js'
import {writeOwnFile} from './own-file.js'

/** First line of every written Markdown report: what may be replaced without asking. */
const REPORT_MARK = '<!-- written by rfa report -->'

export type RunServices = Pick<Services, 'openRun' | 'planKeys' | 'readPlan'>

/**
 * Reads run folders in the order given.
 *
 * @param bin - name of the program, to distinguish its commands from others
 * @throws {FILE_MISSING | BAD_FILE | UNKNOWN_SCHEMA}
 */
export async function readRuns(
  directories: readonly string[],
  bin: string,
  services: RunServices,
): Promise<ReportedRun[]> {
  const runs: ReportedRun[] = []
  for (const directory of directories) runs.push(await readRun(directory, bin, services))
  return runs
}

async function readRun(
  directory: string,
  bin: string,
  services: RunServices,
): Promise<ReportedRun> {
  // before the records, so that what making keys takes does not come on top of these
  const plan = await services.readPlan(directory)
  const keys = plan ? await services.planKeys(plan).catch(unknownKeys) : null
  const how = {wholeUpTo: LARGE_JOURNAL}
  const {manifest, records} = await services.openRun(directory, await allExperiments(), how)
  const id = manifest.plan.experiment
  const strange = records.find(({schema}) => !schema.startsWith(`rfa.${id}/`))
  if (strange) throw expected('BAD_FILE', directory, `records of ${id}`, strange.schema)
  return {
    directory,
    manifest,
    ...matched(manifest, records, keys),
    resumeCommand: resumeLineOf(latestCommand(manifest), directory, {bin, id}),
  }
}

/**
 * The records of the plan and the number of its cells. All records, and no number, where none is of the plan as
 * this version reads it: another one may have made another grid of it, or other keys.
 *
 * @param keys - of the cells of the plan; `null`: this version does not know its methods
 */
function matched(
  {machine, shard}: RunManifest,
  records: readonly CellRecord[],
  keys: readonly string[] | null,
): Pick<ReportedRun, 'records' | 'foreign' | 'cells'> {
  const own = keys && recordsOfPlan(records, keys, machine.rfa)
  if (!own || (own.records.length === 0 && records.length > 0)) {
    return {records, foreign: 0, cells: null}
  }
  return {...own, cells: shard?.cells ?? keys.length}
}

/** What `--json` prints of the runs. */
export function runFacts(runs: readonly ReportedRun[]): Promise<ReportDocument['runs']> {
  return Promise.all(
    runs.map(async ({directory, manifest, cells, records}) => {
      const {experiment: name} = manifest.plan
      const experiment = await experimentNamed(name)
      const verdicts = (await experiment.verdicts?.(records)) ?? []
      const found = await experiment.findings?.(records)
      return {directory, experiment: name, cells, counts: countRecords(records), verdicts, ...found}
    }),
  )
}

/** A plan may name methods that this version does not have: its records can be read all the same. */
function unknownKeys(error: unknown): null {
  if (error instanceof RfaError) return null
  throw error
}

/**
 * Writes a report as Markdown.
 *
 * @param options - `output`: a file, or `-` for `print`; `force`: replace any file; `pictures`: files of figures by their names
 * @returns the file written, `null` when it was printed
 * @throws {WOULD_OVERWRITE} when the file is not a report of rfa, unless forced
 * @throws {NOT_WRITABLE} when the file cannot be written
 */
export async function writeReport(
  blocks: readonly Block[],
  {
    output: path,
    force,
    pictures,
  }: {
    output: string
    force: boolean | undefined
    pictures?: ReadonlyMap<string, string>
  },
  print: (text: string) => void,
): Promise<string | null> {
  const folder = path === '-' ? '.' : dirname(path)
  const markdown = renderMarkdown(blocks, ({name}) => {
    const picture = pictures?.get(name)
    return picture && relative(resolve(folder), resolve(picture)).replaceAll('\\', '/')
  })
  if (path === '-') {
    print(markdown.trimEnd())
    return null
  }
  await saveReport(path, `${REPORT_MARK}\n\n${markdown}`, {flag: '--output', force})
  return path
}

/**
 * Writes a report to a file.
 *
 * @param options - `flag`: that names the file; `force`: replace any file; `untyped`: the user did not name it
 * @throws {WOULD_OVERWRITE} when the file is not a report of rfa, unless forced
 * @throws {NOT_WRITABLE} when the file cannot be written
 */
export function saveReport(
  path: string,
  content: string,
  {flag, force, untyped = false}: {flag: string; force: boolean | undefined; untyped?: boolean},
): Promise<void> {
  const isOwn = (present: string) =>
    present.startsWith(REPORT_MARK) || present.startsWith(PAGE_START)
  return writeOwnFile(path, content, {flag, force, untyped, isOwn, what: 'an earlier report'})
}
