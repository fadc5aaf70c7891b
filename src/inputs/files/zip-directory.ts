/**
 * The directory of a zip archive: which members there are, and where. yauzl reads the records; what it
 * believes because it is said once is held here against what is said a second time: the directory
 * against the record of its end and the header before each member, and all of them must fill their place.
 *
 * Source: PKWARE APPNOTE.TXT 6.3, sections 4.3 to 4.5.
 */
import {type Entry, fromRandomAccessReaderPromise, RandomAccessReader, type ZipFile} from 'yauzl'
import {expected, messageOf, RfaError, shownName} from '../../errors.js'
import type {Bytes} from './elements.js'
import type {ByteSource} from './source.js'

export const STORED = 0
const DEFLATED = 8
/** Deflate cannot shrink data more than this; a member that claims to is not what it says. */
const MAX_DEFLATE_RATIO = 1032

/** Real directories have some 60 bytes per member. */
const MAX_DIRECTORY_BYTES = 2 ** 26
const END_BYTES = 22
/** The end record of zip64 and its locator, which stand between the directory and its end record. */
const ZIP64_END_BYTES = 56
const ZIP64_BYTES = ZIP64_END_BYTES + 20
const ZIP64_END_SIGNATURE = 0x06064b50

/** Bits 0, 6 and 13 of the flags: encrypted, strongly encrypted, directory encrypted. */
const ENCRYPTED = 0x2041
/** Bit 11: the name is UTF-8. */
const UTF8 = 0x800

const ARCHIVE = 'a zip archive in one piece'
const MEMBER = 'a zip member where the directory says'

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

/**
 * Lists the members of an archive; zip64 is read, so that archive and members may pass 4 GiB.
 *
 * @throws {BAD_FILE} when it is not a zip archive, is cut off, spans disks, uses encryption or a
 *   compression other than deflate, has two members of one name or of shared bytes, claims an impossible size, or
 *   when directory and members disagree
 */
export async function readZipMembers(source: ByteSource): Promise<ZipMember[]> {
  const options = {autoClose: false, decodeStrings: false, validateEntrySizes: false}
  const opened = fromRandomAccessReaderPromise(new SourceReader(source), source.size, options)
  const zip = await orBadFile(source.where, ARCHIVE, opened)
  const start = Number(zip.readEntryCursor)
  const entries = await orBadFile(source.where, ARCHIVE, readEntries(source, zip, start))
  await checkEnd(source, zip, [entries.length, Number(zip.readEntryCursor) - start, start])
  const members: ZipMember[] = []
  for (const entry of entries) members.push(await memberOf(source, zip, entry))
  checkNames(source, members)
  checkPlaces(source, members, start)
  return members
}

/** What messages call a member. */
export function memberWhere(source: ByteSource, {name}: Pick<ZipMember, 'name'>): string {
  return `${source.where}[${shownName(name)}]`
}

/** Gives yauzl the bytes of a source. */
class SourceReader extends RandomAccessReader {
  constructor(private readonly source: ByteSource) {
    super()
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void,
  ): void {
    this.source.read(position, length).then(bytes => {
      buffer.set(bytes, offset)
      callback(null)
    }, callback)
  }
}

/** All entries of the directory, which starts at a place. */
async function readEntries(source: ByteSource, zip: ZipFile, start: number): Promise<Entry[]> {
  const entries: Entry[] = []
  for await (const entry of zip.eachEntry()) {
    entries.push(entry)
    if (Number(zip.readEntryCursor) - start <= MAX_DIRECTORY_BYTES) continue
    throw bad(source, `a zip directory of at most ${MAX_DIRECTORY_BYTES} bytes`, 'more')
  }
  return entries
}

/** Entries must be complete by the end records, and reach up to them. @param found - their number, bytes and place */
async function checkEnd(
  source: ByteSource,
  zip: ZipFile,
  found: readonly [count: number, size: number, start: number],
): Promise<void> {
  const end = Number(zip.readEntryCursor)
  const endRecord = source.size - END_BYTES - zip.comment.length
  const between = endRecord - end
  if (between !== 0 && !(between === ZIP64_BYTES && (await isZip64End(source, end)))) {
    const got = `${between} bytes between: the archive is damaged`
    throw bad(source, 'a zip directory that its end record follows', got)
  }
  const view = viewOf(await source.read(endRecord, END_BYTES))
  const said = [view.getUint16(10, true), view.getUint32(12, true), view.getUint32(16, true)]
  // zip64 writes what does not fit as all ones
  const all = [0xffff, 0xffffffff, 0xffffffff]
  if (found.every((value, i) => said[i] === value || said[i] === all[i])) return
  const what = `a zip directory of ${found[0]} members, ${found[1]} bytes at ${found[2]}`
  throw bad(source, what, `an end record of ${said.join(', ')}: the archive is damaged`)
}

/** Whether the end record of zip64 stands at a place, and its locator behind it points there. */
async function isZip64End(source: ByteSource, at: number): Promise<boolean> {
  const view = viewOf(await source.read(at, ZIP64_BYTES))
  const located = view.getBigUint64(ZIP64_END_BYTES + 8, true)
  return view.getUint32(0, true) === ZIP64_END_SIGNATURE && located === BigInt(at)
}

/** A member of the directory; its header must name the same thing. */
async function memberOf(source: ByteSource, zip: ZipFile, entry: Entry): Promise<ZipMember> {
  const flags = entry.generalPurposeBitFlag
  const name = nameOf(entry.fileNameRaw, flags)
  const method = entry.compressionMethod
  const where = memberWhere(source, {name})
  checkEntry(where, entry)
  const header = await orBadFile(where, MEMBER, zip.readLocalFileHeaderPromise(entry))
  const localName = nameOf(header.fileName, header.generalPurposeBitFlag)
  if (localName !== name) {
    const what = 'the same name before the member as in the directory'
    throw expected('BAD_FILE', where, what, `${shownName(localName)}: the archive is damaged`)
  }
  if (header.compressionMethod !== method) {
    const got = `zip method ${header.compressionMethod} there: the archive is damaged`
    throw expected('BAD_FILE', where, `zip method ${method}, as the directory says`, got)
  }
  if (header.generalPurposeBitFlag & ENCRYPTED) throw encrypted(where)
  return {
    name,
    method,
    crc: entry.crc32,
    compressedSize: entry.compressedSize,
    size: entry.uncompressedSize,
    localOffset: entry.relativeOffsetOfLocalHeader,
    dataOffset: header.fileDataStart,
  }
}

/** Refuses what cannot be read, before any of it is. */
function checkEntry(where: string, entry: Entry): void {
  const {compressionMethod: method, compressedSize, uncompressedSize: size} = entry
  if (entry.generalPurposeBitFlag & ENCRYPTED) throw encrypted(where)
  if (method !== STORED && method !== DEFLATED) {
    const hint = 'numpy.savez and numpy.savez_compressed write what is expected'
    throw expected('BAD_FILE', where, 'stored or deflated data', `zip method ${method}`, hint)
  }
  const most = method === STORED ? compressedSize : compressedSize * MAX_DEFLATE_RATIO
  if (size <= most) return
  const what = `at most ${most} bytes from ${compressedSize} packed ones`
  throw expected('BAD_FILE', where, what, `a declared size of ${size}`)
}

function checkNames(source: ByteSource, members: readonly ZipMember[]): void {
  const names = new Set<string>()
  for (const {name} of members) {
    if (names.has(name)) throw bad(source, `one member ${shownName(name)}`, 'two of that name')
    names.add(name)
  }
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
    const what = 'packed bytes that no other member has'
    throw expected('BAD_FILE', memberWhere(source, member), what, got)
  }
}

function nameOf(bytes: Uint8Array, flags: number): string {
  return Buffer.from(bytes).toString(flags & UTF8 ? 'utf8' : 'latin1')
}

function encrypted(where: string): RfaError {
  return expected('BAD_FILE', where, 'a member that is not encrypted', 'an encrypted one')
}

function bad(source: ByteSource, what: string, got: string): RfaError {
  return expected('BAD_FILE', source.where, what, got)
}

/** Passes on what yauzl found; what it refuses becomes BAD_FILE with its reason. */
async function orBadFile<T>(where: string, what: string, result: Promise<T>): Promise<T> {
  try {
    return await result
  } catch (cause) {
    if (cause instanceof RfaError) throw cause
    const message = `${where}: expected ${what}, got other or damaged bytes (${messageOf(cause)})`
    const suggestions = ['copy or write it again: it is damaged or was cut off']
    throw new RfaError('BAD_FILE', message, {suggestions, cause})
  }
}

/** Little-endian fields of bytes. */
function viewOf(bytes: Bytes): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
}
