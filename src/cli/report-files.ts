/** The files of a report: Markdown, an HTML page, or both. */
import {expected} from '../errors.js'
import type {Block} from '../report/document.js'
import type {Saved} from './read-saved.js'
import type {Invocation} from './run-plan.js'
import {writeReport} from './write-report.js'

/** A report before it has a form. */
export interface UnwrittenReport {
  blocks: readonly Block[]
  saved: readonly Saved[]
  /** Folders, as they were named. */
  directories: readonly string[]
}

/** What is to be written, as flags say it. */
export interface ReportFlags {
  output?: string | undefined
  html?: string | undefined
  open: boolean
  force: boolean
}

/** @throws {USAGE} where one stream is to hold two reports, or there is no page in a file to be opened */
export function checkReportFlags({html, output, open}: ReportFlags): void {
  const [file, nothing] = ['a file beside it, as in --html report.html', 'none']
  if (open && (html === undefined || html === '-')) {
    throw expected('USAGE', '--open', file, html === '-' ? '--html -' : nothing)
  }
  if (html === '-' && output === '-') throw expected('USAGE', '--output -', file, '--html -')
}

/**
 * Writes what was asked for: Markdown alone, unless there is `--html`, and beside a page where `--output` names it.
 *
 * @returns the files, `null` where one was printed or not asked for
 * @throws what {@link writeReport} and writing a page throw
 */
export async function writeReportFiles(
  {blocks, saved, directories}: UnwrittenReport,
  flags: ReportFlags,
  maker: Pick<Invocation, 'argv' | 'services' | 'caution'> & {print(text: string): void},
): Promise<{output: string | null; html: string | null}> {
  const {html, output} = flags
  const write = () => writeReport(blocks, directories, flags, maker.print)
  if (html === undefined) return {output: await write(), html: null}
  const {writePage} = await import('./write-page.js')
  const page = await writePage(blocks, saved, {...flags, html}, maker)
  return {output: output === undefined ? null : await write(), html: page}
}
