import type {Hash} from 'node:crypto'
import {closest, describe, RfaError, shownName} from '../../errors.js'
import type {Dtype, NdArray} from '../nd-array.js'
import {refuseOther} from './content.js'
import type {ArrayExtension} from './formats.js'
import {recorded} from './recorded-source.js'
import {type ByteSource, openFile} from './source.js'

/** What a file says about one of its arrays, without reading it. */
export interface ArrayEntry {
  /** Element type as the file spells it, e.g. `F32` or `<f4`. */
  storedType: string
  /** The same as a {@link Dtype}; `null` for a type that cannot be read, e.g. Python objects or float8. */
  dtype: Dtype | null
  shape: number[]
  /** Length of its elements in bytes, unpacked. */
  bytes: number
}

/** An open file of named arrays: entries are known, elements are read one array at a time. */
export interface ArrayReader {
  readonly path: string
  /** In file order. */
  readonly entries: ReadonlyMap<string, ArrayEntry>
  /** Text in addition to the arrays; only .safetensors has any. */
  readonly metadata: Record<string, string>
  /** Members of an archive that hold no array by their names. Default: none */
  readonly otherMembers?: readonly string[] | undefined
  /**
   * Reads one array.
   *
   * @throws {ARRAY_MISSING} when no entry has that name
   * @throws {BAD_FILE} when its type cannot be read or its bytes are not what the file declares
   * @throws {TOO_LARGE} when it does not fit in memory
   */
  read(name: string): Promise<NdArray>
  /**
   * Feeds all bytes of the file into a hash, which then covers what was read before.
   *
   * @throws {FILE_CHANGED} when the file was changed since
   */
  hashInto(hash: Hash): Promise<void>
  close(): Promise<void>
}

/** What a format adds to an open file. */
interface FormatReader {
  entries: Map<string, ArrayEntry>
  metadata: Record<string, string>
  otherMembers?: readonly string[]
  /** Reads an array that is in `entries`. */
  read(name: string): Promise<NdArray>
}

/**
 * Opens a file in one format, and closes it again when its header is refused.
 *
 * @param path - as the user wrote it
 * @param extension - of the format
 * @param format - reads the header; called once
 * @throws {FILE_MISSING | BAD_FILE} see {@link openFile} and {@link refuseOther}, and what `format` throws
 */
export async function openReader(
  path: string,
  extension: ArrayExtension,
  format: (source: ByteSource) => Promise<FormatReader>,
): Promise<ArrayReader> {
  const source = recorded(await openFile(path))
  try {
    await refuseOther(source, extension)
    const {entries, metadata, otherMembers, read} = await format(source)
    return {
      path,
      entries,
      metadata,
      otherMembers,
      async read(name) {
        if (!entries.has(name)) throw missingArray(path, name, entries)
        return read(name)
      },
      hashInto: hash => source.hashInto(hash),
      close: () => source.close(),
    }
  } catch (error) {
    await source.close()
    throw error
  }
}

/**
 * Error for an array that a file does not have; lists what it has.
 *
 * @param more.suggestions - remedies other than "did you mean"
 * @param more.taken - arrays that have another role, so they are not meant
 */
export function missingArray(
  path: string,
  name: string,
  entries: ReadonlyMap<string, ArrayEntry>,
  {suggestions = [], taken = []}: {suggestions?: readonly string[]; taken?: readonly string[]} = {},
): RfaError {
  const others = [...entries.keys()].filter(other => !taken.includes(other))
  const guess = closest(name, others)
  const message = `${path}: expected an array ${describe(name)}, got ${listEntries(entries)}`
  return new RfaError('ARRAY_MISSING', message, {
    suggestions: [
      ...(guess === undefined ? [] : [`did you mean ${shownName(guess)}?`]),
      ...suggestions,
    ],
  })
}

/** More names than this are counted, not listed. */
const LISTED = 12

/** The arrays of a file as messages show them, e.g. `q [1, 4, 512, 64], k [1, 4, 512, 64]`. */
function listEntries(entries: ReadonlyMap<string, ArrayEntry>): string {
  if (entries.size === 0) return 'a file without arrays'
  const shown = [...entries]
    .slice(0, LISTED)
    .map(([name, {shape}]) => `${shownName(name)} ${describe(shape)}`)
  const rest = entries.size - shown.length
  return shown.join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}
