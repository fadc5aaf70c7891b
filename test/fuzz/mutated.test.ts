/**
 * Array files by the ten thousands, put together from wrong parts or damaged byte by byte, through the readers of the
 * formats: read whole, or refused by a typed error, within bounds of time and memory.
 */
import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import fc from 'fast-check'
import {afterAll, expect, test, vi} from 'vitest'
import {RfaError} from '../../src/errors.js'
import {readArrays, writeArrays} from '../../src/inputs/files/index.js'
import {layersOf} from '../../src/inputs/input-parts.js'
import {loadInput} from '../../src/inputs/load.js'
import {elementCount, type NdArray} from '../../src/inputs/nd-array.js'
import {FULL} from '../helpers/effort.js'
import {temporaryFolder} from '../helpers/folders.js'
import {npyFile, npzFile, safetensorsFile} from './array-files.js'
import {damaged} from './mutate.js'
import {beginWatch} from './watch.js'

/** Inputs of each of the six kinds. */
const EACH = FULL ? 4000 : 270

/** Memory that is said to be free, in bytes: what a file asks beyond that is refused. */
const FREE = 2 ** 26
/** Deflate packs 1032 bytes into one at most: https://zlib.net/zlib_tech.html, "Maximum Compression Factor". */
const PACKING = 1032
/** Widest element over narrowest stored one: a byte of a file becomes eight at most, of bfloat16 two. */
const WIDENING = 2

/** Files by their names: no disk is in the way of ten thousands. */
const files = vi.hoisted(() => new Map<string, Uint8Array>())
vi.mock(import('../../src/inputs/files/source.js'), async importOriginal => {
  const original = await importOriginal()
  return {
    ...original,
    openFile: async path => original.memorySource(path, Uint8Array.from(files.get(path)!)),
  }
})
vi.mock(import('../../src/free-memory.js'), async importOriginal => ({
  ...(await importOriginal()),
  readMemory: () => ({total: FREE, free: FREE}) as never,
}))

const folder = temporaryFolder()
const watch = beginWatch()
const told = {read: 0, refused: 0}
afterAll(async () => {
  await watch.end()
  const most = Math.round(watch.growth() / 2 ** 20)
  process.stderr.write(`${watch.count()} array files, ${JSON.stringify(told)}, ${most} MiB\n`)
})

/** What comes of an action, `undefined` where a typed error refuses it. */
async function orRefused<T>(action: () => Promise<T>): Promise<T | undefined> {
  try {
    return await action()
  } catch (error) {
    if (!(error instanceof RfaError)) throw error
    expect(error.message).toMatch(/./)
    expect(error.message.length).toBeLessThan(10_000)
    return undefined
  }
}

/** Reads a file with these bytes in both ways in which programs do. */
async function arraysOf(path: string, bytes: Uint8Array) {
  files.set(path, bytes)
  const read = await orRefused(async () => (await readArrays(path)).arrays)
  const held = [...(read?.values() ?? [])]
  for (const {shape, data} of held) expect(data.length).toBe(elementCount(shape))
  const sum = held.reduce((total, {data}) => total + data.byteLength, 0)
  expect(sum).toBeLessThanOrEqual(WIDENING * PACKING * bytes.length)
  const spec = {kind: 'file' as const, paths: [path], names: {query: 'q', key: 'k', value: 'v'}}
  const input = await orRefused(async () => {
    const [layer] = (await layersOf(spec)) ?? []
    return loadInput(spec, {seqLen: null, seed: 0, layer})
  })
  if (input) expect(input.key.data.length).toBe(elementCount(input.key.shape))
  told[read ? 'read' : 'refused']++
  return read
}

/** As many inputs of fast-check. */
const property = <T>(arbitrary: fc.Arbitrary<T>, check: (value: T) => Promise<void>) =>
  fc.assert(fc.asyncProperty(arbitrary, check), {numRuns: EACH, seed: 15})

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const watched = (path: string, bytes: Uint8Array) =>
  watch.over(`${path}: ${hex(bytes)}`, () => arraysOf(path, bytes))

test('.npy files of wrong parts', () =>
  property(npyFile, async bytes => void (await watched('a.npy', bytes))))

test('.safetensors files of wrong parts', () =>
  property(safetensorsFile, async bytes => void (await watched('a.safetensors', bytes))))

test('.npz files of wrong parts, none of which is read where a sum is wrong', () =>
  property(npzFile, async ({bytes, isWrong}) => {
    const arrays = await watched('a.npz', bytes)
    if (isWrong) expect(arrays).toBeUndefined()
  }))

const array = (shape: number[], dtype: 'float32' | 'float64' = 'float32'): NdArray => {
  const numbers = Array.from({length: elementCount(shape)}, (_, i) => i)
  const Kind = dtype === 'float32' ? Float32Array : Float64Array
  return {shape, dtype, data: Kind.from(numbers)}
}
const ARRAYS = {
  q: array([1, 2, 3, 4]),
  k: array([1, 2, 5, 4]),
  v: array([1, 2, 5, 3]),
  'noise.a': array([7], 'float64'),
}

test.each(['.npy', '.npz', '.safetensors'])('damaged copies of a %s file', async extension => {
  const path = join(folder, `sample${extension}`)
  await writeArrays(path, extension === '.npy' ? {q: array([3, 5, 7])} : ARRAYS)
  const bytes = readFileSync(path)
  const whole = await arraysOf(path, bytes)
  expect(whole?.size).toBe(extension === '.npy' ? 1 : 4)
  for (let n = 0; n < EACH; n++) {
    const name = `copy ${n} of ${extension}`
    const arrays = await watch.over(name, () => arraysOf(path, damaged(bytes, n)))
    if (extension === '.npz' && arrays) expect(arrays, name).toEqual(whole)
  }
})

test('no file asks for more memory than is free', () => {
  // the arrays themselves, a reordered copy, the same once more as an input, and what the engine has not collected
  expect(watch.growth()).toBeLessThan(8 * FREE)
})
