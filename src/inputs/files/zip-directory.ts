/**
 * The directory of a zip archive: which members there are, and where. Nothing is believed that is said
 * only once: the directory is held against the header before each member, and must fill its place.
 *
 * Source: PKWARE APPNOTE.TXT 6.3, sections 4.3 to 4.5.
 */
import {expected, type RfaError, shownName} from '../../errors.js'
import type {Bytes} from './elements.js'
import {type ByteSource, truncated} from './source.js'

const LOCAL_SIGNATURE = 0x04034b50
const LOCAL_BYTES = 30
const CENTRAL_SIGNATURE = 0x02014b50
const CENTRAL_BYTES = 46
const END_SIGNATURE = 0x06054b50
const END_BYTES = 22
const ZIP64_LOCATOR_SIGNATURE = 0x07064b50
const ZIP64_LOCATOR_BYTES = 20
const MAX_COMMENT_BYTES = 0xffff
/** Real directories have some 60 bytes per member, of which there are at most 65534. */
const MAX_DIRECTORY_BYTES = 2 ** 26
export const STORED = 0
export const DEFLATED = 8

/** Deflate cannot shrink data more than this; a member that claims to is not what it says. */
const MAX_DEFLATE_RATIO = 1032

/** Bits 0, 6 and 13 of the flags: encrypted, strongly encrypted, directory encrypted. */
const ENCRYPTED = 0x2041
/** Bit 11: the name is UTF-8. */
const UTF8 = 0x800

/** One file of the archive. */
export interface ZipMember {
  name: string
  /** 0 stored, 8 deflated. */
  method: number
  crc: number
  compressedSize: number
  size: number
  /** Where its header starts. */
  localOffset: number
  /** Where its packed bytes start. */
  dataOffset: number
}

/** A member as the directory has it. */
type CentralEntry = Omit<ZipMember, 'dataOffset'>

/**
 * Lists the members of an archive.
 *
 * @throws {BAD_FILE} when it is no zip archive, is cut off, spans disks, uses zip64, encryption or
 *   a compression other than deflate, has two members of one name or of shared bytes, claims an
 *   impossible size, or when directory and members tell of different things
 */
export async function readZipMembers(source: ByteSource): Promise<ZipMember[]> {
  const {count, size, offset} = await readEnd(source)
  const directory = await source.read(offset, size)
  const entries = readEntries(source, directory, count)
  const members: ZipMember[] = []
  for (const entry of entries) {
    members.push({...entry, dataOffset: await dataOffset(source, entry)})
  }
  checkPlaces(source, members, offset)
  return members
}

/** What messages call a member. */
export function memberWhere(source: ByteSource, {name}: Pick<ZipMember, 'name'>): string {
  return `${source.where}[${shownName(name)}]`
}

/** The entries of the directory, which they must fill. */
function readEntries(source: ByteSource, directory: Bytes, count: number): CentralEntry[] {
  const entries: CentralEntry[] = []
  const names = new Set<string>()
  let at = 0
  while (entries.length < count) {
    const {entry, length} = readCentralEntry(source, directory, at)
    const {name} = entry
    if (names.has(name)) throw bad(source, `one member ${shownName(name)}`, 'two of that name')
    names.add(name)
    entries.push(entry)
    at += length
  }
  if (at === directory.length) return entries
  const got = `one with ${directory.length - at} bytes more: the archive is damaged`
  throw bad(source, `a directory of ${count} zip members`, got)
}

/**
 * Where the packed bytes of a member start: behind its own header, which must name the same thing.
 */
async function dataOffset(source: ByteSource, entry: CentralEntry): Promise<number> {
  const {localOffset, name, method} = entry
  const view = viewOf(await source.read(localOffset, LOCAL_BYTES))
  const where = memberWhere(source, entry)
  if (view.getUint32(0, true) !== LOCAL_SIGNATURE) {
    const got = 'other bytes: the archive is damaged'
    throw expected('BAD_FILE', where, 'a zip member where the directory says', got)
  }
  const flags = view.getUint16(6, true)
  const nameLength = view.getUint16(26, true)
  const nameStart = localOffset + LOCAL_BYTES
  const localName = nameOf(await source.read(nameStart, nameLength), flags)
  if (localName !== name) {
    const what = 'the same name before the member as in the directory'
    throw expected('BAD_FILE', where, what, `${shownName(localName)}: the archive is damaged`)
  }
  if (view.getUint16(8, true) !== method) {
    const got = `zip method ${view.getUint16(8, true)} there: the archive is damaged`
    throw expected('BAD_FILE', where, `zip method ${method}, as the directory says`, got)
  }
  if (flags & ENCRYPTED) throw encrypted(where)
  return nameStart + nameLength + view.getUint16(28, true)
}

/** No byte belongs to two members, nor to a member and the directory. */
function checkPlaces(source: ByteSource, members: readonly ZipMember[], directory: number): void {
  const ordered = [...members].sort((a, b) => a.localOffset - b.localOffset)
  for (const [index, member] of ordered.entries()) {
    const next = ordered[index + 1]
    const end = member.dataOffset + member.compressedSize
    const room = next?.localOffset ?? directory
    if (end <= room) continue
    const other = next ? memberWhere(source, next) : 'the directory'
    const got = `${end - room} bytes shared with ${other}`
    throw expected('BAD_FILE', memberWhere(source, member), 'packed bytes of its own', got)
  }
}

/** Finds the end record: the last 22 bytes, unless an archive comment follows it. */
async function readEnd(source: ByteSource) {
  const length = Math.min(source.size, END_BYTES + MAX_COMMENT_BYTES)
  const tail = await source.read(source.size - length, length)
  const view = viewOf(tail)
  for (let at = length - END_BYTES; at >= 0; at--) {
    if (view.getUint32(at, true) !== END_SIGNATURE) continue
    if (at + END_BYTES + view.getUint16(at + 20, true) !== length) continue
    return checkedEnd(source, view, at, source.size - length + at)
  }
  throw bad(source, 'a zip archive', 'none, or one that is cut off')
}

/**
 * Count, size and offset of the central directory.
 *
 * @param at - of the end record in `view`
 * @param position - of the end record in the archive: the directory lies before it
 */
function checkedEnd(source: ByteSource, view: DataView, at: number, position: number) {
  const disks = [4, 6].map(field => view.getUint16(at + field, true))
  const count = view.getUint16(at + 10, true)
  const size = view.getUint32(at + 12, true)
  const offset = view.getUint32(at + 16, true)
  if (count === 0xffff || size === 0xffffffff || offset === 0xffffffff) throw zip64(source)
  if (disks.some(disk => disk !== 0) || view.getUint16(at + 8, true) !== count) {
    throw bad(source, 'a zip archive in one piece', 'one that spans disks')
  }
  if (offset + size > position) throw truncated(source.where, offset + size, position)
  if (isZip64(view, at)) throw zip64(source)
  if (offset + size < position) {
    const got = `${position - offset - size} bytes between: the archive is damaged`
    throw bad(source, 'a zip directory that the end record follows', got)
  }
  if (size > MAX_DIRECTORY_BYTES) {
    throw bad(source, `a zip directory of at most ${MAX_DIRECTORY_BYTES} bytes`, `${size}`)
  }
  return {count, size, offset}
}

/** Whether the locator of a zip64 end record stands before the end record. */
function isZip64(view: DataView, at: number): boolean {
  const locator = at - ZIP64_LOCATOR_BYTES
  return locator >= 0 && view.getUint32(locator, true) === ZIP64_LOCATOR_SIGNATURE
}

/**
 * One entry of the central directory and its length: 46 bytes, then name, extra fields and comment.
 */
function readCentralEntry(source: ByteSource, directory: Bytes, at: number) {
  const view = viewOf(directory)
  if (at + CENTRAL_BYTES > directory.length || view.getUint32(at, true) !== CENTRAL_SIGNATURE) {
    throw bad(source, 'a zip directory entry', 'other bytes: the archive is damaged')
  }
  const flags = view.getUint16(at + 8, true)
  const nameStart = at + CENTRAL_BYTES
  const nameEnd = nameStart + view.getUint16(at + 28, true)
  const end = nameEnd + view.getUint16(at + 30, true) + view.getUint16(at + 32, true)
  if (end > directory.length) {
    throw bad(source, 'a whole zip directory entry', 'a part: the archive is damaged')
  }
  const entry: CentralEntry = {
    name: nameOf(directory.subarray(nameStart, nameEnd), flags),
    method: view.getUint16(at + 10, true),
    crc: view.getUint32(at + 16, true),
    compressedSize: view.getUint32(at + 20, true),
    size: view.getUint32(at + 24, true),
    localOffset: view.getUint32(at + 42, true),
  }
  checkEntry(source, entry, flags)
  return {entry, length: end - at}
}

function nameOf(bytes: Bytes, flags: number): string {
  return Buffer.from(bytes).toString(flags & UTF8 ? 'utf8' : 'latin1')
}

/** Refuses what cannot be read, before any of it is. */
function checkEntry(source: ByteSource, entry: CentralEntry, flags: number): void {
  const {method, compressedSize, size, localOffset} = entry
  if ([compressedSize, size, localOffset].includes(0xffffffff)) throw zip64(source)
  const where = memberWhere(source, entry)
  if (flags & ENCRYPTED) throw encrypted(where)
  if (method !== STORED && method !== DEFLATED) {
    const hint = 'numpy.savez and numpy.savez_compressed write what is expected'
    throw expected('BAD_FILE', where, 'stored or deflated data', `zip method ${method}`, hint)
  }
  const most = method === STORED ? compressedSize : compressedSize * MAX_DEFLATE_RATIO
  if (size > most) {
    throw expected(
      'BAD_FILE',
      where,
      `at most ${most} bytes from ${compressedSize} packed ones`,
      `a declared size of ${size}`,
    )
  }
}

function encrypted(where: string): RfaError {
  return expected('BAD_FILE', where, 'a member that is not encrypted', 'an encrypted one')
}

function zip64(source: ByteSource): RfaError {
  return expected(
    'BAD_FILE',
    source.where,
    'a zip archive below 4 GiB with fewer than 65535 members',
    'a zip64 archive',
    'save the arrays as .safetensors, or in several .npz files',
  )
}

function bad(source: ByteSource, what: string, got: string): RfaError {
  return expected('BAD_FILE', source.where, what, got)
}

/** Little-endian fields of bytes. */
function viewOf(bytes: Bytes): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
}
