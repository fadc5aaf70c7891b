/** The .safetensors format: a checked header, then little-endian row-major tensors end to end. */
import {expected, shownName} from '../../errors.js'
import {assertMemory} from '../memory.js'
import {DTYPES, type NdArray} from '../nd-array.js'
import {type Bytes, decodeElements, encodeElements} from './elements.js'
import {type ArrayReader, openReader} from './reader.js'
import {
  readSafetensorsHeader,
  SAFETENSORS_TYPES,
  type SafetensorsEntry,
} from './safetensors-header.js'
import {type ByteSource, openFile} from './source.js'

/**
 * Opens a .safetensors file: only its header is read and checked.
 *
 * @throws {BAD_FILE} see {@link readSafetensorsHeader}
 */
export function openSafetensors(path: string): Promise<ArrayReader> {
  return openReader(path, '.safetensors', async source => {
    const {entries, metadata} = await readSafetensorsHeader(source)
    return {entries, metadata, read: name => readTensor(source, name, entries.get(name)!)}
  })
}

/**
 * The parts of a .safetensors file, to be written one after the other: the header, padded with
 * spaces to 8 bytes, then the tensors, widest type first so that each is aligned, by name among
 * equals.
 *
 * @param path - the file, in messages
 * @param arrays - each agrees with itself
 * @param metadata - left out of the file when empty
 * @throws {BAD_FILE} when an array is called `__metadata__`, which the format reserves
 */
export function* safetensorsParts(
  path: string,
  arrays: Readonly<Record<string, NdArray>>,
  metadata: Readonly<Record<string, string>>,
): Generator<Bytes> {
  const ordered = Object.entries(arrays).sort(
    ([nameA, a], [nameB, b]) =>
      DTYPES[b.dtype].bytes - DTYPES[a.dtype].bytes || (nameA < nameB ? -1 : 1),
  )
  const header = new Map<string, unknown>()
  if (Object.keys(metadata).length > 0) header.set('__metadata__', metadata)
  let end = 0
  for (const [name, {dtype, shape, data}] of ordered) {
    if (name === '__metadata__') {
      throw expected('BAD_FILE', path, 'another array name', '"__metadata__", which is reserved')
    }
    const begin = end
    end += data.length * DTYPES[dtype].bytes
    header.set(name, {dtype: SAFETENSORS_TYPES[dtype], shape, data_offsets: [begin, end]})
  }
  yield headerBytes(JSON.stringify(Object.fromEntries(header)))
  for (const [, array] of ordered) yield encodeElements(array)
}

/** Length in 8 bytes, then the text, padded with spaces to a multiple of 8. */
function headerBytes(json: string): Bytes {
  const text = Buffer.from(json, 'utf8')
  const length = Math.ceil(text.length / 8) * 8
  const bytes = new Uint8Array(8 + length).fill(0x20)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(length), true)
  bytes.set(text, 8)
  return bytes
}

/** Bytes that are read at once of a matrix of which rows are wanted. */
const PIECE_BYTES = 2 ** 23

/**
 * Rows of a matrix of floats, `[rows, columns]`. It is read in pieces of 8 MiB, from one wanted row to the next: a table of
 * embeddings may be larger than memory.
 *
 * @param name - of a float32, float16 or bfloat16 matrix in the file
 * @param rows - numbers of rows, in any order, more than once if need be
 * @throws {FILE_MISSING | BAD_FILE} as {@link openSafetensors} does
 */
export async function readRows(
  path: string,
  name: string,
  rows: Int32Array,
): Promise<Float32Array<ArrayBuffer>> {
  const source = await openFile(path)
  try {
    const {dtype, shape, begin, bytes} = (await readSafetensorsHeader(source)).entries.get(name)!
    const [count, columns] = shape as [number, number]
    const rowBytes = bytes / count
    const step = Math.max(1, Math.floor(PIECE_BYTES / rowBytes))
    const out = new Float32Array(rows.length * columns)
    const order = Uint32Array.from(rows.keys()).sort((a, b) => rows[a]! - rows[b]!)
    let piece: {first: number; end: number; bytes: Bytes} | undefined
    for (const place of order) {
      const row = rows[place]!
      if (!piece || row >= piece.end) {
        const end = Math.min(row + step, rows[order.at(-1)!]! + 1)
        const read = await source.read(begin + row * rowBytes, (end - row) * rowBytes)
        piece = {first: row, end, bytes: read}
      }
      const at = (row - piece.first) * rowBytes
      const own = decodeElements(piece.bytes.subarray(at, at + rowBytes), dtype!, true)
      out.set(own as Float32Array, place * columns)
    }
    return out
  } finally {
    await source.close()
  }
}

/** Reads the bytes of one tensor; the header was checked, so they are there. */
async function readTensor(
  source: ByteSource,
  name: string,
  {dtype, storedType, shape, begin, bytes}: SafetensorsEntry,
): Promise<NdArray> {
  if (dtype === null) {
    const names = Object.values(SAFETENSORS_TYPES).join(', ')
    const hint = 'save it as float32 with safetensors.torch.save_file: x.to(torch.float32)'
    const place = `${source.where}[${shownName(name)}]`
    throw expected('BAD_FILE', place, `one of ${names}`, storedType, hint)
  }
  // 16-bit floats are widened, which takes twice their bytes in addition
  const widened = dtype === 'float16' || dtype === 'bfloat16' ? 2 * bytes : 0
  assertMemory(source.where, bytes + widened)
  return {shape, dtype, data: decodeElements(await source.read(begin, bytes), dtype, true)}
}
