/** Files that a command writes where the user says, and replaces only where they are its own. */
import {constants} from 'node:fs'
import {lstat, open, readFile, realpath, stat, writeFile} from 'node:fs/promises'
import {expected, RfaError} from '../../errors.js'
import {errorCode, notWritable, writeAtomic} from '../../files.js'

/** What names a file, and which ones may be replaced. */
export interface OwnFile {
  /** Flag that named it, with dashes. */
  flag: string
  /** Replace any file. `undefined`: the command has no flag for it. */
  force: boolean | undefined
  /**
   * Whether nobody typed where it goes: a symbolic link there is then replaced under `force`, and never written through, as a
   * run folder may be of somebody else. Default: somebody did.
   */
  untyped?: boolean
  /** Whether the flag names the folder of the file. Default: it names the file, and `-` is stdout. */
  inFolder?: boolean
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
    await writeWhole(path, text, own)
  } catch (cause) {
    const error = cause instanceof RfaError ? cause : notWritable(path, cause)
    throw new RfaError('NOT_WRITABLE', `${own.flag}: cannot write ${error.message}`, {
      suggestions: own.inFolder ? [another(own)] : [another(own), `use ${own.flag} - for stdout`],
      cause: error,
    })
  }
}

/** Errors of a folder in which a file can be written, but none put in its place. */
const NO_PLACE: ReadonlySet<unknown> = new Set(['EACCES', 'EPERM', 'EBUSY'])

/** Writes a file so that an earlier one stays where that fails; what is no file, as a pipe, is written to. */
async function writeWhole(path: string, text: string, {untyped}: OwnFile): Promise<void> {
  const target = untyped ? path : await realpath(path).catch(() => path)
  const facts = await lstat(target).catch(() => undefined)
  if (facts?.isFIFO()) return writePipe(target, text)
  if (facts && !facts.isFile() && !facts.isSymbolicLink()) return writeFile(target, text)
  try {
    await writeAtomic(target, text)
  } catch (error) {
    if (!facts?.isFile() || !(error instanceof RfaError) || !NO_PLACE.has(errorCode(error.cause)))
      throw error
    await writeFile(target, text)
  }
}

/** Writes to a pipe that something reads: one that nothing reads would be waited for without end. @throws ENXIO */
async function writePipe(path: string, text: string): Promise<void> {
  const reader = await open(path, constants.O_WRONLY | constants.O_NONBLOCK)
  try {
    await writeFile(path, text)
  } finally {
    await reader.close()
  }
}

/** Notes of the user are not ours to replace, and pipes are not ours to wait for. @throws {WOULD_OVERWRITE} */
async function refuseForeignFile(
  path: string,
  {flag, force, isOwn, what, untyped, inFolder}: OwnFile,
): Promise<void> {
  const facts = await (untyped ? lstat : stat)(path).catch(() => undefined)
  if (facts === undefined) return
  const present = facts.isFile() ? await readFile(path, 'utf8').catch(() => undefined) : undefined
  if (present !== undefined && isOwn(present)) return
  const got = `${path}, which is neither`
  const remedies = [another({flag, inFolder}), ...forceRemedy(force)]
  throw expected('WOULD_OVERWRITE', flag, `a new file or ${what}`, got, ...remedies)
}

/** How a file is replaced all the same, where the command has a flag for it. */
export function forceRemedy(force: boolean | undefined): string[] {
  return force === undefined ? [] : ['add --force to replace it']
}

function another({flag, inFolder}: Pick<OwnFile, 'flag' | 'inFolder'>): string {
  return `name another ${inFolder ? 'folder' : 'file'} with ${flag}`
}
