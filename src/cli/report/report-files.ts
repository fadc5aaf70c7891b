/** The files of a report: Markdown, an HTML page, figures. */
import {dirname, resolve} from 'node:path'
import {expected} from '../../errors.js'
import type {Block} from '../../report/document.js'
import {FIGURE_FORMATS, type FigureFormat} from '../../report/figures/figure.js'
import type {ReportDocument} from '../program/json-documents.js'
import type {Invocation} from '../program/services.js'
import type {Saved} from './read-saved.js'
import {saveReport, writeReport} from './write-report.js'

/** A report before it has a form. */
export interface UnwrittenReport {
  blocks: readonly Block[]
  /** What LaTeX and CSV have of it. */
  tables: readonly Block[]
  /** What Markdown has of it. Default: all. */
  text?: readonly Block[] | undefined
  saved: readonly Saved[]
}

export interface ReportFlags {
  output?: string | undefined
  html?: string | undefined
  /** Folders for figures. */
  svg?: string | undefined
  pdf?: string | undefined
  png?: string | undefined
  /** Folder for tables as LaTeX. */
  tex?: string | undefined
  /** The same as CSV. */
  csv?: string | undefined
  open: boolean
  /** Replace any file. `undefined`: the command has no flag for it. */
  force: boolean | undefined
}

/** @throws {USAGE} where one stream is to hold two reports, or there is no page in a file to be opened */
export function checkReportFlags({html, output, open}: ReportFlags): void {
  const [file, nothing] = ['a file beside it, as in --html report.html', 'none']
  if (open && (html === undefined || html === '-')) {
    throw expected('USAGE', '--open', file, html === '-' ? '--html -' : nothing)
  }
  if (html === '-' && output === '-') throw expected('USAGE', '--output -', file, '--html -')
}

/** Whether anything is written that shows figures. */
export function drawsFigures({html, svg, pdf, png}: ReportFlags): boolean {
  return [html, svg, pdf, png].some(place => place !== undefined)
}

type Written = Pick<ReportDocument, 'output' | 'html' | FigureFormat | 'tex' | 'csv'>

/** Files that were written, and of figures and LaTeX the folder. */
export function placesOf({output, html, svg, pdf, png, tex, csv}: Written): string[] {
  const folders = [svg, pdf, png, tex, csv].flatMap(files =>
    files?.[0] === undefined ? [] : [dirname(files[0])],
  )
  return [...new Set([output, html, ...folders])].filter(place => place !== null)
}

/**
 * Writes what was asked for, and nothing else: reading a run leaves its folder as it is.
 *
 * @returns the files, `null` where one was printed or not asked for
 */
export async function writeReportFiles(
  {blocks, tables, text: told = blocks, saved}: UnwrittenReport,
  flags: ReportFlags,
  maker: Pick<Invocation, 'argv' | 'services' | 'caution'> & {print(text: string): void},
): Promise<Written> {
  const {html, output} = flags
  const {pictures, ...figures} = await writeAllFigures(blocks, flags, maker)
  const written = await writeAllTables(tables, blocks, flags)
  const page = html === undefined ? null : await writePage(blocks, saved, {...flags, html}, maker)
  const text =
    output === undefined
      ? null
      : await writeReport(told, {output, force: flags.force, pictures}, maker.print)
  return {output: text, html: page, ...figures, ...written}
}

/** Figures in the formats asked for; Markdown shows PNG, which everything can show, where there is. */
export async function writeAllFigures(
  blocks: readonly Block[],
  flags: Pick<ReportFlags, FigureFormat | 'force'>,
  {caution}: Pick<Invocation, 'caution'>,
) {
  let pictures: ReadonlyMap<string, string> = new Map()
  const written: Partial<Record<FigureFormat, string[]>> = {}
  for (const format of FIGURE_FORMATS) {
    const folder = flags[format]
    if (folder === undefined) continue
    const {writeFigures} = await import('./write-figures.js')
    const {files, pictures: own} = await writeFigures(blocks, folder, {format, force: flags.force})
    written[format] = files
    if (files.length === 0) {
      caution(`--${format}: nothing to draw, as no length, M or norm has two values`)
    }
    // no browser shows PDF as a picture
    if (format !== 'pdf') pictures = own
  }
  return {pictures, ...written}
}

/** Tables as LaTeX and CSV, where that is asked for. */
async function writeAllTables(
  tables: readonly Block[],
  all: readonly Block[],
  flags: ReportFlags,
): Promise<{tex?: string[]; csv?: string[]}> {
  const written: {tex?: string[]; csv?: string[]} = {}
  for (const format of ['tex', 'csv'] as const) {
    const folder = flags[format]
    if (folder === undefined) continue
    const {writeTables} = await import('./write-tables.js')
    written[format] = await writeTables(tables, folder, {format, force: flags.force, all})
  }
  return written
}

/**
 * Writes a page, and shows it where that is asked for.
 *
 * @returns the file written, `null` when it was printed
 * @throws {WOULD_OVERWRITE} when the file is not a report of rfa, unless forced
 * @throws {NOT_WRITABLE} when the file cannot be written
 */
async function writePage(
  blocks: readonly Block[],
  saved: readonly Saved[],
  {html: path, open, force}: {html: string; open: boolean; force: boolean | undefined},
  maker: Pick<Invocation, 'argv' | 'services' | 'caution'> & {print(text: string): void},
): Promise<string | null> {
  const {renderHtml} = await import('../../report/html/page.js')
  const {pageFacts} = await import('./page-facts.js')
  const page = await renderHtml(blocks, await pageFacts(saved, maker.argv))
  if (path === '-') {
    maker.print(page.trimEnd())
    return null
  }
  await saveReport(path, page, {flag: '--html', force})
  if (open && !(await maker.services.showFile(resolve(path)))) {
    maker.caution(`--open: no program to open ${path} was found; open it in a browser yourself`)
  }
  return path
}
