import {readFile, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {gzipSync} from 'node:zlib'
import {describe, expect, test} from 'vitest'
import {openArrays, readArrays, writeArrays} from '../../../../src/inputs/files/index.js'
import {openError} from '../../../../src/inputs/files/source.js'
import {temporaryFolder} from '../../../helpers/folders.js'
import {stored, zipOf} from '../../../helpers/zip-writer.js'

const folder = temporaryFolder()

async function save(name: string, bytes: Uint8Array | string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  return path
}

/** What is said of a file that cannot be opened. */
async function refusal(path: string): Promise<{message: string; suggestions: string[]}> {
  return openArrays(path).then(
    () => ({message: 'opened', suggestions: []}),
    error => ({message: error.message.replaceAll(path, 'F'), suggestions: error.suggestions}),
  )
}

const arrays = {q: {shape: [3], dtype: 'float32' as const, data: new Float32Array([1, 2, 3])}}
const tail = '\0'.repeat(40)
const torch = zipOf([stored('archive/data.pkl', Buffer.from('\x80\x02}q\0.', 'latin1'))])
const oldTorch = `\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.${tail}`
const hdf5 = `\x89HDF\r\n\x1a\n${tail}`

describe('a file whose name says another format than its content', () => {
  test.each<[string, string, Uint8Array | string, string, RegExp]>([
    ['zip of PyTorch', 'pt.safetensors', torch, 'a PyTorch file', /^export the arrays in Python/],
    ['zip of PyTorch', 'pt.npz', torch, 'a PyTorch file', /^export the arrays in Python/],
    ['file of early PyTorch', 'pt.npy', oldTorch, 'a PyTorch file', /^export the arrays in Python/],
    ['pickle', 'p.npz', '\x80\x04\x95\x0b\0\0', 'a Python pickle', /^export the arrays in Python/],
    ['HDF5 file', 'h.safetensors', hdf5, 'an HDF5 file', /^export the arrays in Python/],
    [
      'MATLAB file',
      'm.npy',
      'MATLAB 5.0 MAT-file, by',
      'a MATLAB file',
      /^export the arrays in Python/,
    ],
    ['zip', 'zip.npy', zipOf([stored('a.txt', Buffer.from('a'))]), 'a zip archive', /unpack it$/],
    ['gzip', 'g.safetensors', gzipSync('abc'), 'compressed data', /^unpack it first$/],
    ['Parquet file', 'q.npz', `PAR1${tail}`, 'a Parquet file', /save_file, numpy\.savez/],
    ['Arrow file', 'a.npz', `ARROW1${tail}`, 'an Arrow file', /save_file, numpy\.savez/],
    ['GGUF file', 'g.npz', `GGUF${tail}`, 'a GGUF file', /save_file, numpy\.savez/],
    [
      'LFS',
      'l.safetensors',
      'version https://git-lfs.x\n',
      'a pointer of Git LFS',
      /git lfs pull$/,
    ],
    ['page', 'w.npz', '\n<!DOCTYPE html><p>404', 'a web page', /^download the file again$/],
    ['text', 't.npy', '1.5 2\n3 4\n', 'text', /^save the arrays with numpy\.save/],
    ['nothing', 'e.npz', '', 'an empty file', /^copy or write it again$/],
  ])('is told what it is, and what to do: %s as %s', async (_, name, bytes, what, advice) => {
    const {message, suggestions} = await refusal(await save(name, bytes))
    const format = name.slice(name.lastIndexOf('.'))
    expect(message).toBe(`F: expected a ${format} file, got ${what}`)
    expect(suggestions[0]).toMatch(advice)
  })

  test.each([
    ['.npz', 'a.safetensors'],
    ['.npz', 'a.npy'],
    ['.npy', 'b.npz'],
    ['.safetensors', 'c.npz'],
    ['.safetensors', 'c.npy'],
  ])('is to be renamed where its content is read here: %s as %s', async (format, name) => {
    const source = join(folder, `source${format}`)
    await writeArrays(source, arrays)
    expect(await refusal(await save(name, await readFile(source)))).toEqual({
      message: `F: expected a ${name.slice(1)} file, got a ${format} file`,
      suggestions: [`rename it to end in ${format}`],
    })
  })
})

describe('a file whose name says no format that is read', () => {
  test.each<[string, Uint8Array | string, string]>([
    ['x.pt', torch, '.pt: a PyTorch file'],
    ['pytorch_model.bin', oldTorch, '.bin: a PyTorch file'],
    ['x.h5', hdf5, '.h5: an HDF5 file'],
    ['x.dat', '\x01\x02\x03', '.dat'],
    ['noext', zipOf([stored('q.npy', Buffer.from('x'))]), 'no extension: a .npz file'],
  ])('is reported with what it holds: %s', async (name, bytes, got) => {
    const {message, suggestions} = await refusal(await save(name, bytes))
    expect(message).toBe(`F: expected one of the formats .npy, .npz, .safetensors, got ${got}`)
    expect(suggestions).not.toEqual([])
  })

  test('is not called of no format where there is none', async () => {
    expect(await refusal(join(folder, 'missing.pt'))).toMatchObject({
      message: 'F: no such file',
    })
    expect(await refusal(folder)).toEqual({
      message: 'F: expected a file, got a directory',
      suggestions: ['name a file in it'],
    })
  })
})

test('the recipe for PyTorch names the file as Python reads it', async () => {
  const path = await save('my "model".pt', torch)
  expect((await refusal(path)).suggestions).toEqual([
    'export the arrays in Python (docs/inputs.md):',
    '  import torch; from safetensors.torch import save_file',
    `  x = torch.load(${JSON.stringify(path)}, map_location="cpu")`,
    '  save_file({n: x[n].contiguous() for n in ("q", "k", "v")}, "qkv.safetensors")',
  ])
})

test('a header that is as long as a pickle begins is that of a .safetensors file', async () => {
  const json = JSON.stringify({q: {dtype: 'F32', shape: [1], data_offsets: [0, 4]}}).padEnd(0x280)
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(0x280n) // 80 02
  const path = await save(
    'pickled.safetensors',
    Buffer.concat([length, Buffer.from(json), Buffer.alloc(4)]),
  )
  expect((await readArrays(path)).arrays.get('q')!.shape).toEqual([1])
})

test.each([
  ['EACCES', 'BAD_FILE', /expected a readable file, got EACCES/, [/permissions/]],
  ['EPERM', 'BAD_FILE', /expected a readable file, got EPERM/, [/permissions/]],
  ['EISDIR', 'BAD_FILE', /expected a readable file, got EISDIR/, []],
  ['ENOENT', 'FILE_MISSING', /no such file/, [/check the path/]],
])('what the system says of a path is passed on: %s', (code, own, message, advice) => {
  const error = openError('x.npz', Object.assign(new Error(`${code}: no`), {code}))
  expect(error.code).toBe(own)
  expect(error.message).toMatch(message)
  expect(error.suggestions).toEqual(advice.map(pattern => expect.stringMatching(pattern)))
})

test('an address of the web is no path, which the advice says', () => {
  const missing = Object.assign(new Error('ENOENT: no'), {code: 'ENOENT'})
  expect(openError('https://example.com/a.npz', missing).suggestions).toEqual([
    'download it first, and name the file',
  ])
})
