import {open, readFile, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, test} from 'vitest'
import {pinInput} from '../../../src/inputs/digest.js'
import {generate} from '../../../src/inputs/generators/index.js'
import {type InputSizes, inputFacts} from '../../../src/inputs/input-facts.js'
import {loadInput, MAX_EXTRA_BYTES} from '../../../src/inputs/load.js'
import {elementCount} from '../../../src/inputs/nd-array.js'
import {temporaryFolder} from '../../helpers/folders.js'
import {ALL, arraySaver, counting, fileSpec} from '../../helpers/input-files.js'

const folder = temporaryFolder()
const save = arraySaver(folder)

describe('one file of named arrays', () => {
  test('the packaged layer is [1, 4, 512, 64] and keeps its metadata', async () => {
    const input = await loadInput(fileSpec('fixtures/charlm-layer0.safetensors'), ALL)
    expect(input.label).toBe('charlm-layer0.safetensors')
    for (const part of [input.query, input.key, input.value]) {
      expect(part.shape).toEqual([1, 4, 512, 64])
      expect(part.data.length).toBe(4 * 512 * 64)
    }
    expect(input.metadata.layer).toBe('0')
    expect(input).toMatchObject({logitScale: 0.125, ranCausal: true})
    expect(input.extras.size).toBe(0)
  })

  test('a golden file carries its other arrays as extras', async () => {
    const input = await loadInput(fileSpec('fixtures/golden/softmax_causal_odd.npz'), ALL)
    expect(input.query.shape).toEqual([1, 2, 37, 16])
    expect([...input.extras.keys()]).toEqual(['out'])
    expect(input.extras.get('out')!.dtype).toBe('float64')
    expect(input.unreadExtras).toEqual([])
  })

  test('arrays are chosen by name, one may serve twice', async () => {
    const path = await save('names.npz', {
      a: counting(0, 3, 5, 7),
      b: counting(1000, 3, 11, 7),
      q: counting(2000, 2),
    })
    const input = await loadInput(fileSpec(path, {names: {query: 'a', key: 'b', value: 'b'}}), ALL)
    expect(input.query.shape).toEqual([1, 3, 5, 7])
    expect(input.query.data[0]).toBe(0)
    expect(input.key.data[0]).toBe(1000)
    expect(input.value.data).toEqual(input.key.data)
    expect([...input.extras.keys()]).toEqual(['q'])
  })

  test('a missing name tells what the file has and which flags choose', async () => {
    const path = await save('missing.safetensors', {
      query: counting(0, 5, 7),
      k: counting(0, 5, 7),
      v: counting(0, 5, 7),
    })
    await expect(
      loadInput(fileSpec(path, {names: {query: 'qwery', key: 'k', value: 'v'}}), ALL),
    ).rejects.toMatchObject({
      code: 'ARRAY_MISSING',
      message: `${path}: expected an array "qwery", got k [5, 7], query [5, 7], v [5, 7]`,
      suggestions: [
        'did you mean query?',
        'name the arrays with `queryName`, `keyName` and `valueName`',
      ],
    })
  })

  test('a file with many arrays lists the first twelve', async () => {
    const many = Array.from({length: 17}, (_, i) => [`layer${i + 10}`, counting(0, 1)] as const)
    const path = await save('many.npz', Object.fromEntries(many))
    await expect(loadInput(fileSpec(path), ALL)).rejects.toMatchObject({
      message: expect.stringMatching(/layer10 \[1\], .*layer21 \[1\] and 5 more$/),
    })
  })

  test('shapes that do not fit together are refused with all three', async () => {
    const path = await save('shapes.npz', {
      q: counting(0, 5, 7),
      k: counting(0, 11, 7),
      v: counting(0, 13, 7),
    })
    await expect(loadInput(fileSpec(path), ALL)).rejects.toMatchObject({
      code: 'SHAPE_MISMATCH',
      message:
        'shapes.npz: expected key and value of the same length, ' +
        'got query [1, 1, 5, 7], key [1, 1, 11, 7], value [1, 1, 13, 7]',
    })
  })

  test('an element that is not finite is named with its array', async () => {
    const v = counting(0, 5, 7)
    v.data[8] = NaN
    const path = await save('nan.npz', {q: counting(0, 5, 7), k: counting(0, 5, 7), v})
    await expect(loadInput(fileSpec(path), ALL)).rejects.toMatchObject({
      code: 'NOT_FINITE',
      message: `${path}[v]: expected finite float32 numbers, got NaN at [1, 1], 1 such of 35`,
    })
  })

  test('extras beyond the bound, and of types that cannot be read, stay unread', async () => {
    const sizes = {q: 4, k: 4, v: 4, gate: 4, layers: MAX_EXTRA_BYTES, small: 1}
    const header: Record<string, unknown> = {}
    let end = 0
    for (const [name, bytes] of Object.entries(sizes)) {
      const dtype = name === 'small' ? 'F8_E8M0' : name === 'layers' ? 'U8' : 'F32'
      const shape = dtype === 'F32' ? [1, 1] : [bytes]
      header[name] = {dtype, shape, data_offsets: [end, end + bytes]}
      end += bytes
    }
    const json = Buffer.from(JSON.stringify(header))
    const length = Buffer.alloc(8)
    length.writeBigUInt64LE(BigInt(json.length))
    const path = join(folder, 'extras.safetensors')
    await writeFile(path, Buffer.concat([length, json]))
    const handle = await open(path, 'r+')
    await handle.truncate(8 + json.length + end) // sparse zeros
    await handle.close()
    const input = await loadInput(fileSpec(path), ALL)
    expect([...input.extras.keys()]).toEqual(['gate'])
    expect(input.unreadExtras).toEqual(['small', 'layers'])
  })
})

describe('.npy files', () => {
  test.each([
    [
      [3, 5, 7],
      [1, 1, 5, 7],
    ],
    [
      [3, 2, 5, 7],
      [1, 2, 5, 7],
    ],
    [
      [3, 11, 2, 5, 7],
      [11, 2, 5, 7],
    ],
  ])('one file of shape %j is query, key and value of shape %j', async (shape, four) => {
    const path = await save('stacked.npy', {x: counting(0, ...shape)})
    const input = await loadInput(fileSpec(path), ALL)
    const count = elementCount(four)
    for (const [i, part] of [input.query, input.key, input.value].entries()) {
      expect(part.shape).toEqual(four)
      expect(part.data[0]).toBe(i * count)
      expect(part.data.length).toBe(count)
    }
  })

  test.each([[[5, 7]], [[2, 5, 7]], [[3, 7]], [[3, 1, 1, 2, 5, 7]]])(
    'one file of shape %j is refused',
    async shape => {
      const path = await save('unstacked.npy', {x: counting(0, ...shape)})
      await expect(loadInput(fileSpec(path), ALL)).rejects.toMatchObject({
        code: 'SHAPE_MISMATCH',
        message: expect.stringMatching(/stacked as \[3, L, D\], .*, got \[[\d, ]+\]$/),
      })
    },
  )

  test('three files are query, key and value in this order', async () => {
    const paths = [
      await save('one.npy', {x: counting(0, 3, 5, 7)}),
      await save('two.npy', {x: counting(1000, 3, 11, 7)}),
      await save('three.npy', {x: counting(2000, 3, 11, 13)}),
    ]
    const input = await loadInput(fileSpec(paths), ALL)
    expect(input.label).toBe('one.npy, two.npy, three.npy')
    expect([input.query, input.key, input.value].map(part => part.data[0])).toEqual([0, 1000, 2000])
    expect(input.value.shape).toEqual([1, 3, 11, 13])
  })

  test.each([
    ['two files', ['q.npy', 'k.npy']],
    ['four files', ['q.npy', 'k.npy', 'v.npy', 'x.npy']],
    ['a mixture', ['q.npy', 'k.npy', 'v.safetensors']],
  ])('%s are refused', async (_, paths) => {
    await expect(loadInput(fileSpec(paths), ALL)).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: `\`input\`: expected one file, several .npz or .safetensors files, or three .npy files in the order query, key, value, got ${paths.length} files: ${paths.join(', ')}`,
    })
  })
})

describe('seqLen', () => {
  const rows = async (seqLen: number | null, keyLen: number) => {
    const path = await save('cut.npz', {
      q: counting(0, 3, 5, 7),
      k: counting(0, 3, keyLen, 7),
      v: counting(0, 3, keyLen, 2),
    })
    return loadInput(fileSpec(path), {seqLen, seed: 0})
  }
  const lengths = ({query, key, value}: Awaited<ReturnType<typeof rows>>) =>
    [query, key, value].map(({shape}) => shape[2])

  test('cuts queries, keys and values of equal length alike', async () => {
    const input = await rows(2, 5)
    expect(lengths(input)).toEqual([2, 2, 2])
    expect(input.query.data[14]).toBe(35) // head 1 starts behind the cut of head 0
    expect(input.value.data[4]).toBe(10)
  })

  test('cuts only the queries when there are other keys', async () => {
    expect(lengths(await rows(2, 11))).toEqual([2, 11, 11])
  })

  test('of the whole length, or null, changes nothing', async () => {
    expect(lengths(await rows(5, 5))).toEqual([5, 5, 5])
    expect(lengths(await rows(null, 11))).toEqual([5, 11, 11])
  })

  test.each([6, 0, -1, 2.5])('%d is refused with the length of the file', async seqLen => {
    await expect(rows(seqLen, 5)).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: `\`seqLen\`: expected 1 to 5, the number of queries in cut.npz, got ${seqLen}`,
    })
  })
})

describe('generators', () => {
  const spec = {
    kind: 'generator' as const,
    name: 'ar1',
    batch: 2,
    heads: 3,
    head_dim: 7,
    value_dim: 11,
    key_len: null,
  } as const
  const shape = {batch: 2, heads: 3, queryLen: 5, keyLen: 5, headDim: 7, valueDim: 11, seed: 13}

  test('take sizes from the plan and length and seed from the cell', async () => {
    expect(await loadInput(spec, {seqLen: 5, seed: 13})).toEqual(generate('ar1', shape))
  })

  test('take a key length of their own', async () => {
    const input = await loadInput({...spec, key_len: 17}, {seqLen: 5, seed: 13})
    expect(input).toEqual(generate('ar1', {...shape, keyLen: 17}))
  })

  test('need a length', async () => {
    await expect(loadInput(spec, ALL)).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: '`seqLen`: expected a length for the generator ar1, got none',
    })
  })

  test('are refused by an unknown name, with the nearest', async () => {
    await expect(
      loadInput({...spec, name: 'ar2' as 'ar1'}, {seqLen: 5, seed: 0}),
    ).rejects.toMatchObject({
      code: 'UNKNOWN_NAME',
      suggestions: ['did you mean ar1?'],
    })
  })
})

test('a missing file is FILE_MISSING', async () => {
  await expect(loadInput(fileSpec('no-such.npz'), ALL)).rejects.toMatchObject({
    code: 'FILE_MISSING',
  })
})

describe('pinned files', () => {
  const parts = (start: number) => ({
    q: counting(start, 3, 5, 7),
    k: counting(1000, 3, 5, 7),
    v: counting(2000, 3, 5, 7),
    unused: counting(0, 2),
  })
  const changed = {
    code: 'FILE_CHANGED',
    message: expect.stringMatching(
      /^pinned.*: expected the bytes that the run began with, got others: .*`resume`, or start/,
    ),
  }

  test.each(['.npz', '.safetensors'])('give the data of their digest or none: %s', async format => {
    const path = await save(`pinned${format}`, parts(0))
    const spec = await pinInput(fileSpec(path))
    expect((await loadInput(spec, ALL)).query.data[1]).toBe(1)
    await save(`pinned${format}`, parts(500)) // the same shapes, other queries
    await expect(loadInput(spec, ALL)).rejects.toMatchObject(changed)
    await save(`pinned${format}`, parts(0))
    expect((await loadInput(spec, {...ALL, seqLen: 2})).query.shape).toEqual([1, 3, 2, 7])
  })

  test('as three .npy files, one of them big-endian', async () => {
    const paths: string[] = []
    for (const [name, array] of Object.entries(parts(0)).slice(0, 3)) {
      paths.push(await save(`pinned-${name}.npy`, {[name]: array}))
    }
    const [query = ''] = paths
    const bytes = await readFile(query)
    bytes.write('>', bytes.indexOf("'<f4'") + 1)
    const elements = Buffer.alloc(105 * 4)
    for (let i = 0; i < 105; i++) elements.writeFloatBE(i, 4 * i)
    await writeFile(query, Buffer.concat([bytes.subarray(0, bytes.length - 420), elements]))
    const spec = await pinInput(fileSpec(paths))
    expect((await loadInput(spec, ALL)).query.data[104]).toBe(104)
    await save('pinned-v.npy', {v: counting(7, 3, 5, 7)})
    await expect(loadInput(spec, ALL)).rejects.toMatchObject(changed)
  })

  test('are not hashed again where the arrays are known to be theirs', async () => {
    const path = await save('pinned-again.safetensors', parts(0))
    const spec = await pinInput(fileSpec(path))
    await loadInput(spec, {...ALL, extras: false})
    await save('pinned-again.safetensors', {...parts(0), unused: counting(9, 2)})
    const again = await loadInput(spec, {...ALL, extras: false})
    expect(again.query.data[1]).toBe(1)
    expect(again.extras.size).toBe(0)
    await expect(loadInput(spec, ALL)).rejects.toMatchObject(changed)
  })
})

describe('inputFacts', () => {
  const sizesOf = ({query, value}: Awaited<ReturnType<typeof loadInput>>): InputSizes => {
    const [batch, heads, queryLen, headDim] = query.shape
    const [, , keyLen, valueDim] = value.shape
    return {batch, heads, queryLen, keyLen, headDim, valueDim}
  }

  test.each([
    ['named arrays', ['sizes.npz'], {q: [3, 5, 7], k: [3, 11, 7], v: [3, 11, 2]}],
    ['a stack', ['sizes.npy'], {a: [3, 2, 5, 7]}],
    ['three files', ['sizes-q.npy', 'sizes-k.npy', 'sizes-v.npy'], {}],
  ])('are those that loading gives, at every length: %s', async (_, names, arrays) => {
    const paths = names.map(name => join(folder, name))
    const shapes = Object.entries(arrays)
    if (shapes.length > 0) {
      const filled = shapes.map(([name, shape]) => [name, counting(0, ...shape)] as const)
      await save(names[0]!, Object.fromEntries(filled))
    } else {
      for (const name of names) await save(name, {a: counting(0, 2, 5, 7)})
    }
    const loaded = await Promise.all(
      [2, null].map(seqLen => loadInput(fileSpec(paths), {seqLen, seed: 0})),
    )
    expect((await inputFacts(fileSpec(paths), [2, null])).sizes).toEqual(loaded.map(sizesOf))
  })

  test('come from headers: elements that are not finite do not matter', async () => {
    const broken = counting(Number.NaN, 5, 7)
    const path = await save('nan.npz', {q: broken, k: broken, v: broken})
    await expect(loadInput(fileSpec(path), ALL)).rejects.toMatchObject({code: 'NOT_FINITE'})
    const whole = {batch: 1, heads: 1, queryLen: 5, keyLen: 5, headDim: 7, valueDim: 7}
    expect((await inputFacts(fileSpec(path), [null])).sizes).toEqual([whole])
  })

  test('are refused where loading refuses shapes or lengths, in the same words', async () => {
    const two = await save('two.npy', {a: counting(0, 2, 5, 7)})
    const uneven = await save('uneven.npz', {
      q: counting(0, 5, 7),
      k: counting(0, 5, 6),
      v: counting(0, 5, 7),
    })
    const even = await save('even.npz', {
      q: counting(0, 5, 7),
      k: counting(0, 5, 7),
      v: counting(0, 5, 7),
    })
    for (const [path, seqLen] of [
      [two, null],
      [uneven, null],
      [even, 6],
    ] as const) {
      const refusal = await loadInput(fileSpec(path), {seqLen, seed: 0}).catch(error => error)
      expect(refusal).toBeInstanceOf(Error)
      await expect(inputFacts(fileSpec(path), [seqLen])).rejects.toThrow(refusal.message)
    }
  })

  test('of a generator make nothing', async () => {
    const sizes = {batch: 1, heads: 2, head_dim: 64, value_dim: 32, key_len: null}
    const spec = {kind: 'generator', name: 'gaussian', ...sizes} as const
    const huge = 2 ** 40
    const length = {queryLen: huge, keyLen: huge}
    const whole = {batch: 1, heads: 2, ...length, headDim: 64, valueDim: 32}
    expect(await inputFacts(spec, [huge])).toEqual({
      sizes: [whole],
      keyHeads: 2,
      projectedWidth: 0,
      loadingBytes: 0,
      masked: false,
    })
    await expect(inputFacts(spec, [null])).rejects.toMatchObject({code: 'BAD_OPTION'})
  })
})
