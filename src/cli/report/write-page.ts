/** The HTML page of a report. */
import {resolve} from 'node:path'
import type {Block} from '../../report/document.js'
import {renderHtml} from '../../report/html/page.js'
import type {Invocation} from '../program/services.js'
import {pageFacts} from './page-facts.js'
import type {Saved} from './read-saved.js'
import {saveReport} from './write-report.js'

/**
 * Writes a page, and shows it where that is asked for.
 *
 * @returns the file written, `null` when it was printed
 * @throws {WOULD_OVERWRITE} when the file is not a report of rfa, unless forced
 * @throws {NOT_WRITABLE} when the file cannot be written
 */
export async function writePage(
  blocks: readonly Block[],
  saved: readonly Saved[],
  {html: path, open, force}: {html: string; open: boolean; force: boolean},
  maker: Pick<Invocation, 'argv' | 'services' | 'caution'> & {print(text: string): void},
): Promise<string | null> {
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
