/** Files that a command writes where the user says, and replaces only where they are its own. */
import {readFile, realpath, stat, writeFile} from 'node:fs/promises'
import {messageOf, RfaError} from '../errors.js'
import {errorCode, writeAtomic} from '../files.js'

/** What names a file, and which ones may be replaced. */
export interface OwnFile {
  /** Flag that named it, with dashes. */
  flag: string
  /** Replace any file. */
  force: boolean
  /** Whether such a file has this content. */
  isOwn(content: string): boolean
  /** Such a file in words, as in "expected a new file or an earlier report". */
  what: string
}

/**
 * Writes a file that a flag names.
 *
 * @throws {WOULD_OVERWRITE} when another file is there, unless forced
 * @throws {NOT_WRITABLE} when it cannot be written
 */
export async function writeOwnFile(path: string, text: string, own: OwnFile): Promise<void> {
  if (!own.force) await refuseForeignFile(path, own)
  try {
    await writeWhole(path, text)
  } catch (error) {
    const why = error instanceof RfaError ? error.message : `${path}: ${messageOf(error)}`
    throw new RfaError('NOT_WRITABLE', `${own.flag}: cannot write ${why}`, {
      suggestions: [`name another file with ${own.flag}`, `use ${own.flag} - for stdout`],
      cause: error,
    })
  }
}

/** Errors of a folder in which a file can be written, but none put in its place. */
const NO_PLACE: ReadonlySet<unknown> = new Set(['EACCES', 'EPERM', 'EBUSY'])

/** Writes a file so that an earlier one stays where that fails; what is no file, as a pipe, is written to. */
async function writeWhole(path: string, text: string): Promise<void> {
  const target = await realpath(path).catch(() => path)
  const facts = await stat(target).catch(() => undefined)
  if (facts && !facts.isFile()) return writeFile(target, text)
  try {
    await writeAtomic(target, text)
  } catch (error) {
    if (!facts || !(error instanceof RfaError) || !NO_PLACE.has(errorCode(error.cause))) throw error
    await writeFile(target, text)
  }
}

/** Notes of the user are not ours to replace, and pipes are not ours to wait for. @throws {WOULD_OVERWRITE} */
async function refuseForeignFile(path: string, {flag, isOwn, what}: OwnFile): Promise<void> {
  const facts = await stat(path).catch(() => undefined)
  if (facts === undefined) return
  const present = facts.isFile() ? await readFile(path, 'utf8').catch(() => undefined) : undefined
  if (present !== undefined && isOwn(present)) return
  throw new RfaError(
    'WOULD_OVERWRITE',
    `${flag}: expected a new file or ${what}, got ${path}, which is neither`,
    {suggestions: [`name another file with ${flag}`, 'add --force to replace it']},
  )
}
