/**
 * Reading of zip archives, as far as .npz files use them: members stored or deflated, one disk,
 * below 4 GiB. Members are found through the central directory, so that one can be read without the
 * others.
 *
 * Source: PKWARE APPNOTE.TXT 6.3, sections 4.3 to 4.5.
 */

import {promisify} from 'node:util'
import {constants, crc32, inflateRaw, inflateRawSync} from 'node:zlib'
import {expected, messageOf, RfaError} from '../../errors.js'
import {assertMemory} from '../memory.js'
import type {Bytes} from './elements.js'
import {type ByteSource, truncated} from './source.js'

const inflate = promisify(inflateRaw)

const LOCAL_SIGNATURE = 0x04034b50
const CENTRAL_SIGNATURE = 0x02014b50
const END_SIGNATURE = 0x06054b50
const END_BYTES = 22
const MAX_COMMENT_BYTES = 0xffff
const STORED = 0
const DEFLATED = 8

/** Deflate cannot shrink data more than this; a member that claims to is not what it says. */
const MAX_DEFLATE_RATIO = 1032

/** Compressed bytes that {@link peekMember} looks at. */
const PEEK_BYTES = 2 ** 14

/** One file of the archive. */
export interface ZipMember {
  name: string
  /** 0 stored, 8 deflated. */
  method: number
  crc: number
  compressedSize: number
  size: number
  localOffset: number
}

/**
 * Lists the members of an archive from its central directory.
 *
 * @throws {BAD_FILE} when it is no zip archive, is cut off, spans disks, uses zip64, encryption or
 *   a compression other than deflate, has two members of one name, or claims an impossible size
 */
export async function readZipMembers(source: ByteSource): Promise<ZipMember[]> {
  const {count, size, offset} = await readEnd(source)
  const directory = await source.read(offset, size)
  const members: ZipMember[] = []
  const names = new Set<string>()
  for (let at = 0; members.length < count; ) {
    const {member, length} = readCentralEntry(source, directory, at)
    if (names.has(member.name)) throw bad(source, `one member ${member.name}`, 'two of that name')
    names.add(member.name)
    members.push(member)
    at += length
  }
  return members
}

/**
 * Unpacks one member and checks its length and checksum.
 *
 * @throws {BAD_FILE} when the content is damaged or longer than declared
 * @throws {TOO_LARGE} when it does not fit in memory; nothing is unpacked then
 */
export async function readZipMember(source: ByteSource, member: ZipMember): Promise<Bytes> {
  const where = memberWhere(source, member)
  // unpacked once here, and once more as elements
  assertMemory(where, 2 * member.size + member.compressedSize)
  const packed = await readPacked(source, member, member.compressedSize)
  const bytes = member.method === STORED ? packed : await unpack(where, packed, member.size)
  if (bytes.length !== member.size) {
    throw expected('BAD_FILE', where, `${member.size} bytes unpacked`, `${bytes.length}`)
  }
  if (crc32(bytes) !== member.crc) {
    throw expected('BAD_FILE', where, 'the checksum of the archive', 'another: the file is damaged')
  }
  return bytes
}

/**
 * The first bytes of a member, at least 128 where it has as many, without unpacking the rest.
 *
 * @throws {BAD_FILE} when the packed bytes are damaged
 */
export async function peekMember(source: ByteSource, member: ZipMember): Promise<Bytes> {
  const packed = await readPacked(source, member, Math.min(PEEK_BYTES, member.compressedSize))
  if (member.method === STORED) return packed
  try {
    // a flush instead of an end: the packed bytes stop in the middle of the stream
    return new Uint8Array(inflateRawSync(packed, {finishFlush: constants.Z_SYNC_FLUSH}))
  } catch (cause) {
    throw damaged(memberWhere(source, member), cause)
  }
}

/** What messages call a member. */
export function memberWhere(source: ByteSource, member: ZipMember): string {
  return `${source.where}[${member.name}]`
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
  return {count, size, offset}
}

/**
 * One entry of the central directory and its length: 46 bytes, then name, extra fields and comment.
 */
function readCentralEntry(source: ByteSource, directory: Bytes, at: number) {
  const view = viewOf(directory)
  if (at + 46 > directory.length || view.getUint32(at, true) !== CENTRAL_SIGNATURE) {
    throw bad(source, 'a zip directory entry', 'other bytes: the archive is damaged')
  }
  const flags = view.getUint16(at + 8, true)
  const nameLength = view.getUint16(at + 28, true)
  const length = 46 + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true)
  if (at + length > directory.length) {
    throw bad(source, 'a whole zip directory entry', 'a part: the archive is damaged')
  }
  // bit 11 of the flags: the name is UTF-8
  const nameBytes = Buffer.from(directory.subarray(at + 46, at + 46 + nameLength))
  const member: ZipMember = {
    name: nameBytes.toString(flags & 0x800 ? 'utf8' : 'latin1'),
    method: view.getUint16(at + 10, true),
    crc: view.getUint32(at + 16, true),
    compressedSize: view.getUint32(at + 20, true),
    size: view.getUint32(at + 24, true),
    localOffset: view.getUint32(at + 42, true),
  }
  checkMember(source, member, flags)
  return {member, length}
}

/** Refuses what cannot be read, before any of it is. */
function checkMember(source: ByteSource, member: ZipMember, flags: number): void {
  const {method, compressedSize, size, localOffset} = member
  if ([compressedSize, size, localOffset].includes(0xffffffff)) throw zip64(source)
  const where = memberWhere(source, member)
  // bits 0, 6 and 13: encrypted, strongly encrypted, directory encrypted
  if (flags & 0x2041) {
    throw expected('BAD_FILE', where, 'a member that is not encrypted', 'an encrypted one')
  }
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

/** The first `length` packed bytes; the local header repeats the name, so it is measured. */
async function readPacked(source: ByteSource, member: ZipMember, length: number): Promise<Bytes> {
  const view = viewOf(await source.read(member.localOffset, 30))
  if (view.getUint32(0, true) !== LOCAL_SIGNATURE) {
    throw expected(
      'BAD_FILE',
      memberWhere(source, member),
      'a zip member where the directory says',
      'other bytes: the archive is damaged',
    )
  }
  const start = member.localOffset + 30 + view.getUint16(26, true) + view.getUint16(28, true)
  return source.read(start, length)
}

/** Inflates, and stops as soon as there is more than declared. */
async function unpack(where: string, packed: Bytes, size: number): Promise<Bytes> {
  try {
    const unpacked = await inflate(packed, {maxOutputLength: Math.max(1, size)})
    return new Uint8Array(unpacked.buffer as ArrayBuffer, unpacked.byteOffset, unpacked.length)
  } catch (cause) {
    const tooLong = (cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
    if (!tooLong) throw damaged(where, cause)
    throw expected('BAD_FILE', where, `the declared ${size} bytes unpacked`, 'more')
  }
}

function damaged(where: string, cause: unknown): RfaError {
  const message = `${where}: expected deflated data, got damaged bytes (${messageOf(cause)})`
  return new RfaError('BAD_FILE', message, {cause})
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
