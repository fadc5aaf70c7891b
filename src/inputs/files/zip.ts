/**
 * Reading of zip archives, as far as .npz files use them: members stored or deflated, one disk,
 * below 4 GiB. Members are found through the directory, so that one can be read without the others.
 */

import {promisify} from 'node:util'
import {constants, crc32, createInflateRaw, inflateRaw} from 'node:zlib'
import {expected, messageOf, RfaError} from '../../errors.js'
import {assertMemory} from '../memory.js'
import type {Bytes} from './elements.js'
import {type ByteSource, truncated} from './source.js'
import {memberWhere, STORED, type ZipMember} from './zip-directory.js'

const inflate = promisify(inflateRaw)

/** Bytes that {@link memberStart} unpacks at the least. */
const START_BYTES = 256
/** Packed bytes that may come before the first unpacked one: the code tables of a deflated block. */
const TABLE_BYTES = 1024

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
  const packed = await source.read(member.dataOffset, member.compressedSize)
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
 * A member as a source of its first bytes: no more of it is unpacked than is read.
 *
 * @throws {BAD_FILE} on reading, when the packed bytes are damaged or end before
 */
export function memberStart(source: ByteSource, member: ZipMember): ByteSource {
  const where = memberWhere(source, member)
  let start: Bytes = new Uint8Array(0)
  return {
    where,
    size: member.size,
    async read(offset, length) {
      const end = offset + length
      if (end > start.length) start = await unpackStart(source, member, Math.max(end, START_BYTES))
      if (end > start.length) throw truncated(where, end, start.length)
      return start.slice(offset, end)
    },
    async close() {},
  }
}

/** The first `length` bytes of a member, or fewer where it is shorter. */
async function unpackStart(source: ByteSource, member: ZipMember, length: number): Promise<Bytes> {
  const {method, dataOffset, compressedSize} = member
  const room = method === STORED ? length : length + TABLE_BYTES
  const packed = await source.read(dataOffset, Math.min(room, compressedSize))
  if (method === STORED) return packed
  // a flush instead of an end: the packed bytes stop in the middle of the stream
  const stream = createInflateRaw({chunkSize: length, finishFlush: constants.Z_SYNC_FLUSH})
  stream.end(packed)
  try {
    // the first chunk is all that was asked for; leaving the loop ends the stream
    for await (const chunk of stream) return Uint8Array.from(chunk as Uint8Array)
    return new Uint8Array(0)
  } catch (cause) {
    throw damaged(memberWhere(source, member), cause)
  }
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
