/** Tables of a report as files of LaTeX. */
import {join} from 'node:path'
import {messageOf, RfaError} from '../../errors.js'
import type {Block} from '../../report/document.js'
import {latexTables, TEX_MARK} from '../../report/latex.js'
import {makeFolder} from '../../results/files.js'
import {writeOwnFile} from './own-file.js'

/**
 * Writes each table to a file of its own.
 *
 * @param folder - is made where it is missing
 * @returns the files
 * @throws {WOULD_OVERWRITE} when a file is not of an earlier report, unless forced
 * @throws {NOT_WRITABLE} when a file cannot be written
 */
export async function writeTables(
  blocks: readonly Block[],
  folder: string,
  force: boolean,
): Promise<string[]> {
  const tables = latexTables(blocks)
  const isOwn = (present: string) => present.startsWith(TEX_MARK)
  if (tables.length > 0) await makeFolder(folder).catch(cause => cannotWrite(cause))
  for (const {name, text} of tables) {
    await writeOwnFile(join(folder, `${name}.tex`), text, {
      ...{flag: '--tex', force, isOwn, inFolder: true},
      what: 'an earlier table',
    })
  }
  return tables.map(({name}) => join(folder, `${name}.tex`))
}

function cannotWrite(cause: unknown): never {
  throw new RfaError('NOT_WRITABLE', `--tex: cannot write ${messageOf(cause)}`, {
    suggestions: ['name another folder with --tex'],
    cause,
  })
}
