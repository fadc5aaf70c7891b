/**
 * Reading of zip archives, as far as .npz files use them: members stored or deflated, on one disk.
 * Members are found through the directory, so that one can be read without the others.
 */

import {Readable} from 'node:stream'
import {pipeline} from 'node:stream/promises'
import {constants, crc32, createInflateRaw} from 'node:zlib'
import {expected, messageOf, RfaError} from '../../errors.js'
import {assertMemory} from '../memory.js'
import type {Bytes} from './elements.js'
import {allocate, type ByteSource, truncated} from './source.js'
import {memberWhere, STORED, type ZipMember} from './zip-directory.js'

/** Bytes that {@link memberStart} unpacks at the least. */
const START_BYTES = 256
/** Packed bytes that may come before the first unpacked one: the code tables of a deflated block. */
const TABLE_BYTES = 1024
/** Bytes packed and unpacked at once. */
const CHUNK_BYTES = 2 ** 20

/**
 * Unpacks one member and checks its length and checksum.
 *
 * @throws {BAD_FILE} when the content is damaged or longer than declared
 * @throws {TOO_LARGE} when it does not fit in memory; nothing is unpacked then
 */
export async function readZipMember(source: ByteSource, member: ZipMember): Promise<Bytes> {
  const where = memberWhere(source, member)
  const {method, dataOffset, compressedSize, size, crc} = member
  const isStored = method === STORED
  // packed bytes are kept until the file is closed
  assertMemory(where, isStored ? size : size + compressedSize)
  const bytes = isStored
    ? await source.read(dataOffset, compressedSize)
    : await unpack(source, member)
  if (bytes.length !== size) {
    throw expected('BAD_FILE', where, `${size} bytes unpacked`, `${bytes.length}`)
  }
  if (checksum(bytes) !== crc) {
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

/**
 * Inflates a member piece by piece into its place, and stops as soon as there is more than declared.
 * The declared size was held against the packed bytes before, so that room is made for no other.
 */
async function unpack(source: ByteSource, member: ZipMember): Promise<Bytes> {
  const where = memberWhere(source, member)
  const bytes = allocate(where, member.size)
  let length = 0
  const collect = async (pieces: AsyncIterable<Uint8Array>) => {
    for await (const piece of pieces) {
      const end = length + piece.length
      if (end > member.size) {
        throw expected('BAD_FILE', where, `the declared ${member.size} bytes unpacked`, 'more')
      }
      bytes.set(piece, length)
      length = end
    }
  }
  const inflate = createInflateRaw({chunkSize: CHUNK_BYTES})
  try {
    await pipeline(Readable.from(packedPieces(source, member)), inflate, collect)
  } catch (cause) {
    throw cause instanceof RfaError ? cause : damaged(where, cause)
  }
  return bytes.subarray(0, length)
}

/** The packed bytes of a member, in pieces. */
async function* packedPieces(
  source: ByteSource,
  {dataOffset, compressedSize}: ZipMember,
): AsyncGenerator<Bytes> {
  for (let at = 0; at < compressedSize; at += CHUNK_BYTES) {
    yield source.read(dataOffset + at, Math.min(CHUNK_BYTES, compressedSize - at))
  }
}

/** CRC-32, in parts: zlib counts bytes in 32 bits. */
function checksum(bytes: Bytes): number {
  let crc = 0
  for (let at = 0; at < bytes.length; at += 2 ** 30) {
    crc = crc32(bytes.subarray(at, at + 2 ** 30), crc)
  }
  return crc
}

function damaged(where: string, cause: unknown): RfaError {
  const message = `${where}: expected deflated data, got damaged bytes (${messageOf(cause)})`
  return new RfaError('BAD_FILE', message, {cause})
}
