import {type FileHandle, open, stat} from 'node:fs/promises'
import {join} from 'node:path'
import {crc32} from 'node:zlib'
import {expected, type RfaError} from '../../errors.js'
import {notWritable} from '../../files.js'
import {checksumOf, isInPlace, kindOf} from '../files.js'
import {type Lock, takeLock} from '../lock/lock.js'
import type {CellRecord, StoredExperiment} from '../record.js'
import {journalLine} from './journal-line.js'
import {JOURNAL_FILE, type ReadOptions, readLines} from './journal-reader.js'
import type {Line} from './lines.js'
import {type SetAside, setAside} from './set-aside.js'

/** The file name of the lock next to it. */
export const LOCK_FILE = 'records.lock'

/** Records that are flushed together, where many are added: what a process has in memory once more. */
const AT_ONCE = 500

/**
 * The append-only list of finished cells: one record per line, flushed to the disk one by one, so that
 * a crash, a kill or a power cut costs at most the line being written.
 */
export interface Journal {
  /** The records that stood in the file when it was opened, oldest first. */
  readonly records: readonly CellRecord[]
  /** Lines that were damaged when it was opened, and the file that still has them. */
  readonly damaged: SetAside | undefined
  /** Aborted, with the error as its reason, when the folder has gone or another process took it. */
  readonly lost: AbortSignal
  /**
   * Adds a record; when the promise is kept the record is on the disk, in the file of that name. Calls
   * may overlap.
   *
   * @throws {NOT_WRITABLE} when the disk is full, the file then still ends with a whole line; or when
   *   file or folder were deleted or moved meanwhile, taken by another process, or made shorter or longer
   */
  append(record: CellRecord): Promise<void>
  /** Adds many records, flushed together: none, some or all of them stand there when it fails. @throws as append */
  appendAll(records: readonly CellRecord[]): Promise<void>
  /** Makes sure that the folder is still that of this run. @throws {NOT_WRITABLE} when it is lost */
  check(): Promise<void>
  /** Makes sure that the file holds what this run found and wrote. @throws {NOT_WRITABLE} when another program changed it */
  verify(): Promise<void>
  /** Waits for records on their way and lets other processes write. */
  close(): Promise<void>
}

export interface OpenOptions extends Pick<ReadOptions, 'checked'> {
  /** The directory's lock, if the caller has it already; closing the journal releases it. */
  lock?: Lock | undefined
}

/**
 * Opens the journal of a directory for writing, and makes it if there is none. A torn last line, left
 * by a process that was killed while writing, is cut off. Where other lines are damaged, the file is kept
 * under another name, and the journal goes on without them.
 *
 * @param experiments - those with records that it may hold
 * @throws {NOT_WRITABLE} when another process writes into the directory, or it cannot be written
 * @throws {BAD_FILE} for a record that does not fit its schema
 * @throws {UNKNOWN_SCHEMA} for records of another version
 */
export async function openJournal(
  directory: string,
  experiments: readonly StoredExperiment[],
  {lock: held, checked}: OpenOptions = {},
): Promise<Journal> {
  const lock = held ?? (await lockDirectory(directory))
  try {
    return await openLocked(join(directory, JOURNAL_FILE), experiments, lock, checked)
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** Keeps other processes from writing into a run directory. @throws {NOT_WRITABLE} when one does */
export function lockDirectory(directory: string): Promise<Lock> {
  return takeLock(join(directory, LOCK_FILE))
}

/** An open journal file and what its whole lines are. */
interface JournalFile {
  path: string
  file: FileHandle
  /** Of its folder; nothing is cut off without it. */
  lock: Lock
  size: number
  /** Checksum of the first `length` bytes. */
  checksum: number
}

async function openLocked(
  path: string,
  experiments: readonly StoredExperiment[],
  lock: Lock,
  checked: boolean | undefined,
): Promise<Journal> {
  await refusePipe(path)
  let file = await openToAppend(path)
  try {
    const records: CellRecord[] = []
    const lost: Line[] = []
    const onDamage = (line: Line) => void lost.push(line)
    const source = {path, file, experiments, checked, onDamage}
    const {intactBytes, torn} = await readLines(source, record => records.push(record))
    // another process may have taken the folder while the file was read, and may be writing to it
    if (torn || lost.length > 0) await lock.check()
    const damaged = lost.length > 0 ? await setAside({path, file, intactBytes}, lost) : undefined
    if (damaged) {
      await file.close()
      file = await openToAppend(path)
    } else if (torn) await cutTornLine(path, file, intactBytes)
    const {size} = await file.stat()
    const checksum = await checksumOf(file, size)
    return journalOf({path, file, lock, size, checksum}, records, damaged)
  } catch (error) {
    await file.close()
    throw error
  }
}

function openToAppend(path: string): Promise<FileHandle> {
  return open(path, 'a+').catch(error => {
    throw notWritable(path, error)
  })
}

async function cutTornLine(path: string, file: FileHandle, intactBytes: number) {
  await file.truncate(intactBytes).catch(error => {
    throw notWritable(path, error)
  })
}

/** What is written into a pipe is not saved. */
async function refusePipe(path: string): Promise<void> {
  const entry = await stat(path).catch(() => undefined)
  if (entry?.isFIFO()) throw expected('NOT_WRITABLE', path, 'a file', kindOf(entry), 'delete it')
}

function journalOf(
  target: JournalFile,
  records: readonly CellRecord[],
  damaged: SetAside | undefined,
): Journal {
  const {lock} = target
  let last: Promise<unknown> = Promise.resolve()
  const write = (added: readonly CellRecord[]) => {
    const written = last.then(async () => {
      await lock.check()
      await appendLines(target, added.map(journalLine).join(''))
      await requireUntouched(target)
    })
    last = written.catch(() => {}) // the caller of append gets the error
    return written
  }
  return {
    records,
    damaged,
    lost: lock.lost,
    append: record => write([record]),
    async appendAll(added) {
      for (let at = 0; at < added.length; at += AT_ONCE) await write(added.slice(at, at + AT_ONCE))
    },
    check: () => lock.check(),
    async verify() {
      await last
      await lock.check()
      await requireUntouched(target)
      const {file, size, checksum} = target
      if ((await checksumOf(file, size)) !== checksum) throw changedError(target, 'other bytes')
    },
    async close() {
      await last
      await target.file.close()
      await lock.release()
    },
  }
}

/** A record in a file that was moved or deleted is not saved, nor one in a file that others write. */
async function requireUntouched(target: JournalFile): Promise<void> {
  const {path, file, size} = target
  if (!(await isInPlace(file, path))) {
    const what = 'the journal that this run writes'
    const remedy =
      'it was moved or deleted during the run: put it back if you can, and continue with `resume`'
    throw expected('NOT_WRITABLE', path, what, 'none, or another file', remedy)
  }
  const there = await file.stat()
  if (there.isFile() && there.size !== size) throw changedError(target, `${there.size} bytes`)
}

function changedError({path, size}: JournalFile, got: string): RfaError {
  const what = `the ${size} bytes that this run found and wrote`
  const remedy =
    'another program changed the file during the run: stop that program, then continue with `resume`; damaged or missing cells run again'
  return expected('NOT_WRITABLE', path, what, got, remedy)
}

/** Lines, then one flush; what a full disk took of them is cut off again. */
async function appendLines(target: JournalFile, lines: string): Promise<void> {
  const bytes = Buffer.from(lines)
  try {
    await target.file.appendFile(bytes) // continues after a short write, and then throws the reason
    await target.file.datasync()
    target.size += bytes.length
    target.checksum = crc32(bytes, target.checksum)
  } catch (error) {
    await cutBack(target, bytes.length).catch(() => {})
    throw notWritable(target.path, error)
  }
}

/**
 * Cuts off what was written of the last line. While a flush hangs, another host may take the folder
 * over: what stands behind that line is its own.
 */
async function cutBack({file, lock, size}: JournalFile, written: number): Promise<void> {
  await lock.check()
  const there = await file.stat()
  if (there.size <= size + written) await file.truncate(size)
}
