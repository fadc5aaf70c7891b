/** Files of arrays as inputs. */
import {join} from 'node:path'
import {writeArrays} from '../../src/inputs/files/index.js'
import type {FileSpec} from '../../src/inputs/input-files.js'
import {elementCount, type NdArray} from '../../src/inputs/nd-array.js'
import {temporaryFolder} from './folders.js'

/** An input as it is. */
export const ALL = {seqLen: null, seed: 0}

export const NAMES = {query: 'q', key: 'k', value: 'v'}

/** An input of files whose arrays are called q, k and v. */
export const fileSpec = (
  paths: string | readonly string[],
  rest: Partial<FileSpec> = {},
): FileSpec => ({
  ...{kind: 'file', paths: [paths].flat(), names: NAMES},
  ...rest,
})

/** Float32 elements `start, start + 1, ...`. */
export const counting = (start: number, ...shape: number[]): NdArray => ({
  shape,
  dtype: 'float32',
  data: Float32Array.from({length: elementCount(shape)}, (_, i) => start + i),
})

/** Writes arrays to a file of the folder. */
export function arraySaver(folder = temporaryFolder()) {
  return async (
    name: string,
    arrays: Record<string, NdArray>,
    metadata: Record<string, string> = {},
  ): Promise<string> => {
    const path = join(folder, name)
    await writeArrays(path, arrays, metadata)
    return path
  }
}
