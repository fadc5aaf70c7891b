/** `rfa history`: finds the runs below folders, puts them in order, writes what was asked for. */
import {readdir, stat} from 'node:fs/promises'
import {join} from 'node:path'
import {type HistoryOf, type HistoryRun, history} from '../../compare/history.js'
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
import {packageVersion} from '../../package.js'
import {commandText} from '../../report/command-line.js'
import type {Block, FigureBlock} from '../../report/document.js'
import {groupBy} from '../../report/groups.js'
import {type FailOnFlags, limitsOf} from '../plans/compare.js'
import type {HistoryDocument} from '../program/json-documents.js'
import {type RunServices, readRuns} from '../report/write-report.js'
import {type ResultFlags, writeResult} from './result-files.js'

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

/** A history, and how it is shown. */
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
 * @throws {FILE_MISSING} where no run is there
 * @throws {USAGE} where no cell was measured twice, and for limits of what no run measures
 * @throws {UNKNOWN_NAME} for a word of `--cell` that no line has
 */
export async function historyOf(
  folders: readonly string[],
  flags: HistoryFlags,
  {bin, services, caution}: How,
): Promise<Shown> {
  const limits = limitsOf(flags)
  const found = (await Promise.all(folders.map(runsBelow))).flat()
  if (found.length === 0) {
    const remedy = 'name a folder with runs of bench, error-sweep or variance, such as results'
    throw expected('FILE_MISSING', folders.join(' '), 'folders of runs', 'none', remedy)
  }
  const {runs, leftOut} = await readable(found, bin, services)
  const groups = await groupsOf(runs, leftOut)
  for (const {reason} of leftOut) caution(`left out: ${reason}`)
  const asked = asker(flags)
  const request = {limits, strict: flags.strict, leftOut}
  const facts = history(groups, {...request, isAsked: asked.isAsked})
  asked.requireKnown()
  if (facts.rows.length === 0) throw nothingTwice(groups, folders)
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

/** Folders of runs in a folder, itself among them; those of a run are not looked into. */
async function runsBelow(folder: string): Promise<string[]> {
  const manifest = await stat(join(folder, 'manifest.json')).catch(() => undefined)
  if (manifest?.isFile()) return [folder]
  const entries = await readdir(folder, {withFileTypes: true}).catch(() => [])
  const inside = entries.filter(
    entry => entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules',
  )
  const below = inside.map(({name}) => join(folder, name)).sort()
  return (await Promise.all(below.map(runsBelow))).flat()
}

type LeftOut = HistoryFacts['left_out']

/** @param open - whether it could be a run with a regression */
function leftOutOf(directory: string, reason: string, open = true): LeftOut[number] {
  return {directory, reason: `${directory}: ${reason}`, open}
}

async function readable(folders: readonly string[], bin: string, services: RunServices) {
  const runs: ReportedRun[] = []
  const leftOut: LeftOut = []
  for (const folder of new Set(folders)) {
    try {
      const [run] = await readRuns([folder], bin, services)
      if (run!.manifest.shard) leftOut.push(leftOutOf(folder, 'a shard; merge shards first'))
      else runs.push(run!)
    } catch (error) {
      if (!(error instanceof RfaError)) throw error
      leftOut.push({directory: folder, reason: error.message, open: true})
    }
  }
  return {runs, leftOut}
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

/** Asks lines for the words of `--cell` and the quantity of `--metric`. */
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
      return words.every(word => own.has(word)) && (metric?.includes(quantity) ?? true)
    },
    /** @throws {UNKNOWN_NAME} */
    requireKnown(): void {
      const strange = words.find(word => !known.has(word))
      if (strange !== undefined) throw unknownName('--cell', 'words of lines', strange, [...known])
    },
  }
}

function nothingTwice(groups: readonly HistoryOf[], folders: readonly string[]): RfaError {
  const runs: HistoryRun[] = groups.flatMap(own => [...own.runs])
  const count = runs.length === 1 ? 'one run' : `${runs.length} runs that share none`
  const remedy = 'rfa report prints what one run found'
  return expected('USAGE', folders.join(' '), 'a cell that two runs measured', count, remedy)
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
