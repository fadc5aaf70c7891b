import {open, readFile, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, test} from 'vitest'
import {openArrays, readArrays, writeArrays} from '../../../../src/inputs/files/index.js'
import {readRows} from '../../../../src/inputs/files/safetensors.js'
import type {NdArray} from '../../../../src/inputs/nd-array.js'
import {temporaryFolder} from '../../../helpers/folders.js'

const folder = temporaryFolder()

/** A file with the given header (an object, or its text) and `dataBytes` bytes 0, 1, 2, ... */
async function save(name: string, header: unknown, dataBytes: number): Promise<string> {
  const text = typeof header === 'string' ? header : JSON.stringify(header)
  const json = Buffer.from(text, 'latin1')
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(json.length))
  const data = Buffer.from(Array.from({length: dataBytes}, (_, i) => i))
  const path = join(folder, `${name}.safetensors`)
  await writeFile(path, Buffer.concat([length, json, data]))
  return path
}

const tensor = (dtype: unknown, shape: unknown, ...offsets: unknown[]) => ({
  dtype,
  shape,
  data_offsets: offsets,
})

test('a tensor may start at any byte', async () => {
  const header = {a: tensor('U8', [3], 0, 3), b: tensor('F32', [2], 3, 11)}
  const {arrays} = await readArrays(await save('unaligned', header, 11))
  expect(arrays.get('a')).toEqual({shape: [3], dtype: 'uint8', data: new Uint8Array([0, 1, 2])})
  const bytes = Uint8Array.from([3, 4, 5, 6, 7, 8, 9, 10])
  const view = new DataView(bytes.buffer)
  expect([...arrays.get('b')!.data]).toEqual([view.getFloat32(0, true), view.getFloat32(4, true)])
})

test('tensors may stand in any order in the header, and be empty or scalar', async () => {
  const header = {
    late: tensor('I16', [], 4, 6),
    none: tensor('F64', [3, 0], 4, 4),
    early: tensor('BOOL', [2, 2], 0, 4),
  }
  const {arrays} = await readArrays(await save('order', header, 6))
  expect([...arrays.keys()]).toEqual(['late', 'none', 'early'])
  expect([...arrays.get('late')!.data]).toEqual([4 + 256 * 5])
  expect([...arrays.get('early')!.data]).toEqual([0, 1, 1, 1])
  expect(arrays.get('none')!.data.length).toBe(0)
})

test('a type that cannot be read hinders only the reading of its own tensor', async () => {
  const header = {q: tensor('F32', [1], 0, 4), f8: tensor('F8_E4M3', [4], 4, 8)}
  const path = await save('float8', header, 8)
  const {arrays} = await readArrays(path, ['q'])
  expect([...arrays.keys()]).toEqual(['q'])
  await expect(readArrays(path)).rejects.toMatchObject({
    code: 'BAD_FILE',
    message: expect.stringMatching(/\[f8\]: expected one of BOOL, .*, got F8_E4M3$/),
    suggestions: ['save it as float32 with safetensors.torch.save_file: x.to(torch.float32)'],
  })
  const reader = await openArrays(path)
  expect(reader.entries.get('f8')).toMatchObject({storedType: 'F8_E4M3', dtype: null, bytes: 4})
  await reader.close()
})

test('metadata comes along; null stands for none', async () => {
  const q = tensor('U8', [1], 0, 1)
  const some = {__metadata__: {model: 'm', __proto__x: 'y'}, q}
  expect((await readArrays(await save('some', some, 1))).metadata).toEqual({
    model: 'm',
    __proto__x: 'y',
  })
  const none = await readArrays(await save('null', {__metadata__: null, q}, 1))
  expect(none.metadata).toEqual({})
})

test('a sparse file of 64 GiB opens at once, and a small tensor of it is read', async () => {
  const vast = 2 ** 36
  const header = {vast: tensor('U8', [vast], 0, vast), q: tensor('F32', [2], vast, vast + 8)}
  const path = await save('vast', header, 0)
  const file = await open(path, 'r+')
  const {size} = await file.stat()
  await file.truncate(size + vast + 8)
  await file.close()
  const {arrays} = await readArrays(path, ['q'])
  expect([...arrays.get('q')!.data]).toEqual([0, 0])
  await expect(readArrays(path)).rejects.toMatchObject({code: 'TOO_LARGE'})
})

test('written files have a header of 8-byte steps, the widest type first, then by name', async () => {
  const path = join(folder, 'layout.safetensors')
  const arrays: Record<string, NdArray> = {
    mask: {shape: [3], dtype: 'bool', data: new Uint8Array([1, 0, 1])},
    v: {shape: [1, 2], dtype: 'float32', data: new Float32Array([1, 2])},
    k: {shape: [1], dtype: 'float32', data: new Float32Array([3])},
  }
  await writeArrays(path, arrays, {note: 'é'})
  const bytes = await readFile(path)
  const length = Number(bytes.readBigUInt64LE(0))
  expect(length % 8).toBe(0)
  expect(JSON.parse(bytes.toString('utf8', 8, 8 + length))).toEqual({
    __metadata__: {note: 'é'},
    k: tensor('F32', [1], 0, 4),
    v: tensor('F32', [1, 2], 4, 12),
    mask: tensor('BOOL', [3], 12, 15),
  })
  expect(bytes.length).toBe(8 + length + 15)
  const back = await readArrays(path)
  expect(Object.fromEntries(back.arrays)).toEqual(arrays)
  expect(back.metadata).toEqual({note: 'é'})
})

test('the reserved name is refused when writing, and nothing is left behind', async () => {
  const path = join(folder, 'reserved.safetensors')
  const array: NdArray = {shape: [1], dtype: 'uint8', data: new Uint8Array(1)}
  await expect(writeArrays(path, {__metadata__: array})).rejects.toMatchObject({code: 'BAD_FILE'})
  await expect(readFile(path)).rejects.toMatchObject({code: 'ENOENT'})
})

describe('refused with BAD_FILE', () => {
  const f32 = (...offsets: unknown[]) => tensor('F32', [2], ...offsets)

  test.each<[string, unknown, number, RegExp]>([
    ['a header that is no JSON', '{"q": ', 8, /a \.safetensors header in JSON/],
    ['a header that is no UTF-8', '{"\xff": 1}', 8, /a \.safetensors header in JSON/],
    ['a header that is an array', '[]', 8, /that starts with \{, got "\[\]"/],
    ['a header that starts with a space', ' {}', 0, /that starts with \{/],
    [
      'a name twice',
      `{"q":${JSON.stringify(f32(0, 8))},"q":${JSON.stringify(f32(0, 8))}}`,
      8,
      /"q" once/,
    ],
    [
      'a field twice',
      '{"q":{"dtype":"F32","shape":[2],"shape":[2],"data_offsets":[0,8]}}',
      8,
      /"shape" once/,
    ],
    ['metadata with a number', {__metadata__: {a: 1}, q: f32(0, 8)}, 8, /with texts only/],
    ['metadata that is a list', {__metadata__: ['a'], q: f32(0, 8)}, 8, /with texts only/],
    [
      'a tensor that is a number',
      {q: 3},
      8,
      /\[q\]: expected dtype, shape and data_offsets, got 3/,
    ],
    ['an unknown type', {q: tensor('F33', [2], 0, 8)}, 8, /a dtype of BOOL.*, got "F33"/],
    ['a missing type', {q: {shape: [2], data_offsets: [0, 8]}}, 8, /a dtype of/],
    ['a negative size', {q: tensor('F32', [-2], 0, 8)}, 8, /non-negative integers, got \[-2\]/],
    ['a fractional size', {q: tensor('F32', [0.5], 0, 2)}, 2, /non-negative integers/],
    [
      'a shape that overflows',
      {q: tensor('F32', [2 ** 40, 2 ** 40], 0, 8)},
      8,
      /non-negative integers/,
    ],
    ['a missing shape', {q: {dtype: 'F32', data_offsets: [0, 8]}}, 8, /non-negative integers/],
    ['one offset', {q: f32(0)}, 8, /a begin and an end/],
    ['a negative offset', {q: f32(-8, 0)}, 8, /a begin and an end/],
    ['offsets in reverse', {q: f32(8, 0)}, 8, /8 bytes for F32 \[2\], got data_offsets \[8, 0\]/],
    ['offsets that do not match the shape', {q: f32(0, 12)}, 12, /8 bytes for F32 \[2\]/],
    ['half bytes', {q: tensor('F4', [3], 0, 2)}, 2, /1\.5 bytes for F4 \[3\]/],
    ['overlapping tensors', {a: f32(0, 8), b: f32(4, 12)}, 12, /\[b\].*got 4 bytes of overlap/],
    ['the same bytes twice', {a: f32(0, 8), b: f32(0, 8)}, 8, /\[b\].*got 8 bytes of overlap/],
    ['a hole between tensors', {a: f32(0, 8), b: f32(12, 20)}, 20, /\[b\].*got 4 bytes of a hole/],
    ['a hole before the first tensor', {a: f32(4, 12)}, 12, /\[a\].*got 4 bytes of a hole/],
    ['bytes after the last tensor', {a: f32(0, 8)}, 9, /1 bytes after the last tensor/],
    ['tensors beyond the end', {a: f32(0, 8)}, 7, /the file is cut off|at least/],
  ])('%s', async (name, header, dataBytes, message) => {
    await expect(readArrays(await save(name, header, dataBytes))).rejects.toMatchObject({
      code: 'BAD_FILE',
      message: expect.stringMatching(message),
    })
  })

  const nested = '['.repeat(200_000) + ']'.repeat(200_000)

  test.each([
    ['a tensor', `{"q": ${nested}}`, 'data_offsets, got [[[[…]]]]'],
    ['a shape', `{"q": {"shape": ${nested}}}`, 'integers, got [[[[…]]]]'],
    [
      'a dtype',
      `{"q": {"shape": [], "data_offsets": [0, 0], "dtype": ${nested}}}`,
      'got [[[[…]]]]',
    ],
    ['a text of metadata', `{"__metadata__": {"a": ${nested}}}`, 'got {"a":[[[…]]]}'],
  ])('%s nested without end', async (_, header, message) => {
    await expect(readArrays(await save('nested', header, 0))).rejects.toMatchObject({
      code: 'BAD_FILE',
      message: expect.stringContaining(message),
    })
  })

  test('a file shorter than the header length', async () => {
    const path = join(folder, 'short.safetensors')
    await writeFile(path, Buffer.alloc(7))
    await expect(readArrays(path)).rejects.toMatchObject({
      code: 'BAD_FILE',
      message: `${path}: expected at least 8 bytes, got 7 bytes`,
    })
  })

  test.each([
    ['beyond the file', 100n, /at least 108 bytes, got 8 bytes/],
    [
      'beyond the limit of the format',
      100_000_001n,
      /at most 100000000 bytes, got a declared length/,
    ],
    ['beyond everything', 2n ** 64n - 1n, /declared length of 18446744073709551615/],
  ])('a header length %s is refused without reading', async (_, length, message) => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigUInt64LE(length)
    const path = join(folder, 'length.safetensors')
    await writeFile(path, bytes)
    await expect(readArrays(path)).rejects.toMatchObject({
      code: 'BAD_FILE',
      message: expect.stringMatching(message),
    })
  })

  test('every file that is cut off', async () => {
    const path = join(folder, 'whole.safetensors')
    const data = new Float32Array([1, 2, 3])
    await writeArrays(path, {q: {shape: [3], dtype: 'float32', data}})
    const whole = await readFile(path)
    for (let length = 0; length < whole.length; length++) {
      await writeFile(path, whole.subarray(0, length))
      await expect(readArrays(path), `${length} bytes`).rejects.toMatchObject({code: 'BAD_FILE'})
    }
  })
})

test.each(['float32', 'float16', 'bfloat16'] as const)(
  'rows of a %s matrix are read in any order',
  async dtype => {
    const path = join(folder, `rows-${dtype}.safetensors`)
    const matrix = {shape: [7, 3], dtype, data: Float32Array.from({length: 21}, (_, i) => i / 4)}
    const before = {shape: [5], dtype: 'uint8' as const, data: new Uint8Array(5)}
    await writeArrays(path, {before, matrix})
    const rows = Int32Array.of(6, 0, 3, 6)
    const wanted = [...rows].flatMap(row => [...matrix.data.subarray(3 * row, 3 * row + 3)])
    expect([...(await readRows(path, 'matrix', rows))]).toEqual(wanted)
    expect(await readRows(path, 'matrix', new Int32Array(0))).toEqual(new Float32Array(0))
  },
)

test('rows far apart are read from a matrix of more than one piece', async () => {
  const path = join(folder, 'long.safetensors')
  const [count, columns] = [700_000, 5]
  const data = new Float32Array(count * columns)
  const rows = Int32Array.of(count - 1, 0, 500_000, 1, 419_431)
  for (const row of rows) data.fill(row + 1, row * columns, (row + 1) * columns)
  await writeArrays(path, {matrix: {shape: [count, columns], dtype: 'float32', data}})
  const wanted = [...rows].flatMap(row => Array<number>(columns).fill(row + 1))
  expect([...(await readRows(path, 'matrix', rows))]).toEqual(wanted)
})
