import {readFile, stat, truncate, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, test} from 'vitest'
import {readArrays, writeArrays} from '../../../../src/inputs/files/index.js'
import {openNpy} from '../../../../src/inputs/files/npy.js'
import type {NdArray} from '../../../../src/inputs/nd-array.js'
import {temporaryFolder} from '../../../helpers/folders.js'
import {numpyFile} from '../../../helpers/numpy-files.js'

const folder = temporaryFolder()

async function save(name: string, bytes: Uint8Array): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, bytes)
  return path
}

async function readOnly(path: string): Promise<NdArray> {
  const {arrays} = await readArrays(path)
  return [...arrays.values()][0]!
}

/** A .npy file with the given header text, and as many element bytes. */
function npy(header: string, elements = 0, version = 1): Uint8Array {
  const lengthBytes = version === 1 ? 2 : 4
  const bytes = Buffer.alloc(8 + lengthBytes + header.length + elements)
  bytes.write(`\x93NUMPY${String.fromCharCode(version)}\0`, 'latin1')
  bytes.writeUIntLE(header.length, 8, lengthBytes)
  bytes.write(header, 8 + lengthBytes, 'latin1')
  return bytes
}

describe('files that NumPy wrote', () => {
  const eighths = Array.from({length: 30}, (_, i) => i / 8)

  test.each<[Parameters<typeof numpyFile>[0], NdArray]>([
    ['float32', {shape: [2, 3, 5], dtype: 'float32', data: new Float32Array(eighths)}],
    ['columnMajor', {shape: [2, 3, 5], dtype: 'float64', data: new Float64Array(eighths)}],
    ['version2', {shape: [2, 3], dtype: 'int32', data: new Int32Array([0, 1, 2, 3, 4, 5])}],
    [
      'version3',
      {shape: [2, 3], dtype: 'int64', data: new BigInt64Array([-2n, -1n, 0n, 1n, 2n, 3n])},
    ],
    [
      'float16',
      {
        shape: [6],
        dtype: 'float16',
        data: new Float32Array([0, 1, -2, 65504, 2 ** -24, Infinity]),
      },
    ],
    ['bool', {shape: [3], dtype: 'bool', data: new Uint8Array([1, 0, 1])}],
    ['uint8', {shape: [3], dtype: 'uint8', data: new Uint8Array([0, 7, 255])}],
    ['scalar', {shape: [], dtype: 'float64', data: new Float64Array([1.5])}],
    ['empty', {shape: [0, 7], dtype: 'float32', data: new Float32Array(0)}],
  ])('%s is read exactly', async (name, array) => {
    expect(await readOnly(await save(`${name}.npy`, numpyFile(name)))).toEqual(array)
  })

  test('the array is named after the file', async () => {
    const {arrays, metadata} = await readArrays(await save('Keys.npy', numpyFile('float32')))
    expect([...arrays.keys()]).toEqual(['Keys'])
    expect(metadata).toEqual({})
  })

  test('what is written has the bytes that NumPy writes', async () => {
    for (const name of ['float32', 'float16', 'bool', 'uint8', 'scalar', 'empty'] as const) {
      const array = await readOnly(await save('in.npy', numpyFile(name)))
      const path = join(folder, 'out.npy')
      await writeArrays(path, {array})
      expect(await readFile(path), name).toEqual(Buffer.from(numpyFile(name)))
    }
  })
})

test('bfloat16, which .npy lacks, is written as float32', async () => {
  const path = join(folder, 'widened.npy')
  const data = new Float32Array([1, -2.5, 0.15625])
  await writeArrays(path, {x: {shape: [3], dtype: 'bfloat16', data}})
  expect(await readOnly(path)).toEqual({shape: [3], dtype: 'float32', data})
})

test('opening reads the header only: the entry is known, a missing name is refused', async () => {
  const reader = await openNpy(await save('entry.npy', numpyFile('columnMajor')))
  try {
    expect(reader.entries.get('entry')).toMatchObject({
      storedType: '>f8',
      dtype: 'float64',
      shape: [2, 3, 5],
      bytes: 240,
    })
    await expect(reader.read('entri')).rejects.toMatchObject({
      code: 'ARRAY_MISSING',
      suggestions: ['did you mean entry?'],
    })
  } finally {
    await reader.close()
  }
})

describe('refused with BAD_FILE', () => {
  const shape35 = "'shape': (3, 5), "
  const whole = npy(`{'descr': '<f4', 'fortran_order': False, ${shape35}}\n`, 60)

  test.each<[string, Uint8Array, RegExp]>([
    ['an empty file', new Uint8Array(0), /expected a \.npy file, got an empty file/],
    ['another format', Buffer.from('PK\x03\x04 and more bytes'), /got a zip archive/],
    [
      'bytes of no known format',
      Buffer.of(1, 2, 3),
      /expected a \.npy array of version 1, 2 or 3, got other content/,
    ],
    ['a future version', npy('{}', 60, 4), /version 1, 2 or 3, got version 4/],
    [
      'a header that ends beyond the file',
      whole.subarray(0, 40),
      /at least \d+ bytes, got 40 bytes/,
    ],
    ['a huge declared header', hugeHeader(), /at most 1048576 bytes, got 4294967295/],
    [
      'a header that is no literal',
      npy('import os'),
      /a Python dict: expected a Python literal at character 0/,
    ],
    ['a header that is no dict', npy('(1, 2)'), /a Python dict: expected a dict/],
    [
      'a header without a shape',
      npy("{'descr': '<f4', 'fortran_order': False}"),
      /shape \(a tuple/,
    ],
    [
      'a negative size',
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-3, 5), }"),
      /shape \(a tuple/,
    ],
    [
      'an order that is no bool',
      npy(`{'descr': '<f4', 'fortran_order': 0, ${shape35}}`),
      /True or/,
    ],
    [
      'too few elements',
      whole.subarray(0, whole.length - 1),
      /expected at least \d+ bytes, got \d+ bytes/,
    ],
    ['too many elements', Buffer.concat([whole, Buffer.alloc(4)]), /60 bytes of elements.*got 64/],
    ['a structured type', numpyFile('structured'), /got "a structured type"/],
    ['pickled objects', numpyFile('object'), /got "\|O"/],
    ['complex numbers', numpyFile('complex'), /got "<c16"/],
    ['opaque bytes', numpyFile('void2'), /got "\|V2"/],
  ])('%s', async (name, bytes, message) => {
    const path = await save(`${name}.npy`, bytes)
    await expect(readArrays(path)).rejects.toMatchObject({
      code: 'BAD_FILE',
      message: expect.stringMatching(message),
    })
  })

  test.each<[Parameters<typeof numpyFile>[0], string]>([
    ['object', 'Python objects are never unpickled: save numpy.array(x, dtype="float32")'],
    ['void2', 'bfloat16 arrays lose their type in .npy: save float32, or use .safetensors'],
    ['complex', 'save real and imaginary part as two arrays: x.real and x.imag'],
  ])('%s with a remedy of its own', async (name, hint) => {
    const path = await save('remedy.npy', numpyFile(name))
    await expect(readArrays(path)).rejects.toMatchObject({suggestions: [hint]})
  })

  test.each(['<f16', '<f12', '|f10'])('%s, of longdouble, with the type to save', async descr => {
    const bytes = npy(`{'descr': '${descr}', 'fortran_order': False, 'shape': (3,), }\n`, 48)
    await expect(readOnly(await save('wide.npy', bytes))).rejects.toMatchObject({
      code: 'BAD_FILE',
      message: expect.stringMatching(/ \(float128\)$/),
      suggestions: ['save x.astype("float64") or x.astype("float32")'],
    })
  })

  test.each(['constructor', '<toString', '__proto__', '|hasOwnProperty', '>valueOf'])(
    'the type %s, which every object has a property of',
    async descr => {
      const bytes = npy(`{'descr': '${descr}', 'fortran_order': False, 'shape': (3,), }\n`, 12)
      await expect(readOnly(await save('inherited.npy', bytes))).rejects.toMatchObject({
        code: 'BAD_FILE',
        message: expect.stringContaining(`got "${descr}"`),
      })
    },
  )

  function hugeHeader(): Uint8Array {
    const bytes = Buffer.from(npy('{}', 60, 2))
    bytes.writeUInt32LE(0xffffffff, 8)
    return bytes
  }
})

test('a shape larger than memory is refused before anything is read', async () => {
  const count = 2 ** 40
  const path = await save(
    'vast.npy',
    npy(`{'descr': '|u1', 'fortran_order': False, 'shape': (${count},), }`),
  )
  const {size} = await stat(path)
  await truncate(path, size + count) // sparse: no block of it exists
  await expect(readArrays(path)).rejects.toMatchObject({code: 'TOO_LARGE'})
})
