/** Writes zip archives byte by byte, wrong ones too. */
import {crc32, deflateRawSync} from 'node:zlib'

/** One member as the archive is to have it. */
export interface RawMember {
  name: string
  method: number
  crc: number
  size: number
  packed: Uint8Array
}

/** A member of deflated content. */
export function deflated(name: string, content: Uint8Array): RawMember {
  const packed = deflateRawSync(content, {level: 9})
  return {name, method: 8, crc: crc32(content), size: content.length, packed}
}

/** A member of content as it is. */
export function stored(name: string, content: Uint8Array): RawMember {
  return {name, method: 0, crc: crc32(content), size: content.length, packed: content}
}

/** Header and packed bytes of a member. */
export function localPart({name, method, crc, size, packed}: RawMember): Buffer {
  const header = Buffer.alloc(30)
  header.writeUInt32LE(0x04034b50, 0)
  header.writeUInt16LE(method, 8)
  header.writeUInt32LE(crc, 14)
  header.writeUInt32LE(packed.length, 18)
  header.writeUInt32LE(size, 22)
  header.writeUInt16LE(name.length, 26)
  return Buffer.concat([header, Buffer.from(name, 'latin1'), packed])
}

/** The directory entry of a member whose header is at `offset`. */
export function centralPart({name, method, crc, size, packed}: RawMember, offset: number): Buffer {
  const entry = Buffer.alloc(46)
  entry.writeUInt32LE(0x02014b50, 0)
  entry.writeUInt16LE(method, 10)
  entry.writeUInt32LE(crc, 16)
  entry.writeUInt32LE(packed.length, 20)
  entry.writeUInt32LE(size, 24)
  entry.writeUInt16LE(name.length, 28)
  entry.writeUInt32LE(offset, 42)
  return Buffer.concat([entry, Buffer.from(name, 'latin1')])
}

/** An archive of local parts, then its directory and its end. */
export function archiveOf(locals: readonly Buffer[], entries: readonly Buffer[]): Buffer {
  const body = Buffer.concat(locals)
  const directory = Buffer.concat(entries)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(body.length, 16)
  return Buffer.concat([body, directory, end])
}

/** An archive as it should be. */
export function zipOf(members: readonly RawMember[]): Buffer {
  const locals = members.map(localPart)
  let offset = 0
  const entries = members.map((member, index) => {
    const entry = centralPart(member, offset)
    offset += locals[index]!.length
    return entry
  })
  return archiveOf(locals, entries)
}

/** The directory entry of a member whose sizes and offset stand in fields of 64 bits. */
export function centralPart64(member: RawMember, offset: number): Buffer {
  const entry = centralPart({...member, size: 0, packed: new Uint8Array(0)}, 0)
  for (const at of [20, 24, 42]) entry.writeUInt32LE(0xffffffff, at)
  entry.writeUInt16LE(28, 30)
  const extra = Buffer.alloc(28)
  extra.writeUInt16LE(1, 0)
  extra.writeUInt16LE(24, 2)
  for (const [index, value] of [member.size, member.packed.length, offset].entries()) {
    extra.writeBigUInt64LE(BigInt(value), 4 + 8 * index)
  }
  return Buffer.concat([entry, extra])
}

/** Directory and end records of a zip64 archive whose members take `offset` bytes. */
export function zip64End(entries: readonly Buffer[], offset: number): Buffer {
  const directory = Buffer.concat(entries)
  const record = Buffer.alloc(56)
  record.writeUInt32LE(0x06064b50, 0)
  record.writeBigUInt64LE(44n, 4)
  record.writeBigUInt64LE(BigInt(entries.length), 24)
  record.writeBigUInt64LE(BigInt(entries.length), 32)
  record.writeBigUInt64LE(BigInt(directory.length), 40)
  record.writeBigUInt64LE(BigInt(offset), 48)
  const locator = Buffer.alloc(20)
  locator.writeUInt32LE(0x07064b50, 0)
  locator.writeBigUInt64LE(BigInt(offset + directory.length), 8)
  locator.writeUInt32LE(1, 16)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.fill(0xff, 8, 20)
  return Buffer.concat([directory, record, locator, end])
}

/** An archive in which everything that can have 64 bits has. */
export function zip64Of(members: readonly RawMember[]): Buffer {
  const locals = members.map(localPart)
  let offset = 0
  const entries = members.map((member, index) => {
    const entry = centralPart64(member, offset)
    offset += locals[index]!.length
    return entry
  })
  return Buffer.concat([...locals, zip64End(entries, offset)])
}
