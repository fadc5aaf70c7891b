/** Tables of a report as files of LaTeX or CSV. */
import {join} from 'node:path'
import {messageOf, RfaError} from '../../errors.js'
import {possibleTitles, titlesOf} from '../../report/chosen.js'
import {type Block, shownForm} from '../../report/document.js'
import {latexTables, namedTables, TEX_MARK} from '../../report/latex.js'
import {MISSING} from '../../report/numbers.js'
import {makeFolder} from '../../results/files.js'
import {linesCsv} from '../../results/tables/csv.js'
import {writeOwnFile} from './own-file.js'

/**
 * Writes each table to a file of its own.
 *
 * @param folder - is made where it is missing
 * @param options - `all`: every table of the report, with `blocks` chosen among them
 * @returns the files
 * @throws {WOULD_OVERWRITE} when a file is not of an earlier report, unless forced
 * @throws {NOT_WRITABLE} when a file cannot be written
 */
export async function writeTables(
  blocks: readonly Block[],
  folder: string,
  {format, force, all}: {format: 'tex' | 'csv'; force: boolean | undefined; all: readonly Block[]},
): Promise<string[]> {
  const tables = format === 'tex' ? latexTables(blocks) : csvTables(blocks)
  const flag = `--${format}`
  if (tables.length > 0) await makeFolder(folder).catch(cause => cannotWrite(flag, cause))
  for (const {name, text} of tables) {
    await writeOwnFile(join(folder, `${name}.${format}`), text, {
      ...{flag, force, inFolder: true, what: 'an earlier table'},
      isOwn: present =>
        format === 'tex' ? present.startsWith(TEX_MARK) : isOwnCsv(present, [...blocks, ...all]),
    })
  }
  return tables.map(({name}) => join(folder, `${name}.${format}`))
}

/** CSV has no comments to mark it: its first line has only titles that some choice of columns gives. */
function isOwnCsv(present: string, blocks: readonly Block[]): boolean {
  const [header = ''] = present.split('\n', 1)
  const titles = new Set(linesCsv(possibleTitles(blocks).map(title => [title])).split('\n'))
  return header.match(/"(?:[^"]|"")*"|[^,]+/g)?.every(title => titles.has(title)) ?? false
}

function csvTables(blocks: readonly Block[]): {name: string; text: string}[] {
  return namedTables(blocks).map(({name, block}) => {
    const shown = shownForm(block)
    return {name, text: linesCsv([titlesOf(shown), ...shown.rows.map(row => row.map(csvValue))])}
  })
}

/** Numbers with a sign, which are no formulas. */
const SIGNED = /^[-+]\d+(\.\d+)?(e[-+]?\d+)?$/

function csvValue(cell: string): string | number {
  if (cell === MISSING) return ''
  return SIGNED.test(cell) ? Number(cell) : cell
}

function cannotWrite(flag: string, cause: unknown): never {
  throw new RfaError('NOT_WRITABLE', `${flag}: cannot write ${messageOf(cause)}`, {
    suggestions: [`name another folder with ${flag}`],
    cause,
  })
}
