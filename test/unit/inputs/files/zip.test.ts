import {deflateRawSync} from 'node:zlib'
import fc from 'fast-check'
import {strToU8, zipSync} from 'fflate'
import {describe, expect, test} from 'vitest'
import {type ByteSource, memorySource} from '../../../../src/inputs/files/source.js'
import {memberStart, readZipMember} from '../../../../src/inputs/files/zip.js'
import {readZipMembers} from '../../../../src/inputs/files/zip-directory.js'
import {
  archiveOf,
  centralPart,
  centralPart64,
  deflated,
  localPart,
  stored,
  zip64End,
  zip64Of,
  zipOf,
} from '../../../helpers/zip-writer.js'

const owned = (bytes: Uint8Array) => Uint8Array.from(bytes)
const sourceOf = (bytes: Uint8Array): ByteSource => memorySource('a.npz', owned(bytes))

async function unzip(source: ByteSource): Promise<Record<string, Uint8Array>> {
  const out: Record<string, Uint8Array> = {}
  for (const member of await readZipMembers(source)) {
    out[member.name] = await readZipMember(source, member)
  }
  return out
}

/** An archive of one member, and where its central entry and its end record start. */
function archive(level: 0 | 6 = 6) {
  const bytes = Buffer.from(zipSync({'q.npy': strToU8('attention '.repeat(30))}, {level}))
  const central = bytes.indexOf(Buffer.from('PK\x01\x02'))
  const end = bytes.indexOf(Buffer.from('PK\x05\x06'))
  return {bytes, central, end}
}

test('members come back whatever their content and compression', async () => {
  const contents = fc.dictionary(
    fc.stringMatching(/^[a-z]{1,8}\.npy$/),
    fc.tuple(fc.uint8Array({maxLength: 300}), fc.constantFrom(0 as const, 6 as const)),
    {maxKeys: 5},
  )
  await fc.assert(
    fc.asyncProperty(contents, async files => {
      const packed = zipSync(
        Object.fromEntries(Object.entries(files).map(([n, [data, level]]) => [n, [data, {level}]])),
      )
      const unpacked = await unzip(sourceOf(packed))
      expect(Object.keys(unpacked).sort()).toEqual(Object.keys(files).sort())
      for (const [name, [data]] of Object.entries(files)) {
        expect([...unpacked[name]!]).toEqual([...data])
      }
    }),
    {numRuns: 50},
  )
})

/** A zip64 archive of two members, and where its directory and its own end record start. */
function archive64() {
  const members = [stored('k.npy', strToU8('keys')), deflated('q.npy', strToU8('queries'))]
  const bytes = zip64Of(members)
  const central = bytes.indexOf(Buffer.from('PK\x01\x02'))
  const record = bytes.indexOf(Buffer.from('PK\x06\x06'))
  return {bytes, central, record}
}

test('fields of 64 bits are read', async () => {
  const {bytes} = archive64()
  const found = Object.entries(await unzip(sourceOf(bytes)))
  expect(found.map(([name, content]) => [name, Buffer.from(content).toString()])).toEqual([
    ['k.npy', 'keys'],
    ['q.npy', 'queries'],
  ])
})

test('an archive comment does not hide the end record', async () => {
  const {bytes, end} = archive()
  bytes.writeUInt16LE(7, end + 20)
  const withComment = Buffer.concat([bytes, Buffer.from('comment')])
  expect(Object.keys(await unzip(sourceOf(withComment)))).toEqual(['q.npy'])
})

test('the start of a member is read without the rest', async () => {
  const content = Uint8Array.from({length: 100_000}, (_, i) => (i * i) % 251)
  const source = sourceOf(zipSync({deflated: content, stored: [content, {level: 0}]}))
  for (const member of await readZipMembers(source)) {
    const start = memberStart(source, member)
    expect(start.size).toBe(100_000)
    for (const [offset, length] of [
      [0, 12],
      [10, 118],
      [3, 5000],
      [4999, 1],
    ] as const) {
      const bytes = await start.read(offset, length)
      expect([...bytes]).toEqual([...content.subarray(offset, offset + length)])
    }
  }
})

describe('refused with BAD_FILE', () => {
  /** Changes the archive in place. */
  type Damage = (parts: ReturnType<typeof archive>) => void

  test.each<[string, Damage, RegExp]>([
    [
      'no archive at all',
      ({bytes}) => bytes.fill(7),
      /a zip archive in one piece, got other .*signature not found/,
    ],
    [
      'a lost directory entry',
      ({bytes, central}) => bytes.fill(0, central, central + 4),
      /directory/,
    ],
    [
      'a name longer than the directory',
      ({bytes, central}) => bytes.writeUInt16LE(999, central + 28),
      /at least \d+ bytes/,
    ],
    [
      'a directory beyond the file',
      ({bytes, end}) => bytes.writeUInt32LE(9999, end + 16),
      /at least/,
    ],
    ['several disks', ({bytes, end}) => bytes.writeUInt16LE(1, end + 4), /in one piece/],
    [
      'counts of zip64 without it',
      ({bytes, end}) => bytes.writeUInt16LE(0xffff, end + 10),
      /at least/,
    ],
    [
      'sizes of zip64 without it',
      ({bytes, central}) => bytes.writeUInt32LE(0xffffffff, central + 24),
      /a declared size of 4294967295/,
    ],
    ['encryption', ({bytes, central}) => bytes.writeUInt16LE(1, central + 8), /an encrypted one/],
    [
      'another compression',
      ({bytes, central}) => bytes.writeUInt16LE(14, central + 10),
      /zip method 14/,
    ],
    [
      'an impossible ratio',
      ({bytes, central}) => bytes.writeUInt32LE(0xfffffff0, central + 24),
      /a declared size of 4294967280/,
    ],
    [
      'a member that is longer than declared',
      ({bytes, central}) => bytes.writeUInt32LE(299, central + 24),
      /got more/,
    ],
    [
      'a member that is shorter than declared',
      ({bytes, central}) => bytes.writeUInt32LE(301, central + 24),
      /got 300/,
    ],
    [
      'a wrong checksum',
      ({bytes, central}) => bytes.writeUInt32LE(1, central + 16),
      /the file is damaged/,
    ],
    ['a lost local header', ({bytes}) => bytes.fill(0, 0, 4), /where the directory says/],
    ['damaged data', ({bytes}) => bytes.fill(0xff, 35, 50), /damaged bytes/],
    [
      'another name before the member',
      ({bytes}) => bytes.write('k', 30),
      /a\.npz\[q\.npy\]: expected the same name .*, got k\.npy/,
    ],
    [
      'another name in the directory',
      ({bytes, central}) => bytes.write('k', central + 46),
      /a\.npz\[k\.npy\]: expected the same name .*, got q\.npy/,
    ],
    [
      'another compression before the member',
      ({bytes}) => bytes.writeUInt16LE(0, 8),
      /expected zip method 8, as the directory says, got zip method 0 there/,
    ],
    ['encryption before the member', ({bytes}) => bytes.writeUInt16LE(1, 6), /an encrypted one/],
    [
      'a directory longer than its entries',
      ({bytes, end}) => {
        bytes.writeUInt16LE(0, end + 8)
        bytes.writeUInt16LE(0, end + 10)
      },
      /a zip directory that its end record follows, got 51 bytes between/,
    ],
    [
      'a directory that ends before the end record',
      ({bytes, end}) => {
        bytes.fill(0, end + 8, end + 16)
      },
      /that its end record follows, got \d+ bytes between/,
    ],
  ])('%s', async (_, damage, message) => {
    const parts = archive()
    damage(parts)
    await expect(unzip(sourceOf(parts.bytes))).rejects.toMatchObject({
      code: 'BAD_FILE',
      message: expect.stringMatching(message),
    })
  })

  test('a stored member whose sizes differ', async () => {
    const {bytes, central} = archive(0)
    bytes.writeUInt32LE(301, central + 24)
    await expect(unzip(sourceOf(bytes))).rejects.toMatchObject({code: 'BAD_FILE'})
  })

  test('two members of one name', async () => {
    const bytes = Buffer.from(zipSync({'k.npy': strToU8('a'), 'q.npy': strToU8('b')}))
    const text = bytes.toString('latin1').replaceAll('k.npy', 'q.npy')
    await expect(unzip(sourceOf(Buffer.from(text, 'latin1')))).rejects.toMatchObject({
      code: 'BAD_FILE',
      message: 'a.npz: expected one member q.npy, got two of that name',
    })
  })

  test.each<[string, (parts: ReturnType<typeof archive64>) => void, RegExp]>([
    ['no zip64 record', ({bytes, record}) => bytes.fill(0, record, record + 4), /invalid zip64/],
    [
      'one member fewer',
      ({bytes, record}) => bytes.writeUInt8(1, record + 32),
      /155 bytes between/,
    ],
    ['one member more', ({bytes, record}) => bytes.writeUInt8(3, record + 32), /invalid central/],
    ['another place', ({bytes, record}) => bytes.writeUInt8(7, record + 48), /invalid central/],
    [
      'a place that no file has',
      ({bytes, record}) => bytes.fill(255, record + 48, record + 56),
      /at least/,
    ],
    ['several disks', ({bytes, record}) => bytes.writeUInt8(1, record + 16), /multi-disk/],
    [
      'another number at its end',
      ({bytes}) => bytes.writeUInt16LE(1, bytes.length - 12),
      /end record of 1,/,
    ],
    [
      'another size at its end',
      ({bytes}) => bytes.writeUInt32LE(51, bytes.length - 10),
      /end record of 65535, 51/,
    ],
    [
      'another place at its end',
      ({bytes}) => bytes.writeUInt32LE(9, bytes.length - 6),
      /4294967295, 9/,
    ],
    [
      'a vast member',
      ({bytes, central}) => bytes.writeUInt8(200, central + 51 + 4 + 6),
      /declared size/,
    ],
    [
      'packed bytes of others',
      ({bytes, central}) => bytes.writeUInt8(60, central + 51 + 12),
      /shared with/,
    ],
    [
      'a header beyond',
      ({bytes, central}) => bytes.writeUInt8(1, central + 51 + 20 + 6),
      /at least/,
    ],
    [
      'a short field',
      ({bytes, central}) => bytes.writeUInt8(16, central + 53),
      /zip64 extended|extra field/,
    ],
  ])('zip64 that tells of %s', async (_, damage, message) => {
    const parts = archive64()
    damage(parts)
    await expect(unzip(sourceOf(parts.bytes))).rejects.toMatchObject({
      code: 'BAD_FILE',
      message: expect.stringMatching(message),
    })
  })

  test('two end records that tell of two directories', async () => {
    const one = zipOf([stored('k.npy', strToU8('one'))])
    const end = one.subarray(-22)
    const other = zip64End([centralPart64(stored('k.npy', strToU8('other')), 0)], one.length - 22)
    const both = Buffer.concat([one.subarray(0, -22), other.subarray(0, -22), end])
    await expect(unzip(sourceOf(both))).rejects.toMatchObject({
      code: 'BAD_FILE',
      message: expect.stringMatching(
        /a zip directory of 1 members, .* got an end record of 1, 51, 38/,
      ),
    })
  })

  test('a member inside another, and one that reaches into the directory', async () => {
    const inner = stored('k.npy', strToU8('bytes'))
    const outer = stored('q.npy', localPart(inner))
    const inside = archiveOf([localPart(outer)], [centralPart(outer, 0), centralPart(inner, 35)])
    await expect(unzip(sourceOf(inside))).rejects.toMatchObject({
      code: 'BAD_FILE',
      message:
        'a.npz[q.npy]: expected packed bytes that no other member has, got 40 bytes shared with a.npz[k.npy]',
    })
    const longer = {...inner, packed: new Uint8Array(9), size: 9}
    const beyond = archiveOf([localPart(inner)], [centralPart(longer, 0)])
    await expect(unzip(sourceOf(beyond))).rejects.toMatchObject({
      message:
        'a.npz[k.npy]: expected packed bytes that no other member has, got 4 bytes shared with the directory',
    })
  })

  test.each([
    ['archive', archive],
    ['zip64 archive', archive64],
  ])('every %s that is cut off', async (_, make) => {
    const {bytes} = make()
    for (let length = 0; length < bytes.length; length++) {
      const cut = unzip(sourceOf(bytes.subarray(0, length)))
      await expect(cut, `${length} bytes`).rejects.toMatchObject({code: 'BAD_FILE'})
    }
  })
})

test('a bomb that keeps to the possible ratio is stopped by the memory it declares', async () => {
  // 4 MiB of packed zeros that unpack to just below 4 GiB, twice that with the elements: the sizes
  // are read from the directory, so nothing of it needs to exist
  const packed = deflateRawSync(Buffer.alloc(1000))
  const bytes = Buffer.concat([Buffer.alloc(30), packed])
  const member = {
    name: 'q.npy',
    method: 8,
    crc: 0,
    compressedSize: packed.length,
    size: Number.MAX_SAFE_INTEGER / 4,
    localOffset: 0,
    dataOffset: 30,
  }
  await expect(readZipMember(sourceOf(bytes), member)).rejects.toMatchObject({code: 'TOO_LARGE'})
})
