/** Damaged array files: a typed error, or what the file says; from .npz the same arrays or none. */
import {readFileSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {expect, test} from 'vitest'
import {RfaError} from '../../src/errors.js'
import {ARRAY_EXTENSIONS, readArrays, writeArrays} from '../../src/inputs/files/index.js'
import {layersOf} from '../../src/inputs/input-parts.js'
import {loadInput} from '../../src/inputs/load.js'
import {elementCount, type NdArray} from '../../src/inputs/nd-array.js'
import {SLOW} from '../helpers/effort.js'
import {temporaryFolder} from '../helpers/folders.js'
import {DAMAGES, damaged, PATIENCE} from './mutate.js'

const folder = temporaryFolder()

const counting = (dtype: 'float32' | 'float64' | 'uint8', ...shape: number[]): NdArray => {
  const numbers = Array.from({length: elementCount(shape)}, (_, i) => i)
  const data = {
    float32: Float32Array.from(numbers),
    float64: Float64Array.from(numbers),
    uint8: Uint8Array.from(numbers),
  }[dtype]
  return {shape, dtype, data}
}
const ARRAYS = {
  q: counting('float32', 1, 3, 5),
  'noise.a': counting('float64', 7),
  gate: counting('uint8', 2, 11),
}

/** The arrays of the file with these bytes; `undefined` where it is refused by a typed error. */
async function arraysOf(path: string, bytes: Uint8Array) {
  writeFileSync(path, bytes)
  try {
    return (await readArrays(path)).arrays
  } catch (error) {
    if (error instanceof RfaError) return undefined
    throw error
  }
}

async function sample(extension: string) {
  const path = join(folder, `sample${extension}`)
  await writeArrays(path, extension === '.npy' ? {q: ARRAYS.q} : ARRAYS)
  return {path, bytes: readFileSync(path)}
}

test.each(ARRAY_EXTENSIONS)(
  'damaged copies of a %s file',
  async extension => {
    const {path, bytes} = await sample(extension)
    const whole = await arraysOf(path, bytes)
    expect(whole?.size).toBe(extension === '.npy' ? 1 : 3)
    for (let n = 0; n < DAMAGES; n++) {
      const arrays = await arraysOf(path, damaged(bytes, n))
      if (extension === '.npz' && arrays) expect(arrays, `copy ${n}`).toEqual(whole)
      for (const {shape, data} of arrays?.values() ?? []) {
        expect(data.length, `copy ${n}`).toBe(elementCount(shape))
      }
    }
  },
  PATIENCE,
)

test(
  'no flipped bit of a .npz file drops, renames or changes an array',
  async () => {
    const {path, bytes} = await sample('.npz')
    const whole = await arraysOf(path, bytes)
    const step = SLOW ? 1 : 101 // prime: every bit of a byte gets its turn
    for (let bit = 0; bit < 8 * bytes.length; bit += step) {
      const flipped = Buffer.from(bytes)
      flipped[bit >> 3]! ^= 1 << (bit & 7)
      const arrays = await arraysOf(path, flipped)
      if (arrays) expect(arrays, `bit ${bit}`).toEqual(whole)
    }
  },
  PATIENCE,
)

test.each(['.npz', '.safetensors'])(
  'damaged copies of a %s file of layers, shared heads, a mask and texts are read whole or refused',
  async extension => {
    const path = join(folder, `layers${extension}`)
    const layers = [0, 10].flatMap(layer => [
      [`layers.${layer}.q`, counting('float32', 2, 4, 3, 2)],
      [`layers.${layer}.k`, counting('float32', 2, 2, 3, 2)],
      [`layers.${layer}.v`, counting('float32', 2, 2, 3, 5)],
    ])
    const mask = {...counting('uint8', 2, 3), data: Uint8Array.of(1, 1, 0, 1, 1, 1)}
    const texts = {scale: '0.5', 'layers.10.scale': '0.25', layout: 'bhld', causal: 'true'}
    await writeArrays(path, {...Object.fromEntries(layers), key_mask: mask}, texts)
    const bytes = readFileSync(path)
    const names = {query: 'q', key: 'k', value: 'v'}
    const spec = {kind: 'file' as const, paths: [path], names}
    /** Inputs of all layers; `undefined` where a typed error refuses them. */
    const inputsOf = async (copy: Uint8Array) => {
      writeFileSync(path, copy)
      try {
        const all = (await layersOf(spec)) ?? [undefined]
        return await Promise.all(all.map(layer => loadInput(spec, {seqLen: null, seed: 0, layer})))
      } catch (error) {
        if (error instanceof RfaError) return undefined
        throw error
      }
    }
    expect(await inputsOf(bytes)).toHaveLength(2)
    for (let n = 0; n < DAMAGES; n++) {
      for (const {query, key, keyMask, logitScale = 1} of (await inputsOf(damaged(bytes, n))) ??
        []) {
        expect(key.shape.slice(0, 2), `copy ${n}`).toEqual(query.shape.slice(0, 2))
        expect(key.data.length, `copy ${n}`).toBe(elementCount(key.shape))
        expect(logitScale, `copy ${n}`).toBeGreaterThan(0)
        if (keyMask) expect(keyMask.length, `copy ${n}`).toBe(key.shape[0] * key.shape[2])
      }
    }
  },
  PATIENCE,
)
