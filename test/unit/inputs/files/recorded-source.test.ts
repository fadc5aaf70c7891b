import {createHash} from 'node:crypto'
import {open, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import fc from 'fast-check'
import {expect, test} from 'vitest'
import {recorded} from '../../../../src/inputs/files/recorded-source.js'
import {memorySource, openFile} from '../../../../src/inputs/files/source.js'
import {temporaryFolder} from '../../../helpers/folders.js'

const folder = temporaryFolder()
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

test('the hash is that of the whole, whatever was read before, and however it overlaps', async () => {
  const size = 2 ** 22 + 99 // a chunk and a part of one
  const bytes = Uint8Array.from({length: size}, (_, i) => (i * i) % 251)
  const reads = fc.array(fc.tuple(fc.nat(size), fc.nat(size)), {maxLength: 4})
  await fc.assert(
    fc.asyncProperty(reads, async pairs => {
      const source = recorded(memorySource('a', bytes))
      for (const pair of pairs) {
        const [from = 0, to = 0] = pair.toSorted((a, b) => a - b)
        await source.read(from, to - from)
      }
      const hash = createHash('sha256')
      await source.hashInto(hash)
      expect(hash.digest('hex')).toBe(sha256(bytes))
    }),
    {numRuns: 10},
  )
})

test.each([0, 2, 7, 9])('a byte that changed after it was read is noticed: byte %i', async at => {
  const path = join(folder, `changed-${at}`)
  await writeFile(
    path,
    Uint8Array.from({length: 10}, (_, i) => i),
  )
  const source = recorded(await openFile(path))
  await source.read(0, 3)
  await source.read(7, 3)
  const writer = await open(path, 'r+')
  await writer.write(Uint8Array.of(99), 0, 1, at)
  await writer.close()
  await expect(source.hashInto(createHash('sha256'))).rejects.toMatchObject({code: 'FILE_CHANGED'})
  await source.close()
})

test('a byte that nobody read is in the hash all the same', async () => {
  const path = join(folder, 'unread')
  await writeFile(path, 'abc')
  const source = recorded(await openFile(path))
  await source.read(0, 1)
  await writeFile(path, 'abd')
  const hash = createHash('sha256')
  await source.hashInto(hash)
  expect(hash.digest('hex')).toBe(sha256(Buffer.from('abd')))
  await source.close()
})
