/** A line of a journal: a record as JSON, with a checksum of its text as the last field. */
import {crc32} from 'node:zlib'
import {describe, expected, type RfaError} from '../../errors.js'
import type {CellRecord} from '../record.js'

/** Name of that field, and of the checksum: CRC-32 as in zip and PNG, of the UTF-8 bytes in front of the field's comma. */
export const LINE_CHECKSUM = 'crc32'

const FIELD = `,"${LINE_CHECKSUM}":"`
/** Hexadecimal digits of a checksum. */
const DIGITS = 8
const ENDING = FIELD.length + DIGITS + '"}'.length

/** What a line holds, before it is held against a schema. */
export interface LineContent {
  value: unknown
  /** Whether a checksum stands for it; lines of earlier versions have none. */
  checked: boolean
}

/** Why a line is not a record as it was written. */
export type LineFault = 'no JSON' | 'no checksum' | 'another checksum'

/** The line of a record, with its newline. */
export function journalLine(record: CellRecord): string {
  const text = JSON.stringify(record).slice(0, -1)
  return `${text}${endingOf(text)}\n`
}

function endingOf(text: string): string {
  return `${FIELD}${crc32(text).toString(16).padStart(DIGITS, '0')}"}`
}

/**
 * Reads a line.
 *
 * @param text - without its newline
 * @param checked - whether it must have a checksum
 */
export function readLine(text: string, checked: boolean): LineContent | LineFault {
  const value = parsed(text)
  if (value === undefined) return 'no JSON'
  const end = text.length - ENDING
  if (!text.startsWith(FIELD, end)) return checked ? 'no checksum' : {value, checked: false}
  return text.slice(end) === endingOf(text.slice(0, end))
    ? {value, checked: true}
    : 'another checksum'
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const EXPECTED: Record<LineFault, string> = {
  'no JSON': 'a record as JSON on one line',
  'no checksum': `a record that ends with its checksum, ${FIELD.slice(1)}…"}`,
  'another checksum': 'a record with the checksum of its bytes',
}

/** Error of a line that was damaged. @param where - file and number of the line */
export function damagedLine(where: string, text: string, fault: LineFault): RfaError {
  const got =
    fault === 'no JSON'
      ? describe(text.length > 40 ? `${text.slice(0, 40)}…` : text)
      : `one that ends with ${describe(text.slice(-ENDING))}`
  const other =
    'repeat the command of the run with --resume: cells of damaged lines run again, the file as it is now is kept'
  return expected('BAD_FILE', where, EXPECTED[fault], got, 'restore the file from a copy', other)
}
