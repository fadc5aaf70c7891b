import {execFileSync} from 'node:child_process'
import {mkdir, readdir, readFile, stat, symlink, truncate, writeFile} from 'node:fs/promises'
import {basename, join} from 'node:path'
import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {
  ARRAY_EXTENSIONS,
  arrayExtension,
  openArrays,
  readArrays,
  writeArrays,
} from '../../../../src/inputs/files/index.js'
import {npyParts} from '../../../../src/inputs/files/npy.js'
import {
  DTYPES,
  type Dtype,
  elementCount,
  type NdArray,
  type TypedArray,
} from '../../../../src/inputs/nd-array.js'
import {entriesOf} from '../../../helpers/array-entries.js'
import {temporaryFolder} from '../../../helpers/folders.js'

const folder = temporaryFolder()
const one: NdArray = {shape: [3], dtype: 'float32', data: new Float32Array([1, 2, 3])}

/** Arrays of any type and shape, with values that every type holds exactly. */
const arrays = fc
  .record({
    dtype: fc.constantFrom(...(Object.keys(DTYPES) as Dtype[])),
    shape: fc.array(fc.integer({min: 0, max: 5}), {maxLength: 4}),
    start: fc.integer({min: 0, max: 3}),
  })
  .map(({dtype, shape, start}): NdArray => {
    const {storage} = DTYPES[dtype]
    const numbers = Array.from({length: elementCount(shape)}, (_, i) =>
      dtype === 'bool' ? (i + start) % 2 : (i + start) % 100,
    )
    const data: TypedArray =
      storage === BigInt64Array || storage === BigUint64Array
        ? new storage(numbers.map(BigInt))
        : new (storage as Float64ArrayConstructor)(numbers)
    return {dtype, shape, data}
  })

describe.each(ARRAY_EXTENSIONS)('%s', extension => {
  const path = join(folder, `round-trip${extension}`)

  test('what is written is read back', async () => {
    const files = fc.dictionary(fc.stringMatching(/^[\w./-]{1,9}$/), arrays, {
      minKeys: extension === '.npy' ? 1 : 0,
      maxKeys: extension === '.npy' ? 1 : 4,
    })
    await fc.assert(
      fc.asyncProperty(files, async written => {
        await writeArrays(path, written)
        const read = (await readArrays(path)).arrays
        const expected = Object.entries(written).map(([name, array]): [string, NdArray] => [
          extension === '.npy' ? 'round-trip' : name,
          // the one type that NumPy's formats lack comes back wider
          array.dtype === 'bfloat16' && extension !== '.safetensors'
            ? {...array, dtype: 'float32'}
            : array,
        ])
        expect(new Map([...read].sort())).toEqual(new Map(expected.sort()))
      }),
      {numRuns: 40},
    )
  })

  test('writing replaces a file and leaves no temporary one', async () => {
    const inner = join(folder, `replace${extension}`)
    await mkdir(inner)
    const file = join(inner, `x${extension}`)
    await writeFile(file, 'old')
    await writeArrays(file, {x: one})
    expect(await readdir(inner)).toEqual([`x${extension}`])
    expect((await readArrays(file)).arrays.get('x')).toEqual(one)
  })
})

test.each(ARRAY_EXTENSIONS)('shapes of a %s file come from its headers', async extension => {
  const path = join(folder, `shapes${extension}`)
  const query: NdArray = {shape: [1, 3, 5], dtype: 'float16', data: new Float32Array(15)}
  await writeArrays(path, extension === '.npy' ? {query} : {query, one})
  const shapes = await entriesOf(path)
  expect([...shapes].map(([name, {shape, dtype, bytes}]) => [name, shape, dtype, bytes])).toEqual(
    extension === '.npy'
      ? [['shapes', [1, 3, 5], 'float16', 30]]
      : expect.arrayContaining([
          ['query', [1, 3, 5], 'float16', 30],
          ['one', [3], 'float32', 12],
        ]),
  )
})

// a file that is all holes, which Windows would fill
test.runIf(process.platform !== 'win32')('shapes of arrays that no memory would hold', async () => {
  const path = join(folder, 'vast.npy')
  const [header] = npyParts({...one, shape: [2 ** 38]})
  await writeFile(path, header)
  await truncate(path, header.length + 2 ** 40)
  expect((await entriesOf(path)).get('vast')).toMatchObject({shape: [2 ** 38], bytes: 2 ** 40})
})

test('a write that fails half-way leaves the old file and no temporary one', async () => {
  const inner = join(folder, 'half-way')
  await mkdir(inner)
  const path = join(inner, 'x.safetensors')
  await writeFile(path, 'old')
  const broken = {
    ...one,
    get data(): TypedArray {
      return failing()
    },
  }
  let reads = 0
  function failing(): TypedArray {
    if (++reads > 3) throw new Error('gone')
    return one.data
  }
  await expect(writeArrays(path, {x: broken})).rejects.toThrow('gone')
  expect(await readFile(path, 'utf8')).toBe('old')
  expect(await readdir(inner)).toEqual(['x.safetensors'])
})

test('the extension counts in any case', () => {
  expect(arrayExtension('A/Q.NPY')).toBe('.npy')
})

test.each([
  ['q.txt', 'got .txt'],
  ['q', 'got no extension'],
  ['q.npz.gz', 'got .gz'],
])('%s is refused with the three formats', async (name, got) => {
  const path = join(folder, name)
  await writeFile(path, Buffer.of(1))
  const error = {
    code: 'BAD_FILE',
    message: `${path}: expected one of the formats .npy, .npz, .safetensors, ${got}`,
  }
  await expect(readArrays(path)).rejects.toMatchObject(error)
  await expect(writeArrays(path, {})).rejects.toMatchObject(error)
})

test.each(ARRAY_EXTENSIONS)(
  'a missing %s file is distinguished from a bad one',
  async extension => {
    const path = join(folder, `missing${extension}`)
    await expect(readArrays(path)).rejects.toMatchObject({
      code: 'FILE_MISSING',
      message: `${path}: no such file`,
    })
    const below = join(folder, 'file', `x${extension}`)
    await writeFile(join(folder, 'file'), '')
    await expect(readArrays(below)).rejects.toMatchObject({code: 'FILE_MISSING'})
  },
)

test('a file that shrinks after it was opened is cut off', async () => {
  const path = join(folder, 'shrinks.safetensors')
  await writeArrays(path, {x: one})
  const reader = await openArrays(path)
  await truncate(path, (await stat(path)).size - 1)
  await expect(reader.read('x')).rejects.toMatchObject({
    code: 'BAD_FILE',
    suggestions: ['the file is cut off: copy or write it again'],
  })
  await reader.close()
})

test('a directory is not a file', async () => {
  const path = join(folder, 'directory.npz')
  await mkdir(path)
  await expect(readArrays(path)).rejects.toMatchObject({
    code: 'BAD_FILE',
    message: `${path}: expected a file, got a directory`,
  })
})

describe.runIf(process.platform !== 'win32')('what has no end is refused at once', () => {
  test.each(ARRAY_EXTENSIONS)('a pipe named %s, and a link to one', async extension => {
    const pipe = join(folder, `pipe${extension}`)
    const link = join(folder, `link${extension}`)
    execFileSync('mkfifo', [pipe])
    await symlink(pipe, link)
    for (const path of [pipe, link]) {
      await expect(readArrays(path)).rejects.toMatchObject({
        code: 'BAD_FILE',
        message: `${path}: expected a file, got a pipe`,
        suggestions: ['write what it gives to a file first, and name that'],
      })
    }
  })

  test.each(['/dev/zero', '/dev/urandom'])('a link to %s', async device => {
    const path = join(folder, `${basename(device)}.npy`)
    await symlink(device, path)
    await expect(readArrays(path)).rejects.toMatchObject({
      code: 'BAD_FILE',
      message: `${path}: expected a file, got a device`,
    })
  })
})

test('names that fit no line are quoted and cut where an error lists them', async () => {
  const path = join(folder, 'names.safetensors')
  await writeArrays(path, {['long'.repeat(100)]: one, 'two\nlines': one, 'model.q': one})
  await expect(readArrays(path, ['q'])).rejects.toMatchObject({
    message: `${path}: expected an array "q", got "${'long'.repeat(50)}…" [3], model.q [3], "two\\nlines" [3]`,
  })
})

test('a path that cannot be opened is a bad file', async () => {
  const path = `${'x'.repeat(300)}.npy`
  await expect(readArrays(path)).rejects.toMatchObject({
    code: 'BAD_FILE',
    message: expect.stringContaining('expected a readable file, got ENAMETOOLONG'),
  })
})

test.each([
  ['none', {}, 'got []'],
  ['two', {a: one, b: one}, 'got [a, b]'],
])('a .npy file of %s arrays is refused', async (_, several, got) => {
  const path = join(folder, 'several.npy')
  await expect(writeArrays(path, several)).rejects.toMatchObject({
    code: 'BAD_FILE',
    message: `${path}: expected exactly one array for .npy, ${got}`,
  })
})

test('an array that disagrees with itself is refused before anything is written', async () => {
  const path = join(folder, 'disagree.npz')
  const wrong: NdArray = {...one, shape: [4]}
  await expect(writeArrays(path, {wrong})).rejects.toMatchObject({code: 'SHAPE_MISMATCH'})
  expect(await readdir(folder)).not.toContain('disagree.npz')
})

test('a place that takes no file is refused', async () => {
  const path = join(folder, 'no', 'such', 'folder', 'x.npz')
  await expect(writeArrays(path, {x: one})).rejects.toMatchObject({
    code: 'NOT_WRITABLE',
    message: expect.stringMatching(/x\.npz: expected a place to write a file, got .*ENOENT/),
  })
  const taken = join(folder, 'taken.npz')
  await mkdir(taken)
  await expect(writeArrays(taken, {x: one})).rejects.toMatchObject({code: 'NOT_WRITABLE'})
  expect((await readdir(folder)).filter(name => name.endsWith('.tmp'))).toEqual([])
})
