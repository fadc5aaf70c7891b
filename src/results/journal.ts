import {type FileHandle, open, stat} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expected, RfaError} from '../errors.js'
import {errorCode, notWritable} from '../files.js'
import {isInPlace, kindOf, requireRegularFile, unreadable} from './files.js'
import {eachLine, type Line} from './lines.js'
import {type Lock, takeLock} from './lock.js'
import {parseRecord} from './parse-record.js'
import type {CellRecord, StoredExperiment} from './record.js'
import {cellKeyOf, StoredRecords} from './stored-records.js'

/** The journal's file name inside a run directory. */
export const JOURNAL_FILE = 'records.jsonl'
/** The lock's file name beside it. */
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
  /** Aborted, with the error as its reason, when the folder has gone or another process took it. */
  readonly lost: AbortSignal
  /**
   * Adds a record; when the promise is kept the record is on the disk, in the file of that name. Calls
   * may overlap.
   *
   * @throws {NOT_WRITABLE} when the disk is full, the file then still ends with a whole line; or when
   *   file or folder were deleted or moved meanwhile, or taken by another process
   */
  append(record: CellRecord): Promise<void>
  /** Adds many records, flushed together: none, some or all of them stand there when it fails. @throws as append */
  appendAll(records: readonly CellRecord[]): Promise<void>
  /** Makes sure that the folder is still that of this run. @throws {NOT_WRITABLE} when it is lost */
  check(): Promise<void>
  /** Waits for records on their way and lets other processes write. */
  close(): Promise<void>
}

/**
 * Opens the journal of a directory for writing, and makes it if there is none. A torn last line, left
 * by a process that was killed while writing, is cut off.
 *
 * @param experiments - whose records it may hold
 * @param held - the directory's lock, if the caller has it already; closing the journal releases it
 * @throws {NOT_WRITABLE} when another process writes into the directory, or it cannot be written
 * @throws {BAD_FILE} for a line before the last that is not a record
 * @throws {UNKNOWN_SCHEMA} for records of another version
 */
export async function openJournal(
  directory: string,
  experiments: readonly StoredExperiment[],
  held?: Lock,
): Promise<Journal> {
  const lock = held ?? (await lockDirectory(directory))
  try {
    return await openLocked(join(directory, JOURNAL_FILE), experiments, lock)
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** Keeps other processes from writing into a run directory. @throws {NOT_WRITABLE} when one does */
export function lockDirectory(directory: string): Promise<Lock> {
  return takeLock(join(directory, LOCK_FILE))
}

/**
 * Reads the journal of a directory without touching it; a torn last line is left out. Several records
 * of one cell (a failed one that was run again) are all returned, oldest first; see {@link newest}.
 * Those of an earlier format are told in the present one; a run of them can be read, but not resumed.
 *
 * @param experiments - whose records this version reads
 * @returns no records when there is no journal yet
 * @throws {BAD_FILE} for a line before the last that is not a record
 * @throws {UNKNOWN_SCHEMA} for records of another version
 */
export async function readRecords(
  directory: string,
  experiments: readonly StoredExperiment[],
): Promise<CellRecord[]> {
  const records: CellRecord[] = []
  await eachRecord(directory, experiments, record => records.push(record))
  return records
}

/** Visits the records that {@link readRecords} returns, and holds none. @throws what it throws */
async function eachRecord(
  directory: string,
  experiments: readonly StoredExperiment[],
  visit: (record: CellRecord, line: Line) => void,
): Promise<void> {
  const path = join(directory, JOURNAL_FILE)
  await requireRegularFile(path)
  const file = await open(path, 'r').catch(error => {
    if (errorCode(error) === 'ENOENT') return undefined
    throw unreadable(path, error)
  })
  if (!file) return
  try {
    await readLines({path, file, experiments, present: await presentOf(experiments)}, visit)
  } finally {
    await file.close()
  }
}

/** Tells what any of these experiments once wrote in its present format, and anything else as it is. */
async function presentOf(experiments: readonly StoredExperiment[]) {
  const earlier = await Promise.all(experiments.map(experiment => experiment.earlier?.()))
  return (value: unknown) => earlier.reduce<unknown>((told, tell) => tell?.(told) ?? told, value)
}

/**
 * The newest record of each cell of a journal, in the order in which the cells first appeared. What of them is not always
 * wanted is read again when it is asked for, so that there may be more of them than memory could hold.
 *
 * @throws what {@link readRecords} throws
 */
export async function readNewest(
  directory: string,
  experiments: readonly StoredExperiment[],
): Promise<CellRecord[]> {
  const path = join(directory, JOURNAL_FILE)
  const present = await presentOf(experiments)
  const parse = (text: string, where: string) => {
    const value = parseLine(text)
    if (value === undefined) throw corruptLine(where, text)
    return parseRecord(present(value), where, experiments)
  }
  const stored = new StoredRecords(path, experiments, parse)
  await eachRecord(directory, experiments, (record, line) => stored.add(record, line))
  return stored.newest()
}

/**
 * The newest record of each cell, in the order in which the cells first appeared. Where a key stands
 * with several cells, each of them has its own.
 */
export function newest(records: readonly CellRecord[]): CellRecord[] {
  const byName = new Map<string, CellRecord>()
  for (const record of records) byName.set(`${record.key} ${cellKeyOf(record)}`, record)
  return [...byName.values()]
}

/** An open journal to be read. */
interface JournalSource {
  path: string
  file: FileHandle
  experiments: readonly StoredExperiment[]
  /** Tells what a line holds in the present format. Default: as it stands */
  present?: (value: unknown) => unknown
}

/** An open journal file and the length of its whole lines. */
interface JournalFile {
  path: string
  file: FileHandle
  /** Of its folder; nothing is cut off without it. */
  lock: Lock
  size: number
}

async function openLocked(
  path: string,
  experiments: readonly StoredExperiment[],
  lock: Lock,
): Promise<Journal> {
  await refusePipe(path)
  const file = await open(path, 'a+').catch(error => {
    throw notWritable(path, error)
  })
  try {
    const records: CellRecord[] = []
    const source = {path, file, experiments}
    const {intactBytes, torn} = await readLines(source, record => records.push(record))
    if (torn) await cutTornLine(path, file, intactBytes, lock)
    return journalOf({path, file, lock, size: intactBytes}, records)
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Another process may have taken the folder while the file was read, and then goes on with it. */
async function cutTornLine(path: string, file: FileHandle, intactBytes: number, lock: Lock) {
  await lock.check()
  await file.truncate(intactBytes).catch(error => {
    throw notWritable(path, error)
  })
}

/** What is written into a pipe is not saved. */
async function refusePipe(path: string): Promise<void> {
  const entry = await stat(path).catch(() => undefined)
  if (entry?.isFIFO()) throw expected('NOT_WRITABLE', path, 'a file', kindOf(entry), 'delete it')
}

function journalOf(target: JournalFile, records: readonly CellRecord[]): Journal {
  const {lock} = target
  let last: Promise<unknown> = Promise.resolve()
  const write = (added: readonly CellRecord[]) => {
    const written = last.then(async () => {
      await lock.check()
      await appendLines(target, added.map(record => `${JSON.stringify(record)}\n`).join(''))
      await requireInPlace(target)
    })
    last = written.catch(() => {}) // the caller of append gets the error
    return written
  }
  return {
    records,
    lost: lock.lost,
    append: record => write([record]),
    async appendAll(added) {
      for (let at = 0; at < added.length; at += AT_ONCE) await write(added.slice(at, at + AT_ONCE))
    },
    check: () => lock.check(),
    async close() {
      await last
      await target.file.close()
      await lock.release()
    },
  }
}

/** A record in a file that nobody can find any more is not saved. */
async function requireInPlace({path, file}: JournalFile): Promise<void> {
  if (await isInPlace(file, path)) return
  throw expected(
    'NOT_WRITABLE',
    path,
    'the journal that this run writes',
    'none, or another file',
    'it was moved or deleted under the run: put it back if you can, and go on with `resume`',
  )
}

/** Lines, then one flush; what a full disk took of them is cut off again. */
async function appendLines(target: JournalFile, lines: string): Promise<void> {
  const bytes = Buffer.from(lines)
  try {
    await target.file.appendFile(bytes) // goes on after a short write, which then tells why
    await target.file.datasync()
    target.size += bytes.length
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

/** What a journal holds beside its records. */
interface JournalEnd {
  /** How many bytes of the file are whole lines. */
  intactBytes: number
  /** Whether a torn one follows them. */
  torn: boolean
}

/**
 * Visits all records of a journal, in its order, without holding any.
 *
 * @param present - what a line holds, in the present format; default: as it stands
 */
async function readLines(
  {path, file, experiments, present = value => value}: JournalSource,
  visit: (record: CellRecord, line: Line) => void,
): Promise<JournalEnd> {
  let intactBytes = 0
  const size = await eachLine(file, line => {
    const value = parseLine(line.text)
    if (value === undefined) {
      if (line.last) return false
      throw corruptLine(`${path}:${line.number}`, line.text)
    }
    visit(parseRecord(present(value), `${path}:${line.number}`, experiments), line)
    intactBytes = line.start + line.bytes + 1
    return true
  }).catch(error => {
    throw error instanceof RfaError ? error : unreadable(path, error)
  })
  return {intactBytes, torn: intactBytes < size}
}

function parseLine(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function corruptLine(where: string, text: string): RfaError {
  const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text
  return expected(
    'BAD_FILE',
    where,
    'a record as JSON on one line',
    describe(shown),
    'restore the file from a copy, or remove this line: its cell then runs again',
  )
}
