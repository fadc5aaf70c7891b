/** Queries, keys, values and one projection, the same for every engine. */
import {mkdirSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {drawProjection} from '../../src/index.js'
import {normals, randomStream} from '../../src/random/index.js'
import {NUM_FEATURES, SHAPE} from './cases.js'

/** Arrays of one length, and the folder with a file of raw float32 for each. */
export interface Inputs {
  folder: string
  /** `[H, L, D]`, standard normal */
  query: Float32Array
  key: Float32Array
  value: Float32Array
  /** `[M, D]`, shared by all heads: orthogonal rows, then the same with the other sign, as some peers need them */
  projection: Float32Array
}

/** Draws and writes the arrays of `tokens` tokens, in a folder of their own in `parent`. */
export function writeInputs(parent: string, tokens: number): Inputs {
  const folder = join(parent, `${tokens}`)
  mkdirSync(folder)
  const {heads, headDim} = SHAPE
  const draw = (name: string) =>
    Float32Array.from(normals(randomStream(0, `bench.peers.${name}`), heads * tokens * headDim))
  const arrays = {
    query: draw('query'),
    key: draw('key'),
    value: draw('value'),
    projection: projectionRows(),
  }
  for (const [name, data] of Object.entries(arrays))
    writeFileSync(join(folder, `${name}.f32`), data)
  return {folder, ...arrays}
}

function projectionRows(): Float32Array {
  const half = NUM_FEATURES / 2
  const request = {name: 'orth', heads: 1, numFeatures: half, headDim: SHAPE.headDim} as const
  const rows = drawProjection({...request, seed: 0})
  return Float32Array.from([...rows, ...rows.map(entry => -entry)])
}
