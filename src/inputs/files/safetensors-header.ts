/**
 * The header of a .safetensors file: its length in 8 bytes, then JSON that gives type, shape and
 * place of every tensor. All of it is checked before any tensor is read.
 *
 * Source: https://huggingface.co/docs/safetensors/index#format
 */
import {clipped, describe, expected, messageOf, RfaError, shownName} from '../../errors.js'
import {DTYPES, type Dtype, elementCount, isShape} from '../nd-array.js'
import type {Bytes} from './elements.js'
import type {ArrayEntry} from './reader.js'
import {type ByteSource, truncated} from './source.js'

/** The format's own limit on the header. */
const MAX_HEADER_BYTES = 100_000_000

/** Type names of the format that can be read. */
export const SAFETENSORS_TYPES: Record<Dtype, string> = {
  bool: 'BOOL',
  int8: 'I8',
  uint8: 'U8',
  int16: 'I16',
  uint16: 'U16',
  int32: 'I32',
  uint32: 'U32',
  int64: 'I64',
  uint64: 'U64',
  float16: 'F16',
  bfloat16: 'BF16',
  float32: 'F32',
  float64: 'F64',
}

/** Bits per element of types that files may hold but that are not read here. */
const OTHER_TYPE_BITS: Record<string, number> = {
  F4: 4,
  F6_E2M3: 6,
  F6_E3M2: 6,
  F8_E4M3: 8,
  F8_E5M2: 8,
  F8_E8M0: 8,
  F8_E4M3FNUZ: 8,
  F8_E5M2FNUZ: 8,
  C64: 64,
}

/** One tensor and where its bytes lie, counted from the start of the file. */
export interface SafetensorsEntry extends ArrayEntry {
  begin: number
}

interface SafetensorsHeader {
  entries: Map<string, SafetensorsEntry>
  metadata: Record<string, string>
}

/**
 * Reads and checks the header.
 *
 * @throws {BAD_FILE} when the header is longer than the file or than 100 MB (it is not read then), is not a JSON
 * object, repeats a name, declares an unknown type or an impossible shape, or when the
 *   tensors do not fill the rest of the file exactly, without holes or overlaps
 */
export async function readSafetensorsHeader(source: ByteSource): Promise<SafetensorsHeader> {
  const length = await headerLength(source)
  const fields = parseHeader(source.where, await source.read(8, length))
  const entries = new Map<string, SafetensorsEntry>()
  let metadata: Record<string, string> = {}
  for (const [name, value] of Object.entries(fields)) {
    if (name === '__metadata__') metadata = checkedMetadata(source.where, value)
    else entries.set(name, checkedEntry(source.where, name, value, 8 + length))
  }
  checkLayout(source, entries, 8 + length)
  return {entries, metadata}
}

/** The length of the header, held against the limit and the file before anything is allocated for it. */
async function headerLength(source: ByteSource): Promise<number> {
  if (source.size < 8) throw truncated(source.where, 8, source.size)
  const start = await source.read(0, 8)
  const length = new DataView(start.buffer, start.byteOffset).getBigUint64(0, true)
  if (length > BigInt(MAX_HEADER_BYTES)) {
    const what = `a .safetensors header of at most ${MAX_HEADER_BYTES} bytes`
    throw expected('BAD_FILE', source.where, what, `a declared length of ${length}`)
  }
  if (Number(length) > source.size - 8)
    throw truncated(source.where, 8 + Number(length), source.size)
  return Number(length)
}

/**
 * The JSON object of the header. A byte order mark, white space before the brace and repeated keys
 * are refused like the format does; spaces after it are its padding.
 */
function parseHeader(where: string, bytes: Bytes): Record<string, unknown> {
  let text: string
  let value: unknown
  try {
    text = new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(bytes)
    value = JSON.parse(text)
  } catch (cause) {
    const message = `${where}: expected a .safetensors header in JSON, got ${messageOf(cause)}`
    throw new RfaError('BAD_FILE', message, {cause})
  }
  if (!text.startsWith('{') || !isRecord(value)) {
    const what = 'a .safetensors header that starts with {'
    throw expected('BAD_FILE', where, what, describe(text.slice(0, 20)))
  }
  const twice = duplicateKey(text)
  if (twice !== undefined) {
    throw expected('BAD_FILE', where, `the header key ${describe(twice)} once`, 'it twice')
  }
  return value
}

/** `__metadata__`: an object of texts; `null` stands for none. */
function checkedMetadata(where: string, value: unknown): Record<string, string> {
  if (value === null) return {}
  if (isRecord(value)) {
    const wrong = Object.entries(value).find(([, text]) => typeof text !== 'string')
    if (wrong === undefined) return value as Record<string, string>
  }
  throw expected('BAD_FILE', where, '__metadata__ with texts only', shown(value))
}

/**
 * Checks one tensor by itself: type, shape, and that its place has the right length.
 *
 * @param value - its JSON: `{dtype, shape, data_offsets: [begin, end]}`, offsets counted from
 *   `dataStart`
 * @param dataStart - where the tensors start in the file
 */
function checkedEntry(
  where: string,
  name: string,
  value: unknown,
  dataStart: number,
): SafetensorsEntry {
  const place = `${where}[${shownName(name)}]`
  if (!isRecord(value)) {
    throw expected('BAD_FILE', place, 'dtype, shape and data_offsets', shown(value))
  }
  const {dtype: storedType, shape, data_offsets: offsets} = value
  if (!isShape(shape)) {
    throw expected('BAD_FILE', place, 'a shape of non-negative integers', shown(shape))
  }
  if (!isOffsetPair(offsets)) {
    const what = 'data_offsets with a begin and an end'
    throw expected('BAD_FILE', place, what, shown(offsets))
  }
  const {dtype, bits} = typeOf(place, storedType)
  const [begin, end] = offsets
  const bytes = (elementCount(shape) * bits) / 8
  if (end - begin !== bytes) {
    const what = `${bytes} bytes for ${storedType} ${describe(shape)}`
    throw expected('BAD_FILE', place, what, `data_offsets ${describe(offsets)}`)
  }
  return {storedType: String(storedType), dtype, shape, bytes, begin: dataStart + begin}
}

/** Type and bits per element of a type name; the type is `null` where only the size is known. */
function typeOf(place: string, storedType: unknown): {dtype: Dtype | null; bits: number} {
  const known = Object.entries(SAFETENSORS_TYPES) as [Dtype, string][]
  const dtype = known.find(([, name]) => name === storedType)?.[0]
  if (dtype !== undefined) return {dtype, bits: 8 * DTYPES[dtype].bytes}
  const bits = Object.entries(OTHER_TYPE_BITS).find(([name]) => name === storedType)?.[1]
  if (bits !== undefined) return {dtype: null, bits}
  const names = known.map(([, name]) => name).join(', ')
  throw expected('BAD_FILE', place, `a dtype of ${names}`, shown(storedType))
}

/**
 * Checks all tensors together: laid end to end they must be the rest of the file. Where each starts
 * is free: elements are copied out, so that alignment does not matter.
 */
function checkLayout(
  source: ByteSource,
  entries: ReadonlyMap<string, SafetensorsEntry>,
  dataStart: number,
): void {
  // empty tensors share their place with the next one and come before it
  const ordered = [...entries].sort(([, a], [, b]) => a.begin - b.begin || a.bytes - b.bytes)
  let end = dataStart
  for (const [name, {begin, bytes}] of ordered) {
    if (begin + bytes > source.size) throw truncated(source.where, begin + bytes, source.size)
    if (begin !== end) {
      const what = begin > end ? 'a hole before it' : 'overlap with the one before'
      const got = `${Math.abs(begin - end)} bytes of ${what}`
      throw expected(
        'BAD_FILE',
        `${source.where}[${shownName(name)}]`,
        'tensors laid end to end',
        got,
      )
    }
    end = begin + bytes
  }
  if (end !== source.size) {
    const got = `${source.size - end} bytes after the last tensor`
    throw expected('BAD_FILE', source.where, 'tensors that fill the file', got)
  }
}

function isOffsetPair(value: unknown): value is [number, number] {
  return (
    Array.isArray(value) &&
    value.length === 2 &&
    value.every(offset => Number.isSafeInteger(offset) && offset >= 0)
  )
}

/** Levels of a value that messages show: a hostile one may be nested without end. */
const SHOWN_LEVELS = 3

/** A value of the header as messages show it: JSON, cut where it is deep or long. */
function shown(value: unknown): string {
  return clipped(shortJson(value, SHOWN_LEVELS))
}

function shortJson(value: unknown, levels: number): string {
  if (typeof value === 'string') return JSON.stringify(clipped(value))
  if (Array.isArray(value)) {
    if (levels === 0) return '[…]'
    return `[${value.map(item => shortJson(item, levels - 1)).join(',')}]`
  }
  if (!isRecord(value)) return JSON.stringify(value) ?? 'nothing'
  if (levels === 0) return '{…}'
  const fields = Object.entries(value).map(
    ([name, item]) => `${JSON.stringify(clipped(name))}:${shortJson(item, levels - 1)}`,
  )
  return `{${fields.join(',')}}`
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Finds a key that some object of a JSON text has twice. `JSON.parse` keeps the last of them
 * without a word, so that a file could mean one thing here and another elsewhere.
 *
 * @param json - a text that `JSON.parse` accepts
 * @returns the first repeated key in the text, unescaped; `undefined` when there is none
 */
export function duplicateKey(json: string): string | undefined {
  const open: Set<string>[] = [] // keys of the objects around the current position
  for (let at = 0; at < json.length; at++) {
    const character = json[at]
    if (character === '{') open.push(new Set())
    else if (character === '}') open.pop()
    else if (character === '"') {
      const end = stringEnd(json, at)
      if (isFollowedByColon(json, end)) {
        const quoted = json.slice(at, end)
        const key: string = quoted.includes('\\') ? JSON.parse(quoted) : quoted.slice(1, -1)
        const keys = open.at(-1)
        if (keys?.has(key)) return key
        keys?.add(key)
      }
      at = end - 1
    }
  }
  return undefined
}

/** Position after the closing quote of the string that opens at `start`. */
function stringEnd(json: string, start: number): number {
  let at = start + 1
  while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1
  return at + 1
}

/** In valid JSON outside of strings, a colon follows keys only. */
function isFollowedByColon(json: string, start: number): boolean {
  let at = start
  while (' \t\n\r'.includes(json[at] ?? '.')) at++
  return json[at] === ':'
}
