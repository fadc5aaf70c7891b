import {readdirSync} from 'node:fs'
import {open, readFile, rm, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {inflateRawSync} from 'node:zlib'
import {strToU8, zipSync} from 'fflate'
import {describe, expect, test, vi} from 'vitest'
import {openArrays, readArrays, writeArrays} from '../../../../src/inputs/files/index.js'
import {npyParts} from '../../../../src/inputs/files/npy.js'
import {npzBytes} from '../../../../src/inputs/files/npz.js'
import {elementCount, type NdArray} from '../../../../src/inputs/nd-array.js'
import {entriesOf} from '../../../helpers/array-entries.js'
import {sample} from '../../../helpers/effort.js'
import {temporaryFolder} from '../../../helpers/folders.js'
import {numpyFile} from '../../../helpers/numpy-files.js'
import {
  centralPart64,
  deflated,
  localPart,
  stored,
  zip64End,
  zipOf,
} from '../../../helpers/zip-writer.js'

const folder = temporaryFolder()

async function save(name: string, bytes: Uint8Array): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, bytes)
  return path
}

test('numpy.savez_compressed, which puts zip64 fields into local headers, is read', async () => {
  const {arrays} = await readArrays(await save('c.npz', numpyFile('savezCompressed')))
  expect(arrays).toEqual(
    new Map<string, NdArray>([
      [
        'q',
        {
          shape: [2, 3, 5],
          dtype: 'float32',
          data: Float32Array.from({length: 30}, (_, i) => i / 8),
        },
      ],
      ['mask', {shape: [2], dtype: 'bool', data: new Uint8Array([1, 0])}],
    ]),
  )
})

test('an array of objects hinders only its own reading', async () => {
  const path = await save('objects.npz', numpyFile('savez'))
  const {arrays} = await readArrays(path, ['q'])
  expect([...arrays.get('q')!.data]).toEqual([1, 2, 3])
  await expect(readArrays(path)).rejects.toMatchObject({
    code: 'BAD_FILE',
    message: expect.stringContaining('[names.npy]'),
  })
  const reader = await openArrays(path)
  expect(reader.entries.get('names')).toMatchObject({storedType: '|O', dtype: null, shape: [2]})
  await reader.close()
})

test('members that are no .npy are passed over', async () => {
  const packed = zipSync({'q.npy': numpyFile('float32'), 'README.txt': strToU8('hello')})
  const {arrays} = await readArrays(await save('mixed.npz', packed))
  expect([...arrays.keys()]).toEqual(['q'])
})

test('what macOS adds to an archive is passed over, an array of a like name is not', async () => {
  const of = {'__MACOSX/._q.npy': strToU8('no array'), '._x.npy': numpyFile('float32')}
  const packed = zipSync({'q.npy': numpyFile('float32'), ...of})
  const {arrays} = await readArrays(await save('mac.npz', packed))
  expect([...arrays.keys()]).toEqual(['q', '._x'])
})

test('a .npy member of other content is refused', async () => {
  const path = await save('fake.npz', zipSync({'q.npy': strToU8('hello, this is no array')}))
  await expect(readArrays(path)).rejects.toMatchObject({
    code: 'BAD_FILE',
    message: `${path}[q.npy]: expected a .npy array of version 1, 2 or 3, got other content`,
  })
})

test('a missing array is refused with what the file has', async () => {
  const path = await save('has.npz', numpyFile('savezCompressed'))
  await expect(readArrays(path, ['k'])).rejects.toMatchObject({
    code: 'ARRAY_MISSING',
    message: `${path}: expected an array "k", got q [2, 3, 5], mask [2]`,
  })
})

test('equal arrays give equal bytes, deflated, whatever the time', async () => {
  const zeros: NdArray = {shape: [3, 5, 701], dtype: 'float32', data: new Float32Array(10_515)}
  const first = join(folder, 'first.npz')
  const second = join(folder, 'second.npz')
  vi.useFakeTimers({toFake: ['Date'], now: new Date(2001, 1, 3)})
  await writeArrays(first, {zeros})
  vi.setSystemTime(new Date(2017, 6, 11))
  await writeArrays(second, {zeros})
  vi.useRealTimers()
  const bytes = await readFile(first)
  expect(bytes.equals(await readFile(second))).toBe(true)
  expect(bytes.length).toBeLessThan(zeros.data.byteLength / 10)
})

test('more than zip can hold without zip64 is refused before it is packed', () => {
  const vast: NdArray = {shape: [2 ** 30], dtype: 'float32', data: new Float32Array(0)}
  expect(() => npzBytes('a.npz', {vast})).toThrow(
    expect.objectContaining({
      code: 'TOO_LARGE',
      message: 'a.npz: expected at most 4026531840 bytes of arrays, got 4294967296',
    }),
  )
})

describe('golden files', () => {
  const golden = 'fixtures/golden'
  const files = readdirSync(golden).filter(file => file.endsWith('.npz'))

  test('each is read, with finite elements of the declared count', async () => {
    expect(files.length).toBeGreaterThan(100)
    // the golden suite reads them all
    for (const file of sample(files, 8, 0)) {
      const {arrays} = await readArrays(join(golden, file))
      expect(arrays.size, file).toBeGreaterThan(0)
      for (const [name, {shape, data}] of arrays) {
        expect(data.length, `${file}[${name}]`).toBe(elementCount(shape))
        const finite = (data as Float32Array).every(element => Number.isFinite(Number(element)))
        expect(finite, `${file}[${name}]`).toBe(true)
      }
    }
  })

  test('softmax_causal_odd: row 0 of a causal output is the first value', async () => {
    const {arrays} = await readArrays(join(golden, 'softmax_causal_odd.npz'))
    const [v, out] = [arrays.get('v')!, arrays.get('out')!]
    expect(v.shape).toEqual([1, 2, 37, 16])
    for (let head = 0; head < 2; head++) {
      const start = head * 37 * 16
      expect([...out.data.subarray(start, start + 16)]).toEqual([
        ...v.data.subarray(start, start + 16),
      ])
    }
  })
})

// a file that is nearly all holes, which Windows would fill
test.runIf(process.platform !== 'win32')('an archive beyond 4 GiB is read', async () => {
  const numbers: NdArray = {shape: [3], dtype: 'float32', data: new Float32Array([1, 2, 3])}
  const small = stored('small.npy', Buffer.concat(npyParts(numbers)))
  const [header] = npyParts({...numbers, shape: [2 ** 30, 5]})
  const size = header.length + 5 * 2 ** 32
  // what stands for the packed bytes of the vast member: its length is all that is looked at
  const vast = {...stored('vast.npy', header), size, packed: {length: size} as Uint8Array}
  const start = localPart({...vast, packed: header, size: header.length})
  const offset = start.length - header.length + size
  const entries = [centralPart64(vast, 0), centralPart64(small, offset)]
  const path = join(folder, 'vast.npz')
  const file = await open(path, 'w')
  await file.write(start, 0, start.length, 0)
  const local = localPart(small)
  await file.write(local, 0, local.length, offset)
  const end = zip64End(entries, offset + local.length)
  await file.write(end, 0, end.length, offset + local.length)
  await file.close()
  const shapes = await entriesOf(path)
  expect([...shapes].map(([name, {shape}]) => [name, shape])).toEqual([
    ['vast', [2 ** 30, 5]],
    ['small', [3]],
  ])
  const {arrays} = await readArrays(path, ['small'])
  expect(arrays.get('small')).toEqual(numbers)
  await rm(path)
})

test('listing arrays unpacks little of each, however much it would become', async () => {
  const [header] = npyParts({shape: [0], dtype: 'float32', data: new Float32Array(0)})
  const bomb = deflated('', Buffer.concat([header, Buffer.alloc(2 ** 24)]))
  const members = Array.from({length: 200}, (_, i) => ({...bomb, name: `${i}.npy`}))
  const path = join(folder, 'bombs.npz')
  await writeFile(path, zipOf(members))
  const begin = process.cpuUsage()
  const reader = await openArrays(path)
  const listing = process.cpuUsage(begin).user
  await reader.close()
  expect(reader.entries.size).toBe(200)
  const again = process.cpuUsage()
  for (const {packed} of members.slice(0, 50)) inflateRawSync(packed)
  // however fast the machine is now: less than unpacking a quarter of them
  expect(listing).toBeLessThan(process.cpuUsage(again).user)
})
