/** Lines of a file, read in pieces: a journal may be larger than memory. */
import type {FileHandle} from 'node:fs/promises'

const NEWLINE = 0x0a
/** Bytes that are read at once, more where a line is longer. */
const PIECE = 2 ** 21

/** A line that ends with a newline. */
export interface Line {
  /** From 1. */
  number: number
  /** Of its first byte in the file. */
  start: number
  /** Without the newline. */
  bytes: number
  text: string
  /** Whether nothing stands behind it. */
  last: boolean
}

/**
 * Visits the whole lines of a file, as long as it was when it was opened; devices and pipes have none.
 *
 * @param visit - gives `false` to read no further
 * @returns how many bytes there were, with those behind the last newline
 */
export async function eachLine(
  file: FileHandle,
  visit: (line: Line) => boolean | undefined,
): Promise<number> {
  const {size} = await file.stat()
  let buffer = Buffer.allocUnsafe(Math.min(size, PIECE))
  // the buffer holds the bytes of the file from `start` to `end`
  let [start, end, number] = [0, 0, 1]
  while (end < size) {
    if (end - start === buffer.length) buffer = Buffer.concat([buffer], 2 * buffer.length)
    const room = Math.min(buffer.length - (end - start), size - end)
    const {bytesRead} = await file.read(buffer, end - start, room, end)
    if (bytesRead === 0) break
    end += bytesRead
    const held = buffer.subarray(0, end - start)
    let from = 0
    for (let to = held.indexOf(NEWLINE); to >= 0; to = held.indexOf(NEWLINE, from)) {
      const text = held.toString('utf8', from, to)
      const last = start + to === size - 1
      const line = {number: number++, start: start + from, bytes: to - from, text, last}
      if (visit(line) === false) return size
      from = to + 1
    }
    held.copy(buffer, 0, from)
    start += from
  }
  return end
}
