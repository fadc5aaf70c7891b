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
import type {ByteSource} from './source.js'

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

/** Reads the bytes of one tensor; the header was checked, so they are there. */
async function readTensor(
  source: ByteSource,
  name: string,
  {dtype, storedType, shape, begin, bytes}: SafetensorsEntry,
): Promise<NdArray> {
  if (dtype === null) {
    const names = Object.values(SAFETENSORS_TYPES).join(', ')
    const hint = 'convert it to F32 first'
    throw expected(
      'BAD_FILE',
      `${source.where}[${shownName(name)}]`,
      `one of ${names}`,
      storedType,
      hint,
    )
  }
  // 16-bit floats are widened, which takes twice their bytes in addition
  const widened = dtype === 'float16' || dtype === 'bfloat16' ? 2 * bytes : 0
  assertMemory(source.where, bytes + widened)
  return {shape, dtype, data: decodeElements(await source.read(begin, bytes), dtype, true)}
}
