import type {Hash} from 'node:crypto'
import {RfaError} from '../../errors.js'
import type {Bytes} from './elements.js'
import type {ByteSource} from './source.js'

/** Bytes hashed at once. */
const CHUNK_BYTES = 2 ** 22

/** A source that remembers what it gave away, so that it can be held against a hash of the whole. */
interface RecordedSource extends ByteSource {
  /**
   * Feeds all bytes, from the first to the last, into a hash, and compares what was read before with
   * them. Where this succeeds, everything read is part of what the hash says, at whatever time the
   * file may have been changed.
   *
   * @throws {FILE_CHANGED} when something read before is no longer there
   */
  hashInto(hash: Hash): Promise<void>
}

/** Bytes given away, and where they came from. */
interface Region {
  offset: number
  bytes: Bytes
}

/** Records the reads of a source. The bytes are kept, not copied: their owner must not change them. */
export function recorded(source: ByteSource): RecordedSource {
  const regions: Region[] = []
  return {
    where: source.where,
    size: source.size,
    async read(offset, length) {
      const bytes = await source.read(offset, length)
      regions.push({offset, bytes})
      return bytes
    },
    hashInto: hash => hashSource(source, regions, hash),
    close: () => source.close(),
  }
}

/** Error of a file that holds other data than when the run began. */
export function fileChanged(where: string): RfaError {
  return new RfaError(
    'FILE_CHANGED',
    `${where}: expected the bytes that the run began with, got others: the file was changed or replaced; ` +
      'put it back and continue with `resume`, or start a new run',
  )
}

async function hashSource(
  source: ByteSource,
  regions: readonly Region[],
  hash: Hash,
): Promise<void> {
  const waiting = regions.toSorted((a, b) => b.offset - a.offset) // the next one last
  let open: Region[] = []
  for (let start = 0; start < source.size; start += CHUNK_BYTES) {
    const chunk = await source.read(start, Math.min(CHUNK_BYTES, source.size - start))
    const end = start + chunk.length
    hash.update(chunk)
    while (waiting.length > 0 && waiting.at(-1)!.offset < end) open.push(waiting.pop()!)
    if (open.some(region => differs(region, chunk, start))) throw fileChanged(source.where)
    open = open.filter(({offset, bytes}) => offset + bytes.length > end)
  }
}

/** Whether a region differs from a chunk of the file where they overlap. */
function differs({offset, bytes}: Region, chunk: Bytes, start: number): boolean {
  const from = Math.max(offset, start)
  const to = Math.min(offset + bytes.length, start + chunk.length)
  const own = bytes.subarray(from - offset, to - offset)
  return Buffer.compare(own, chunk.subarray(from - start, to - start)) !== 0
}
