/** What `rfa report` reads: run folders, and folders of `rfa claims` with their verdicts or a figure. */
import {readdir, stat} from 'node:fs/promises'
import {join} from 'node:path'
import {figureReport} from '../claims/figures/report.js'
import {claimsReport} from '../claims/report.js'
import {RfaError} from '../errors.js'
import {type ReportedRun, type ReportParts, runReport} from '../experiments/run-report.js'
import type {Block} from '../report/document.js'
import {withOwnNames} from '../report/figures/names.js'
import {type SavedDocument, savedDocument} from './claims-folder.js'
import type {ReportDocument} from './json-documents.js'
import {type RunServices, readRuns, runFacts} from './write-report.js'

/** A folder as a report shows it. */
export type Saved =
  | {kind: 'run'; run: ReportedRun}
  | {kind: 'document'; directory: string; document: SavedDocument}

/**
 * Reads folders in the order given.
 *
 * @param bin - what the program is called, to tell its commands from others
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
 * Folders to report without the files among them: a pattern such as `results/*` matches what lies beside runs, too.
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

/** Claims that were interrupted have runs, each of which can be shown, and no verdicts yet. */
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

/** One report of it all. @param parts - beside tables */
export async function savedReport(
  all: readonly Saved[],
  parts: ReportParts = {},
): Promise<Block[]> {
  const blocks: Block[] = []
  for (const one of all) {
    blocks.push(...(one.kind === 'run' ? await runReport([one.run], parts) : documentReport(one)))
  }
  return parts.figures ? withOwnNames(blocks) : blocks
}

function documentReport({directory, document}: Extract<Saved, {kind: 'document'}>): Block[] {
  const made = `${document.effort} run, seed ${document.seed}`
  return document.schema === 'rfa.claims/1'
    ? claimsReport(document.claims, `Claims: ${directory} (${made})`)
    : figureReport(document, `Figure ${document.id}: ${directory} (${made})`)
}

/** What `--json` tells of it. */
export async function savedFacts(
  all: readonly Saved[],
): Promise<Pick<ReportDocument, 'runs' | 'claims' | 'figures'>> {
  const documents = all.flatMap(one => (one.kind === 'document' ? [one.document] : []))
  const claims = documents.filter(one => one.schema === 'rfa.claims/1')
  const figures = documents.filter(one => one.schema === 'rfa.figure/1')
  return {
    runs: await runFacts(all.flatMap(one => (one.kind === 'run' ? [one.run] : []))),
    ...(claims.length > 0 && {claims}),
    ...(figures.length > 0 && {figures}),
  }
}
