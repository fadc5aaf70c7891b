/** `rfa history`: finds the runs below folders, puts them in order, writes what was asked for. */
import {readdir, realpath, stat} from 'node:fs/promises'
import {join} from 'node:path'
import {type HistoryOf, history} from '../../compare/history.js'
import {
  historyCsv,
  historyFigures,
  historyReport,
  historyScreen,
  type Quantities,
} from '../../compare/history-report.js'
import type {HistoryFacts} from '../../compare/history-schema.js'
import {expected, RfaError, unknownName} from '../../errors.js'
import {comparisonOf, experimentNamed} from '../../experiments/index.js'
import type {ReportedRun} from '../../experiments/run-report.js'
import {errorCode} from '../../files.js'
import {packageVersion} from '../../package.js'
import {commandText} from '../../report/command-line.js'
import type {Block, FigureBlock} from '../../report/document.js'
import {groupBy} from '../../report/groups.js'
import {type FailOnFlags, limitsOf} from '../plans/compare.js'
import type {HistoryDocument} from '../program/json-documents.js'
import {type RunServices, readRuns} from '../report/write-report.js'
import {type ResultFlags, writeResult} from './result-files.js'
import {requireMeasured} from './run-compare.js'

/** What `rfa history` was asked for. */
export interface HistoryFlags extends FailOnFlags {
  /** Words that lines have. */
  cell?: string | undefined
  metric?: readonly string[] | undefined
}

interface How {
  bin: string
  services: RunServices
  caution(text: string): void
}

export interface Shown {
  facts: HistoryFacts
  screen: Block[]
  blocks: Block[]
  figures: FigureBlock[]
}

/**
 * The history of the runs below folders.
 *
 * @param how - `bin`: what the program is called; `caution`: takes folders that are left out, before anything is refused
 * @throws {FILE_MISSING} where no run is there, or a named folder is not
 * @throws {USAGE} where no cell was measured twice, and for limits of what no run measures
 * @throws {UNKNOWN_NAME} for a word of `--cell` that no line has
 */
export async function historyOf(
  folders: readonly string[],
  flags: HistoryFlags,
  {bin, services, caution}: How,
): Promise<Shown> {
  const limits = limitsOf(flags)
  const leftOut: LeftOut = []
  const found = await runsBelow(folders, leftOut)
  if (found.length + leftOut.length === 0) throw noRuns(folders.join(' '))
  const runs = await readable(found, leftOut, {bin, services})
  const groups = await groupsOf(runs, leftOut)
  for (const {reason} of leftOut) caution(`left out: ${reason}`)
  const names = groups.flatMap(({comparison}) => comparison.quantities.map(({name}) => name))
  if (names.length > 0) requireMeasured(limits, 'one of these runs', names)
  const asked = asker(flags)
  const request = {limits, strict: flags.strict, leftOut}
  const facts = history(groups, {...request, isAsked: asked.isAsked})
  asked.requireKnown()
  if (facts.rows.length === 0 && facts.left.every(({where}) => where === 'a')) {
    throw nothingTwice(groups, folders, flags)
  }
  const quantities: Quantities = new Map(
    groups.flatMap(({comparison}) => comparison.quantities.map(one => [one.name, one] as const)),
  )
  return {
    facts,
    screen: historyScreen(facts, quantities),
    blocks: historyReport(facts, quantities),
    figures: historyFigures(facts, quantities).map(figure => ({kind: 'figure', figure})),
  }
}

/** Folders of runs below those that were named, each once. @throws {FILE_MISSING} where a named one is not there */
async function runsBelow(named: readonly string[], leftOut: LeftOut): Promise<string[]> {
  // a run may have several names
  const found = new Map<string, string>()
  for (const folder of named) {
    const there = await stat(folder).catch(errorCode)
    if (there === 'ENOENT' || (typeof there === 'object' && !there.isDirectory())) {
      throw noRuns(folder)
    }
    await search(folder)
  }
  return [...found.values()]

  async function search(folder: string): Promise<void> {
    try {
      if (await isRun(folder)) {
        const place = await realpath(folder)
        found.set(place, found.get(place) ?? folder)
      } else {
        const entries = await readdir(folder, {withFileTypes: true})
        const shown = entries.filter(({name}) => !name.startsWith('.') && name !== 'node_modules')
        for (const entry of shown.sort((a, b) => (a.name < b.name ? -1 : 1))) {
          const path = join(folder, entry.name)
          // links lead to runs only, so that none leads in a circle
          const leads = entry.isSymbolicLink() && (await isRun(path).catch(() => true))
          if (entry.isDirectory() || leads) await search(path)
        }
      }
    } catch (error) {
      leftOut.push(leftOutOf(folder, `cannot be read: ${errorCode(error) ?? error}`))
    }
  }
}

async function isRun(folder: string): Promise<boolean> {
  try {
    return (await stat(join(folder, 'manifest.json'))).isFile()
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) return false
    throw error
  }
}

function noRuns(where: string): RfaError {
  const remedy = 'name a folder with runs of bench, error-sweep or variance, such as results'
  return expected('FILE_MISSING', where, 'folders of runs', 'none', remedy)
}

type LeftOut = HistoryFacts['left_out']

/** @param open - whether it could be a run with a regression */
function leftOutOf(directory: string, reason: string, open = true): LeftOut[number] {
  return {directory, reason: `${directory}: ${reason}`, open}
}

async function readable(
  folders: readonly string[],
  leftOut: LeftOut,
  {bin, services}: Pick<How, 'bin' | 'services'>,
): Promise<ReportedRun[]> {
  const runs: ReportedRun[] = []
  for (const folder of folders) {
    try {
      const [run] = await readRuns([folder], bin, services)
      if (run!.manifest.shard) leftOut.push(leftOutOf(folder, 'a shard; merge shards first'))
      else runs.push(run!)
    } catch (error) {
      if (!(error instanceof RfaError)) throw error
      leftOut.push({directory: folder, reason: error.message, open: true})
    }
  }
  return runs
}

/** Runs by experiment. @param leftOut - takes those of experiments that are not compared */
async function groupsOf(runs: readonly ReportedRun[], leftOut: LeftOut): Promise<HistoryOf[]> {
  const groups: HistoryOf[] = []
  for (const own of groupBy(runs, ({manifest}) => manifest.plan.experiment)) {
    const {experiment: name} = own[0]!.manifest.plan
    const experiment = await experimentNamed(name)
    if (experiment.comparison) {
      groups.push({experiment: name, comparison: await comparisonOf(experiment), runs: own})
    } else {
      const reason = `runs of ${name} are not compared`
      leftOut.push(...own.map(({directory}) => leftOutOf(directory, reason, false)))
    }
  }
  return groups
}

/** Asks lines for the words of `--cell`, which may be several in a value, and the quantity of `--metric`. */
function asker({cell, metric}: HistoryFlags) {
  const words = cell?.split(/\s+/).filter(Boolean) ?? []
  const known = new Set<string>()
  return {
    isAsked({quantity, at}: Pick<HistoryFacts['rows'][number], 'quantity' | 'at'>): boolean {
      const own = new Set(
        Object.entries(at).flatMap(([name, value]) =>
          value === '' ? [] : [value, ...value.split(' '), `${name}=${value}`],
        ),
      )
      for (const word of own) known.add(word)
      return after(words, own).includes('') && (metric?.includes(quantity) ?? true)
    },
    /** @throws {UNKNOWN_NAME} */
    requireKnown(): void {
      const rests = after(words, known)
      if (rests.includes('')) return
      const [strange] = rests.toSorted((a, b) => a.length - b.length)
      throw unknownName('--cell', 'words of lines', strange!.split(' ')[0]!, [...known])
    },
  }
}

/** What may remain of words once names are taken from their beginning, in every way. */
function after(words: readonly string[], names: ReadonlySet<string>): string[] {
  const rests = words.flatMap((_, at) =>
    names.has(words.slice(0, at + 1).join(' ')) ? after(words.slice(at + 1), names) : [],
  )
  return [words.join(' '), ...rests]
}

/** Why there is no line: no run was read, flags took all, or runs share none. */
function nothingTwice(
  groups: readonly HistoryOf[],
  folders: readonly string[],
  {cell, metric}: HistoryFlags,
): RfaError {
  const where = folders.join(' ')
  const runs = groups.flatMap(own => [...own.runs])
  if (runs.length === 0) {
    return expected('USAGE', where, 'runs that can be compared', 'none', 'see what was left out')
  }
  if (history(groups, {limits: [], strict: false}).rows.length > 0) {
    const asked = [...(cell ? [`--cell "${cell}"`] : []), ...(metric ? [`--metric ${metric}`] : [])]
    return expected('USAGE', asked.join(' '), 'a line that two runs measured', 'none')
  }
  const count = runs.length === 1 ? 'one run' : `${runs.length} runs that share none`
  const remedy = 'rfa report prints what one run found'
  return expected('USAGE', where, 'a cell that two runs measured', count, remedy)
}

/** Writes the files of `--output`; Markdown for `-` is printed. @throws {WOULD_OVERWRITE | NOT_WRITABLE} */
export function writeHistory(
  {facts, blocks, figures}: Shown,
  flags: ResultFlags,
  print: (text: string) => void,
  argv: readonly string[],
): Promise<string[]> {
  const document: HistoryDocument = {schema: 'rfa.history/1', ...facts}
  const result = {
    ...{command: 'history', what: 'an earlier history', blocks, document},
    csv: () => historyCsv(facts),
    async page() {
      const {renderHtml} = await import('../../report/html/page.js')
      const command = commandText(argv)
      const generator = `rfa ${packageVersion()}`
      const [title, ...rest] = blocks
      const run = {
        ...{title: 'rfa history', what: 'Cells in the runs of folders, the newest run first.'},
        facts: [['runs', String(facts.runs.length)] as const],
        findings: facts.warnings.map(warning => `Warning: ${warning}.`),
        missing: facts.left_out.map(({reason}) => `left out: ${reason}`),
      }
      return renderHtml([title!, ...figures, ...rest], {
        ...{title: run.title, runs: [run], command, generator},
      })
    },
  }
  return writeResult(result, flags, print)
}
