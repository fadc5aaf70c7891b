import {deflateRawSync} from 'node:zlib'
import fc from 'fast-check'
import {strToU8, zipSync} from 'fflate'
import {describe, expect, test} from 'vitest'
import {type ByteSource, memorySource} from '../../../../src/inputs/files/source.js'
import {memberStart, readZipMember} from '../../../../src/inputs/files/zip.js'
import {readZipMembers} from '../../../../src/inputs/files/zip-directory.js'
import {archiveOf, centralPart, localPart, stored} from '../../../helpers/zip-writer.js'

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
    ['no archive at all', ({bytes}) => bytes.fill(7), /a zip archive, got none/],
    [
      'a lost directory entry',
      ({bytes, central}) => bytes.fill(0, central, central + 4),
      /directory/,
    ],
    [
      'a name longer than the directory',
      ({bytes, central}) => bytes.writeUInt16LE(999, central + 28),
      /a part/,
    ],
    [
      'a directory beyond the file',
      ({bytes, end}) => bytes.writeUInt32LE(9999, end + 16),
      /at least/,
    ],
    ['several disks', ({bytes, end}) => bytes.writeUInt16LE(1, end + 4), /in one piece/],
    ['zip64 counts', ({bytes, end}) => bytes.writeUInt16LE(0xffff, end + 10), /zip64/],
    ['zip64 sizes', ({bytes, central}) => bytes.writeUInt32LE(0xffffffff, central + 24), /zip64/],
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
      /a directory of 0 zip members, got one with 51 bytes more/,
    ],
    [
      'a directory that ends before the end record',
      ({bytes, end}) => {
        bytes.fill(0, end + 8, end + 16)
      },
      /that the end record follows, got 51 bytes between/,
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

  test('a zip64 end record beside one that would do', async () => {
    const {bytes, end} = archive()
    const locator = Buffer.alloc(20)
    locator.writeUInt32LE(0x07064b50)
    const zip64 = Buffer.concat([bytes.subarray(0, end), locator, bytes.subarray(end)])
    await expect(unzip(sourceOf(zip64))).rejects.toMatchObject({
      code: 'BAD_FILE',
      message: expect.stringContaining('got a zip64 archive'),
    })
  })

  test('a member inside another, and one that reaches into the directory', async () => {
    const inner = stored('k.npy', strToU8('bytes'))
    const outer = stored('q.npy', localPart(inner))
    const inside = archiveOf([localPart(outer)], [centralPart(outer, 0), centralPart(inner, 35)])
    await expect(unzip(sourceOf(inside))).rejects.toMatchObject({
      code: 'BAD_FILE',
      message:
        'a.npz[q.npy]: expected packed bytes of its own, got 40 bytes shared with a.npz[k.npy]',
    })
    const longer = {...inner, packed: new Uint8Array(9), size: 9}
    const beyond = archiveOf([localPart(inner)], [centralPart(longer, 0)])
    await expect(unzip(sourceOf(beyond))).rejects.toMatchObject({
      message:
        'a.npz[k.npy]: expected packed bytes of its own, got 4 bytes shared with the directory',
    })
  })

  test('every archive that is cut off', async () => {
    const {bytes} = archive()
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
