/**
 * The .npy format: magic, version, a header that is a Python dict literal, then the elements.
 *
 * Source: numpy.lib.format, https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
 */
import {endianness} from 'node:os'
import {basename, extname} from 'node:path'
import {describe, expected, messageOf, RfaError} from '../../errors.js'
import {assertMemory} from '../memory.js'
import {DTYPES, type Dtype, elementCount, isShape, type NdArray} from '../nd-array.js'
import {type Bytes, columnMajorToRowMajor, decodeElements, encodeElements} from './elements.js'
import {type PythonDict, type PythonValue, parsePythonLiteral} from './python-literal.js'
import {type ArrayEntry, type ArrayReader, openReader} from './reader.js'
import {type ByteSource, truncated} from './source.js'

const MAGIC = '\x93NUMPY'

/** Real headers have about a hundred bytes; a longer one than this is damage or an attack. */
const MAX_HEADER_BYTES = 2 ** 20

/** Type codes of the format; the byte order stands before them. */
const TYPE_CODES: ReadonlyMap<string, Dtype> = new Map([
  ['b1', 'bool'],
  ['i1', 'int8'],
  ['u1', 'uint8'],
  ['i2', 'int16'],
  ['u2', 'uint16'],
  ['i4', 'int32'],
  ['u4', 'uint32'],
  ['i8', 'int64'],
  ['u8', 'uint64'],
  ['f2', 'float16'],
  ['f4', 'float32'],
  ['f8', 'float64'],
])

/** What a .npy header says, and where the elements start. `bytes` of an unreadable type: all that follows. */
interface NpyHeader extends ArrayEntry {
  littleEndian: boolean
  /** Stored with the first axis fastest. */
  columnMajor: boolean
  dataOffset: number
}

/** Reads the header of a .npy source. @throws {BAD_FILE} when it is not a .npy header of version 1, 2 or 3 */
export async function readNpyHeader(source: ByteSource): Promise<NpyHeader> {
  const {text, dataOffset} = await headerText(source)
  const fields = headerFields(source.where, text)
  const {dtype, storedType, littleEndian} = typeOf(fields.get('descr') ?? null)
  const shape = fields.get('shape')
  const columnMajor = fields.get('fortran_order')
  if (!isShape(shape) || typeof columnMajor !== 'boolean') {
    const what = 'a header with descr, fortran_order (True or False) and shape (a tuple of sizes)'
    throw expected('BAD_FILE', source.where, what, describe(text.trim()))
  }
  const bytes =
    dtype === null ? source.size - dataOffset : elementCount(shape) * DTYPES[dtype].bytes
  return {storedType, dtype, shape, bytes, littleEndian, columnMajor, dataOffset}
}

/**
 * Reads the array of a .npy source, in row-major order whatever the file's.
 *
 * @throws {BAD_FILE} for structured, object, text, date and complex types, and when the elements
 *   are fewer or more than the shape asks
 * @throws {TOO_LARGE} when it does not fit in memory
 */
export async function readNpyArray(source: ByteSource): Promise<NdArray> {
  const header = await readNpyHeader(source)
  const {dtype, shape, bytes, dataOffset} = header
  if (dtype === null) throw unreadableType(source.where, header.storedType)
  checkLength(source, header)
  // reordering and byte swapping need a second copy
  assertMemory(source.where, header.columnMajor || !header.littleEndian ? 2 * bytes : bytes)
  const stored = await source.read(dataOffset, bytes)
  const data = decodeElements(stored, dtype, header.littleEndian)
  return {shape, dtype, data: header.columnMajor ? columnMajorToRowMajor(data, shape) : data}
}

/** Opens a .npy file; its one array is named after the file, without the extension. */
export function openNpy(path: string): Promise<ArrayReader> {
  return openReader(path, '.npy', async source => {
    const name = basename(path, extname(path))
    const header = await readNpyHeader(source)
    checkLength(source, header)
    return {entries: new Map([[name, header]]), metadata: {}, read: () => readNpyArray(source)}
  })
}

/**
 * The bytes of a .npy file of version 1.0, little-endian, row-major.
 *
 * @param array - bfloat16, which the format lacks, is written as float32 without loss
 * @returns header and elements, to be written one after the other
 */
export function npyParts(array: NdArray): [header: Bytes, elements: Bytes] {
  const stored: NdArray = array.dtype === 'bfloat16' ? {...array, dtype: 'float32'} : array
  const code = [...TYPE_CODES].find(([, dtype]) => dtype === stored.dtype)?.[0]
  const order = DTYPES[stored.dtype].bytes === 1 ? '|' : '<'
  const sizes = stored.shape.length === 1 ? `${stored.shape[0]},` : stored.shape.join(', ')
  const dict = `{'descr': '${order}${code}', 'fortran_order': False, 'shape': (${sizes}), }`
  // magic, version and length take 10 bytes; spaces and a newline bring the whole to 64
  const length = Math.ceil((10 + dict.length + 1) / 64) * 64 - 10
  const header = new Uint8Array(10 + length)
  header.set(Buffer.from(`${MAGIC}\x01\x00`, 'latin1'))
  new DataView(header.buffer).setUint16(8, length, true)
  header.set(Buffer.from(`${dict.padEnd(length - 1)}\n`, 'latin1'), 10)
  return [header, encodeElements(stored)]
}

/** Checks that header and elements are the whole source. */
function checkLength(source: ByteSource, {storedType, shape, bytes, dataOffset}: NpyHeader): void {
  const end = dataOffset + bytes
  if (end > source.size) throw truncated(source.where, end, source.size)
  if (end < source.size) {
    const what = `${bytes} bytes of elements for ${storedType} ${describe(shape)}`
    throw expected('BAD_FILE', source.where, what, `${source.size - dataOffset}`)
  }
}

/**
 * The text of the header: magic, two bytes of version, the length (2 bytes in version 1, else 4,
 * little-endian), then latin-1 text, which version 3 replaces by UTF-8.
 */
async function headerText(source: ByteSource): Promise<{text: string; dataOffset: number}> {
  const start = await source.read(0, Math.min(12, source.size))
  const magic = Buffer.from(start.subarray(0, 6)).toString('latin1')
  const version = start[6] ?? 0
  if (magic !== MAGIC || start.length < 12 || version < 1 || version > 3) {
    const got = magic === MAGIC ? `version ${version}` : 'other content'
    throw expected('BAD_FILE', source.where, 'a .npy array of version 1, 2 or 3', got)
  }
  const view = new DataView(start.buffer, start.byteOffset)
  const offset = version === 1 ? 10 : 12
  const length = version === 1 ? view.getUint16(8, true) : view.getUint32(8, true)
  if (length > MAX_HEADER_BYTES) {
    const what = `a .npy header of at most ${MAX_HEADER_BYTES} bytes`
    throw expected('BAD_FILE', source.where, what, `${length}`)
  }
  const bytes = Buffer.from(await source.read(offset, length))
  return {text: bytes.toString(version === 3 ? 'utf8' : 'latin1'), dataOffset: offset + length}
}

/** The dict of the header; the literal is parsed, never evaluated. */
function headerFields(where: string, text: string): PythonDict {
  try {
    const value = parsePythonLiteral(text)
    if (value instanceof Map) return value
    throw new SyntaxError('expected a dict')
  } catch (cause) {
    const message = `${where}: expected a .npy header that is a Python dict: ${messageOf(cause)}`
    throw new RfaError('BAD_FILE', message, {cause})
  }
}

/**
 * The element type of a `descr`: text of byte order and type code, e.g. `<f4`; `|` where order
 * means nothing. A list describes records, which have no element type here.
 */
function typeOf(descr: PythonValue) {
  const storedType = typeof descr === 'string' ? descr : 'a structured type'
  const [, order, code] = /^([<>|=]?)(.+)$/s.exec(storedType) ?? []
  const dtype = typeof descr === 'string' ? (TYPE_CODES.get(code ?? '') ?? null) : null
  const littleEndian = order === '>' ? false : order === '=' ? endianness() === 'LE' : true
  return {storedType, dtype, littleEndian}
}

/** How an array of a type that cannot be read becomes one that can, by the code of its type. */
const REMEDIES: readonly [RegExp, string][] = [
  [/O$/, 'Python objects are never unpickled: save numpy.array(x, dtype="float32")'],
  [/^[<>|=]?f/, 'save x.astype("float64") or x.astype("float32")'],
  [/^[<>|=]?c/, 'save real and imaginary part as two arrays: x.real and x.imag'],
  [/^[<>|=]?[Mm]/, 'attention takes numbers: save dates and durations as x.astype("float64")'],
  [/^[<>|=]?[SU]/, 'attention takes numbers, not text: save the file without this array'],
  [/V2$/, 'bfloat16 arrays lose their type in .npy: save float32, or use .safetensors'],
  [/V1$/, 'arrays of float8 lose their type in .npy: save x.astype("float32")'],
  [/V\d+$/, 'raw bytes have no numbers: save x.view of their type, as float32'],
  [/^a structured type$/, 'save each field as a separate array: x["NAME"]'],
]

/** Error for a type that cannot be read, with the way out. */
function unreadableType(where: string, storedType: string): RfaError {
  const remedy = REMEDIES.find(([type]) => type.test(storedType))?.[1]
  const wide = /^[<>|=]?(f16|f12|f10)$/.test(storedType) ? ' (float128)' : ''
  const what = `elements of ${[...TYPE_CODES.values()].join(', ')}`
  const advice = remedy ?? 'save x.astype("float32")'
  return expected('BAD_FILE', where, what, `${describe(storedType)}${wide}`, advice)
}
