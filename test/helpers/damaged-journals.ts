/** Journals with one bit flipped, or a block of a disk lost, repeated or overwritten; and what is read of them. */
import {randomStream} from '../../src/random/index.js'
import {type LineContent, readLine} from '../../src/results/journal/journal-line.js'
import {newest} from '../../src/results/journal/journal-reader.js'
import {cellKey} from '../../src/results/keys.js'
import type {CellRecord} from '../../src/results/record.js'
import {timed} from './records/bench.js'
import {sweep} from './records/error-sweep.js'
import {failed, skipped} from './records/outcomes.js'
import {variance} from './records/variance.js'

type Damage = (bytes: Buffer, below: (limit: number) => number) => Buffer

const BLOCKS = [512, 4096]

/** One damage of each kind, at a place that is drawn. Blocks begin anywhere, as other files of a disk may end there. */
export const DAMAGES: Readonly<Record<string, Damage>> = {
  'a flipped bit': (bytes, below) => {
    const changed = Buffer.from(bytes)
    changed[below(bytes.length)]! ^= 1 << below(8)
    return changed
  },
  'a lost block': (bytes, below) => {
    const {at, end} = block(bytes, below)
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)])
  },
  'a repeated block': (bytes, below) => {
    const {at, end} = block(bytes, below)
    return Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)])
  },
  'a block in place of another': (bytes, below) => {
    const {at, end} = block(bytes, below)
    const changed = Buffer.from(bytes)
    bytes.copy(changed, below(bytes.length - (end - at)), at, end)
    return changed
  },
  'a block of zeros': (bytes, below) => {
    const {at, end} = block(bytes, below)
    return Buffer.from(bytes).fill(0, at, end)
  },
}

function block(bytes: Buffer, below: (limit: number) => number): {at: number; end: number} {
  const at = below(bytes.length)
  return {at, end: Math.min(bytes.length, at + BLOCKS[below(BLOCKS.length)]!)}
}

/** The `n`-th damage of a kind. */
export function damagedBy(kind: string, bytes: Buffer, n: number): Buffer {
  const stream = randomStream(n, `damage: ${kind}`)
  return DAMAGES[kind]!(bytes, limit => stream.integer(limit))
}

/** Records of several cells, all of their lengths; two cells failed first and then ended otherwise. */
export const RECORDS: readonly CellRecord[] = (() => {
  const own = (record: CellRecord, seed: number): CellRecord => {
    const cell = {...record.cell, seed}
    return {...record, cell, key: cellKey(record.schema, cell)}
  }
  return [
    ...[own(failed(variance()), 0), own(sweep(), 1), own(failed(timed()), 2), own(variance(), 0)],
    ...[own(sweep(), 3), own(timed(), 2), own(variance(), 4), own(skipped(sweep()), 5)],
    ...[own(variance(), 6), own(failed(sweep()), 7)],
  ]
})()

const WRITTEN = new Map(newest(RECORDS).map(record => [record.key, JSON.stringify(record)]))

/**
 * Cells of which something else is read than was written; such as are missing run again.
 *
 * @param checked - whether lines are held against their checksums
 */
export function alteredCells(bytes: Buffer, checked: boolean): string[] {
  const contents = bytes
    .toString('utf8')
    .split('\n')
    .map(line => (checked ? readLine(line, true) : unchecked(line)))
  const records = contents.flatMap(content =>
    typeof content === 'string' ? [] : [withoutChecksum(content.value)],
  )
  const read = newest(records.filter(record => Boolean(record?.cell)))
  return read.filter(isAltered).map(({key}) => key)
}

/** What a reader sees that knows no checksums. */
function unchecked(line: string): LineContent | 'no JSON' {
  try {
    return {value: JSON.parse(line), checked: false}
  } catch {
    return 'no JSON'
  }
}

function withoutChecksum(value: unknown): CellRecord {
  const {crc32: _, ...record} = value as CellRecord & {crc32?: string}
  return record
}

/** A record that was written before another of its cell is none: where the later line is lost, the cell runs again. */
function isAltered(record: CellRecord): boolean {
  const text = JSON.stringify(record)
  return text !== WRITTEN.get(record.key) && !RECORDS.some(one => JSON.stringify(one) === text)
}
