/** Reading journals: their lines as records, and what of them is damaged. */
import {type FileHandle, open} from 'node:fs/promises'
import {join} from 'node:path'
import {RfaError} from '../../errors.js'
import {errorCode} from '../../files.js'
import {requireRegularFile, unreadable} from '../files.js'
import {cellKey} from '../keys.js'
import {type CellRecord, isSuperseded, type StoredExperiment} from '../record.js'
import {damagedLine, type LineFault, readLine} from './journal-line.js'
import {collectSooner, requireHeapFor, withoutLists} from './large-journal.js'
import {eachLine, type Line} from './lines.js'
import {parseRecord} from './parse-record.js'

/** The journal's file name inside a run directory. */
export const JOURNAL_FILE = 'records.jsonl'

export interface ReadOptions {
  /**
   * Whether each line must have a checksum, as manifests say. Default: those behind the first that has one; lines of
   * earlier versions have none
   */
  checked?: boolean | undefined
  /** Takes a damaged line. Default: it is refused */
  onDamage?: ((line: Line) => void) | undefined
  /** Bytes of a journal beyond which its records lack the heavy lists that their experiments name. Default: none lack them */
  wholeUpTo?: number | undefined
}

/**
 * Reads the journal of a directory without touching it; a torn last line is left out. Several records
 * of one cell (a failed one that was run again) are all returned, oldest first; see {@link newest}.
 * Records of an earlier format are converted; their run can be read, but not resumed.
 *
 * @param experiments - those with records that this version reads
 * @returns no records when there is no journal yet
 * @throws {BAD_FILE} for a damaged line before the last, and for a record that does not fit its schema
 * @throws {UNKNOWN_SCHEMA} for records of another version
 */
export async function readRecords(
  directory: string,
  experiments: readonly StoredExperiment[],
  {wholeUpTo = Number.POSITIVE_INFINITY, ...options}: ReadOptions = {},
): Promise<CellRecord[]> {
  const path = join(directory, JOURNAL_FILE)
  await requireRegularFile(path)
  const file = await open(path, 'r').catch(error => {
    if (errorCode(error) === 'ENOENT') return undefined
    throw unreadable(path, error)
  })
  if (!file) return []
  const records: CellRecord[] = []
  try {
    const {size} = await file.stat()
    const isLarge = size > wholeUpTo
    if (isLarge) collectSooner()
    const present = await presentOf(experiments)
    await readLines({path, file, experiments, present, ...options}, (record, line) => {
      requireHeapFor(records.length + 1, path)
      const {number, start, bytes} = line
      records.push(
        isLarge ? withoutLists(record, experiments, {path, number, start, bytes}) : record,
      )
    })
  } finally {
    await file.close()
  }
  return records
}

/** Converts what any of these experiments once wrote to the present format; keeps anything else. */
async function presentOf(experiments: readonly StoredExperiment[]) {
  const earlier = await Promise.all(experiments.map(experiment => experiment.earlier?.()))
  return (value: unknown) =>
    earlier.reduce<unknown>((record, convert) => convert?.(record) ?? record, value)
}

/**
 * The newest record of each cell, in the order in which the cells first appeared. Where a key stands
 * with several cells, each of them has its own.
 */
export function newest(records: readonly CellRecord[]): CellRecord[] {
  const byName = new Map<string, CellRecord>()
  for (const record of records) {
    const name = `${record.key} ${cellKey(record.schema, record.cell)}`
    if (isSuperseded(byName.get(name), record)) byName.set(name, record)
  }
  return [...byName.values()]
}

export interface JournalSource extends ReadOptions {
  path: string
  file: FileHandle
  experiments: readonly StoredExperiment[]
  /** Converts what a line holds to the present format. Default: no change */
  present?: (value: unknown) => unknown
}

/** What a journal holds in addition to its records. */
export interface JournalEnd {
  /** How many bytes of the file are whole lines. */
  intactBytes: number
  /** Whether a torn one follows them. */
  torn: boolean
}

/** Visits all records of a journal, in its order, without holding any. */
export async function readLines(
  {path, file, experiments, present = value => value, checked = false, onDamage}: JournalSource,
  visit: (record: CellRecord, line: Line) => void,
): Promise<JournalEnd> {
  let [intactBytes, mustCheck] = [0, checked]
  const size = await eachLine(file, line => {
    const content = readLine(line.text, mustCheck)
    if (typeof content === 'string') {
      if (!mustCheck && isTorn(content, line)) return false
      if (!onDamage) throw damagedLine(`${path}:${line.number}`, line.text, content)
      onDamage(line)
    } else {
      mustCheck ||= content.checked
      visit(parseRecord(present(content.value), `${path}:${line.number}`, experiments), line)
    }
    intactBytes = line.start + line.bytes + 1
    return true
  }).catch(error => {
    throw error instanceof RfaError ? error : unreadable(path, error)
  })
  return {intactBytes, torn: intactBytes < size}
}

/** Whether it may be what a power cut leaves of the line that was being written. One with a checksum is written with its end last. */
function isTorn(fault: LineFault, {last}: Line): boolean {
  return last && fault === 'no JSON'
}
