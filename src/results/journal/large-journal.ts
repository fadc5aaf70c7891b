/** Journals so large that their records are held without their heaviest lists, which are read again one by one. */
import {closeSync, openSync, readSync} from 'node:fs'
import {getHeapStatistics, setFlagsFromString} from 'node:v8'
import {expected} from '../../errors.js'
import {unreadable} from '../files.js'
import type {CellRecord, JournalPlace, StoredExperiment} from '../record.js'
import {damagedLine, readLine} from './journal-line.js'

/** Bytes of a journal from which on reports hold its records without these lists. */
export const LARGE_JOURNAL = 2 ** 26

/** Records that any heap is taken to hold: the most that a plan has without being forced. */
const MOST_RECORDS = 100_000
/** Bytes of the heap that a record takes at most, with its share of a report; three thousand is usual. */
const BYTES_PER_RECORD = 10_000

/** Garbage is collected from now on when the heap is a quarter larger than what lives; V8 lets it be three times as large. */
export function collectSooner(): void {
  setFlagsFromString('--heap-growing-percent=25')
}

/** A record without the lists that its experiment names, and with the place where they are read again. */
export function withoutLists(
  record: CellRecord,
  experiments: readonly StoredExperiment[],
  place: JournalPlace,
): CellRecord {
  const heavy = experiments.find(({schema}) => schema === record.schema)?.heavyLists
  if (record.status !== 'completed' || heavy === undefined) return record
  const fields = Object.entries(record.result).filter(([name]) => !heavy.includes(name))
  // made anew: deleting fields of an object doubles its memory
  return {...record, place, result: Object.fromEntries(fields) as typeof record.result}
}

/** What the line of a record says, parsed. @throws {BAD_FILE} where it is another line now, or cannot be read */
export function readAgain({path, number, start, bytes}: JournalPlace): unknown {
  const buffer = Buffer.alloc(bytes)
  try {
    const file = openSync(path, 'r')
    try {
      readSync(file, buffer, 0, bytes, start)
    } finally {
      closeSync(file)
    }
  } catch (error) {
    throw unreadable(path, error)
  }
  const text = buffer.toString('utf8')
  const content = readLine(text, false)
  if (typeof content === 'string') throw damagedLine(`${path}:${number}`, text, content)
  return content.value
}

/** @throws {TOO_LARGE} where the records do not fit into the heap that Node allows */
export function requireHeapFor(
  records: number,
  path: string,
  limit = getHeapStatistics().heap_size_limit,
): void {
  if (records <= Math.max(MOST_RECORDS, limit / BYTES_PER_RECORD)) return
  const what = `at most ${(records - 1).toLocaleString('en-US')} records with the heap that Node allows here, ${Math.floor(limit / 2 ** 20)} MiB`
  const remedy =
    'allow a larger heap: NODE_OPTIONS=--max-old-space-size=16384, in MiB, where the machine has so much memory'
  throw expected('TOO_LARGE', path, what, 'more', remedy)
}
