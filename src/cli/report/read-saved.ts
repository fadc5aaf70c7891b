/** What `rfa report` reads: run folders, and those of `rfa claims` and `rfa advise` with verdicts, a figure or advice. */
import {readdir, stat} from 'node:fs/promises'
import {join} from 'node:path'
import {figureReport} from '../../claims/figures/report.js'
import {RfaError} from '../../errors.js'
import {errorsOverTimes} from '../../experiments/error-over-time.js'
import {type ReportedRun, type ReportParts, runReport} from '../../experiments/run-report.js'
import {type Block, heading, text, withOwnNames} from '../../report/document.js'
import {drawable, type Figure} from '../../report/figures/figure.js'
import {type SavedDocument, savedDocument} from '../claims/claims-folder.js'
import type {ReportDocument} from '../program/json-documents.js'
import {type RunServices, readRuns, runFacts} from './write-report.js'

/** A folder as a report shows it. */
export type Saved =
  | {kind: 'run'; run: ReportedRun}
  | {kind: 'document'; directory: string; document: SavedDocument}

/**
 * Reads folders in the order given.
 *
 * @param bin - name of the program, to distinguish its commands from others
 * @throws {FILE_MISSING | BAD_FILE | UNKNOWN_SCHEMA}
 */
export async function readSaved(
  directories: readonly string[],
  bin: string,
  services: RunServices,
): Promise<Saved[]> {
  const all: Saved[] = []
  for (const directory of directories) {
    const document = await savedDocument(directory)
    if (document) {
      all.push({kind: 'document', directory, document: {...document, directory}})
      continue
    }
    const [run] = await readRuns([directory], bin, services).catch(error =>
      withRunsInside(error, directory),
    )
    all.push({kind: 'run', run: run!})
  }
  return all
}

/**
 * Folders to report without the files among them: a pattern such as `results/*` matches other files, too.
 *
 * @returns as they were named, files alone where there is nothing else
 */
export async function foldersAmong(
  paths: readonly string[],
): Promise<{folders: readonly string[]; files: readonly string[]}> {
  const isFile = await Promise.all(
    paths.map(async path => (await stat(path).catch(() => undefined))?.isFile() ?? false),
  )
  const folders = paths.filter((_, at) => !isFile[at])
  if (folders.length === 0) return {folders: paths, files: []}
  return {folders, files: paths.filter((_, at) => isFile[at])}
}

/** Claims that were interrupted have runs that can be shown, and no verdicts yet. */
async function withRunsInside(error: unknown, directory: string): Promise<never> {
  if (!(error instanceof RfaError) || error.code !== 'FILE_MISSING') throw error
  const names = await readdir(directory).catch(() => [])
  const inside: string[] = []
  for (const name of names.sort()) {
    const path = join(directory, name)
    const manifest = await stat(join(path, 'manifest.json')).catch(() => undefined)
    if (manifest) inside.push(path)
  }
  if (inside.length === 0) throw error
  const suggestions = [`name the runs that are in it: ${inside.join(' ')}`, ...error.suggestions]
  throw new RfaError(error.code, error.message, {suggestions, cause: error})
}

/** One report of it all. @param parts - in addition to tables */
export async function savedReport(
  all: readonly Saved[],
  parts: ReportParts = {},
): Promise<Block[]> {
  const blocks: Block[] = []
  for (const one of all) {
    const own = one.kind === 'run' ? runReport([one.run], parts) : documentReport(one, parts)
    blocks.push(...(await own))
  }
  if (!parts.figures) return blocks
  return withOwnNames([...blocks, ...(await errorOverTimeReport(all))])
}

/** What sweeps and benchmarks say together. */
async function errorOverTimeReport(all: readonly Saved[]): Promise<Block[]> {
  const runs = all.flatMap(one => (one.kind === 'run' ? [one.run] : []))
  const figures = runs.length > 1 ? await errorsOverTimes(runs) : undefined
  if (figures === undefined) return []
  return [
    heading(1, 'Error over time'),
    ...figures.map(figure => ({kind: 'figure' as const, figure})),
    ...(figures.length === 0 ? [text(NOT_SHARED)] : []),
  ]
}

const NOT_SHARED =
  'There is no figure of errors over times: fewer than two methods at one M have both at the same length L, head size D and direction. Time them with the L and D of the sweep: rfa bench --seq-len L --head-dim D.'

type SavedPlace = Extract<Saved, {kind: 'document'}>

/** Behind the title what can be drawn. */
async function documentReport(saved: SavedPlace, parts: ReportParts): Promise<Block[]> {
  const [title, ...blocks] = await documentBlocks(saved, parts)
  const figures = parts.figures ? await documentFigures(saved) : []
  const shown = figures.flatMap(figure => drawable(figure) ?? [])
  return [title!, ...shown.map(figure => ({kind: 'figure' as const, figure})), ...blocks]
}

async function documentBlocks(
  {directory, document}: SavedPlace,
  {details = true}: ReportParts,
): Promise<Block[]> {
  const made = `${document.effort} run, seed ${document.seed}`
  switch (document.schema) {
    case 'rfa.claims/1': {
      const {printedClaims} = await import('../claims/run-claims.js')
      return printedClaims(document.claims, details, `Claims: ${directory} (${made})`)
    }
    case 'rfa.figure/1':
      return figureReport(document, `Figure ${document.id}: ${directory} (${made})`)
    case 'rfa.advice/1': {
      if (details) return (await import('../../advice/report.js')).adviceReport(document)
      return (await import('../../advice/screen.js')).adviceScreen(document)
    }
    case 'rfa.model-advice/2':
      return (await import('../../advice/model/screen.js')).modelAdviceBlocks(document, details)
  }
}

async function documentFigures({document}: SavedPlace): Promise<Figure[]> {
  switch (document.schema) {
    case 'rfa.claims/1':
      return (await import('../../claims/report/charts.js')).claimsFigure(document.claims)
    case 'rfa.figure/1':
      return (await import('../../claims/report/charts.js')).paperFigure(document)
    case 'rfa.advice/1':
      return (await import('../../advice/figures.js')).adviceFigures(document)
    case 'rfa.model-advice/2':
      return []
  }
}

/** What `--json` prints of it. */
export async function savedFacts(
  all: readonly Saved[],
): Promise<Pick<ReportDocument, 'runs' | 'claims' | 'figures' | 'advice' | 'model_advice'>> {
  const documents = all.flatMap(one => (one.kind === 'document' ? [one.document] : []))
  const claims = documents.filter(one => one.schema === 'rfa.claims/1')
  const figures = documents.filter(one => one.schema === 'rfa.figure/1')
  const advice = documents.filter(one => one.schema === 'rfa.advice/1')
  const models = documents.filter(one => one.schema === 'rfa.model-advice/2')
  return {
    runs: await runFacts(all.flatMap(one => (one.kind === 'run' ? [one.run] : []))),
    ...(claims.length > 0 && {claims}),
    ...(figures.length > 0 && {figures}),
    ...(advice.length > 0 && {advice}),
    ...(models.length > 0 && {model_advice: models}),
  }
}
