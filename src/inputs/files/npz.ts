/** The .npz format: a zip archive with one .npy member per array. */
import {type Zippable, zipSync} from 'fflate'
import {expected, shownName} from '../../errors.js'
import {DTYPES, elementCount, type NdArray} from '../nd-array.js'
import {npyParts, readNpyArray, readNpyHeader} from './npy.js'
import {type ArrayEntry, type ArrayReader, openReader} from './reader.js'
import {type ByteSource, memorySource} from './source.js'
import {memberStart, readZipMember} from './zip.js'
import {memberWhere, readZipMembers, type ZipMember} from './zip-directory.js'

const SUFFIX = '.npy'

/** Zip sizes and offsets have 32 bits; a sixteenth of them is left for headers and incompressible data. */
const MAX_ELEMENT_BYTES = 15 * 2 ** 28

/**
 * Opens a .npz file; an array is named by its member without `.npy`, members of other kinds are
 * passed over, as NumPy does, and those of macOS.
 *
 * @throws {BAD_FILE} when the archive or the header of an array cannot be read, see {@link
 *   readZipMembers}
 */
export function openNpz(path: string): Promise<ArrayReader> {
  return openReader(path, '.npz', async source => {
    const members = new Map<string, ZipMember>()
    const entries = new Map<string, ArrayEntry>()
    const otherMembers: string[] = []
    for (const member of await readZipMembers(source)) {
      // what macOS adds to archives: `__MACOSX/._q.npy` goes with `q.npy` and holds no array
      if (member.name.startsWith('__MACOSX/')) continue
      if (!member.name.endsWith(SUFFIX)) {
        otherMembers.push(member.name)
        continue
      }
      const name = member.name.slice(0, -SUFFIX.length)
      members.set(name, member)
      entries.set(name, await memberEntry(source, member))
    }
    const read = async (name: string) => {
      const member = members.get(name)!
      return readNpyArray(
        memorySource(memberWhere(source, member), await readZipMember(source, member)),
      )
    }
    if (entries.size === 0 && otherMembers.length > 0) throw noArrays(path, otherMembers)
    return {entries, metadata: {}, otherMembers, read}
  })
}

/**
 * The bytes of a .npz file: deflated members without times, so that equal arrays give equal bytes.
 *
 * @param path - the file, in messages
 * @throws {TOO_LARGE} when the arrays need more than a zip archive without zip64 can hold
 */
export function npzBytes(path: string, arrays: Readonly<Record<string, NdArray>>): Uint8Array {
  const total = Object.values(arrays).reduce(
    (sum, {shape, dtype}) => sum + elementCount(shape) * DTYPES[dtype].bytes,
    0,
  )
  if (total > MAX_ELEMENT_BYTES) {
    const hint = 'write a .safetensors file'
    const what = `at most ${MAX_ELEMENT_BYTES} bytes of arrays`
    throw expected('TOO_LARGE', path, what, `${total}`, hint)
  }
  const files: Zippable = {}
  for (const [name, array] of Object.entries(arrays)) {
    // the earliest time that zip can hold, in the local time that it holds
    const options = {level: 6, mtime: new Date(1980, 0, 1)} as const
    files[name + SUFFIX] = [Buffer.concat(npyParts(array)), options]
  }
  return zipSync(files)
}

function noArrays(path: string, members: readonly string[]) {
  const got = members.slice(0, 4).map(shownName).join(', ')
  const remedy = 'write it with numpy.savez: arrays are members that end in .npy'
  return expected('BAD_FILE', path, `members such as q${SUFFIX}`, got, remedy)
}

/** Shape and type of a member from its first bytes; the rest stays packed. */
async function memberEntry(source: ByteSource, member: ZipMember): Promise<ArrayEntry> {
  const {storedType, dtype, shape, bytes} = await readNpyHeader(memberStart(source, member))
  return {storedType, dtype, shape, bytes}
}
