/** Texts that models read: lines of a file, or files of a folder. */
import {createHash} from 'node:crypto'
import {readdir, stat} from 'node:fs/promises'
import {extname, join} from 'node:path'
import {describe, expected} from '../errors.js'
import type {Bytes} from './files/elements.js'
import {readWhole} from './files/source.js'

/** Texts, none of them blank, with the SHA-256 of names and bytes of their files. */
export interface TextFile {
  texts: string[]
  digest: string
}

/** Bytes of a file of texts; of more a text could be longer than texts can be. */
const MOST_BYTES = 2 ** 28
const LINE_ENDS = /\r\n|\n|\r/
const EXAMPLE = '{"text": "Some words."}'
const ONE_A_LINE = 'write one text a line into a .txt file, in UTF-8'

/** Names of what is no list of texts, though its bytes are text. */
const OTHER_FORMATS: readonly string[] = ['.json', '.csv', '.tsv']
/** First bytes of what is none either. */
const SIGNS: readonly [sign: string, what: string, remedy: string][] = [
  ['\x1f\x8b', 'a gzip archive', 'unpack it first: gunzip FILE'],
  ['PK\x03\x04', 'a zip archive', 'unpack it first: unzip FILE'],
  ['BZh', 'a bzip2 archive', 'unpack it first: bunzip2 FILE'],
  ['\xfd7zXZ', 'an xz archive', 'unpack it first: unxz FILE'],
  ['(\xb5/\xfd', 'a Zstandard archive', 'unpack it first: unzstd FILE'],
  ['PAR1', 'a Parquet file', ONE_A_LINE],
  ['%PDF', 'a PDF', ONE_A_LINE],
  ['\xff\xfe\0\0', 'UTF-32', 'convert it: iconv -f UTF-32 -t UTF-8 FILE > NEW.txt'],
  ['\xff\xfe', 'UTF-16', 'convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW.txt'],
  ['\xfe\xff', 'UTF-16', 'convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW.txt'],
]

/**
 * Reads the lines of a file that hold anything, or the field `text` of each line of a .jsonl file; of a folder its .txt files, in
 * the order of their names, each as one text. Byte order marks and the ends of lines do not count.
 *
 * @throws {FILE_MISSING} for a path without a file
 * @throws {BAD_FILE} for a file that cannot be read, is not a regular one, holds other bytes than UTF-8 or another format, or for
 *   one without any text
 */
export async function readTexts(path: string): Promise<TextFile> {
  const hash = createHash('sha256')
  const read = async (file: string) => {
    const bytes = await readWhole(file, MOST_BYTES)
    hash.update(bytes)
    return bytes
  }
  const isFolder = await stat(path).then(
    found => found.isDirectory(),
    () => false,
  )
  const texts: string[] = []
  if (isFolder) {
    const entries = await readdir(path, {withFileTypes: true})
    const files = entries.filter(entry => entry.name.endsWith('.txt') && !entry.isDirectory())
    for (const name of files.map(entry => entry.name).sort()) {
      hash.update(`${name}\n`)
      const file = join(path, name)
      texts.push(wholeText(textOf(file, await read(file))))
    }
  } else {
    texts.push(...linesOf(path, await read(path)))
  }
  const filled = texts.filter(text => text.trim() !== '')
  if (filled.length > 0) return {texts: filled, digest: hash.digest('hex')}
  throw expected('BAD_FILE', path, isFolder ? 'a text in .txt files' : 'texts, one a line', 'none')
}

/** The text of a file: its last line ends with the file. */
function wholeText(text: string): string {
  return text.split(LINE_ENDS).join('\n').replace(/\n$/, '')
}

function linesOf(path: string, bytes: Bytes): string[] {
  const extension = extname(path).toLowerCase()
  if (OTHER_FORMATS.includes(extension)) {
    const what = `texts, one a line, or a .jsonl file with lines as ${EXAMPLE}`
    throw expected('BAD_FILE', path, what, `a ${extension} file`, ONE_A_LINE)
  }
  const lines = textOf(path, bytes).split(LINE_ENDS)
  if (!['.jsonl', '.ndjson'].includes(extension)) return lines
  return lines.flatMap((line, at) =>
    line.trim() === '' ? [] : [fieldOf(`${path}, line ${at + 1}`, line)],
  )
}

function fieldOf(where: string, line: string): string {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    value = undefined
  }
  if (typeof value === 'object' && value !== null && 'text' in value) {
    if (typeof value.text === 'string') return value.text
  }
  const remedy = `give each line a field \`text\`, or ${ONE_A_LINE}`
  throw expected('BAD_FILE', where, `an object as ${EXAMPLE}`, describe(line), remedy)
}

function textOf(path: string, bytes: Bytes): string {
  const start = Buffer.from(bytes.subarray(0, 8)).toString('latin1')
  const [, what, remedy] = SIGNS.find(([sign]) => start.startsWith(sign)) ?? []
  if (what !== undefined) {
    throw expected('BAD_FILE', path, 'texts in UTF-8, one a line', what, remedy!)
  }
  const end = validBytes(bytes)
  if (end < bytes.length) {
    const iconv = 'convert it: iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW.txt'
    const found = `byte ${hex(bytes[end]!)}`
    throw expected('BAD_FILE', placeOf(path, bytes, end), 'UTF-8', found, iconv)
  }
  const zero = bytes.indexOf(0)
  if (zero >= 0) {
    const got = 'a byte 0x00: UTF-16 or no text'
    const iconv = 'convert UTF-16: iconv -f UTF-16LE -t UTF-8 FILE > NEW.txt'
    throw expected('BAD_FILE', placeOf(path, bytes, zero), 'texts in UTF-8', got, iconv)
  }
  return new TextDecoder().decode(bytes)
}

/** Bytes before the first that belongs to no letter of UTF-8. */
function validBytes(bytes: Bytes): number {
  const fits = (end: number, stream: boolean) => {
    try {
      new TextDecoder('utf-8', {fatal: true}).decode(bytes.subarray(0, end), {stream})
      return true
    } catch {
      return false
    }
  }
  if (fits(bytes.length, false)) return bytes.length
  // the most bytes that something could still follow
  let [low, high] = [0, bytes.length]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(middle, true)) low = middle
    else high = middle - 1
  }
  // of a letter that is cut off by the end, the first byte is at fault
  let start = low
  while (start > 0 && !fits(start, false)) start--
  return start
}

function placeOf(path: string, bytes: Bytes, at: number): string {
  const before = Buffer.from(bytes.subarray(0, at)).toString('latin1')
  return `${path}, line ${before.split(LINE_ENDS).length}, byte ${at + 1}`
}

function hex(byte: number): string {
  return `0x${byte.toString(16).padStart(2, '0')}`
}
