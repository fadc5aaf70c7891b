/** Arrays of checks and suites: seeded, prime-shaped, on the host and as tensors. */
import type {CallShape, HostArray} from '../../attention/index.js'
import {hostData} from '../../attention/internal.js'
import {normals, randomStream} from '../../random/index.js'
import {tf} from '../../tf.js'

export type Sizes = Omit<CallShape, 'causal'>

/** Odd and pairwise different, so that a swapped axis cannot pass; small enough for every suite. */
export const SMALL: Sizes = {
  batch: 2,
  heads: 3,
  queryLen: 13,
  keyLen: 11,
  headDim: 5,
  valueDim: 7,
  numFeatures: 17,
}

/** A shape as test names print it: `B2-H3-L13-S11-D5-Dv7-M17`. */
export function shapeName(sizes: Sizes): string {
  const {batch, heads, queryLen, keyLen, headDim, valueDim, numFeatures} = sizes
  return `B${batch}-H${heads}-L${queryLen}-S${keyLen}-D${headDim}-Dv${valueDim}-M${numFeatures}`
}

/** Standard normals times `scale`, rounded to float32 as tensors hold them. */
export function hostNormals(name: string, shape: HostArray['shape'], scale = 1): HostArray {
  const length = shape.reduce((product, axis) => product * axis, 1)
  return {shape, data: Float32Array.from(drawnNormals(name, length), x => x * scale)}
}

const drawn = new Map<string, Float64Array>()

/** The stream of a name from its start; the same for every length, so drawn once for the longest. */
function drawnNormals(name: string, length: number): Float64Array {
  let found = drawn.get(name)
  if (!found || found.length < length) {
    found = Float64Array.from(normals(randomStream(20260, name), length))
    drawn.set(name, found)
  }
  return found.subarray(0, length)
}

/** Query, key and value of one call. */
export interface HostInputs {
  query: HostArray
  key: HostArray
  value: HostArray
}

/** Seeded inputs; queries and keys get `scale`, values stay standard normal. */
export function hostInputs(sizes: Sizes, scale = 1, name = 'inputs'): HostInputs {
  const {batch, heads, queryLen, keyLen, headDim, valueDim} = sizes
  return {
    query: hostNormals(`${name}.query`, [batch, heads, queryLen, headDim], scale),
    key: hostNormals(`${name}.key`, [batch, heads, keyLen, headDim], scale),
    value: hostNormals(`${name}.value`, [batch, heads, keyLen, valueDim]),
  }
}

/** A mask `[B, S]` that drops a scattered third of the keys and keeps the first of each row. */
export function scatteredMask({batch, keyLen}: Pick<Sizes, 'batch' | 'keyLen'>): Float32Array {
  const stream = randomStream(20260, 'mask')
  return Float32Array.from({length: batch * keyLen}, (_, i) =>
    i % keyLen === 0 || stream.uniform() > 1 / 3 ? 1 : 0,
  )
}

export function toTensor({data, shape}: HostArray): tf.Tensor4D {
  return tf.tensor4d(Float32Array.from(data), [...shape])
}

export function toTensors({query, key, value}: HostInputs) {
  return [toTensor(query), toTensor(key), toTensor(value)] as const
}

export function maskTensor(mask: ArrayLike<number>, batch: number): tf.Tensor2D {
  return tf.tensor2d(Float32Array.from(mask), [batch, mask.length / batch])
}

/** Arrays of any rank by name: noise, learned parameters. */
export type HostArrays = Readonly<
  Record<string, {shape: readonly number[]; data: Float32Array | Float64Array}>
>

export function namedTensors<T extends tf.Tensor = tf.Tensor>(
  arrays: HostArrays,
): Record<string, T> {
  return Object.fromEntries(
    Object.entries(arrays).map(([name, {shape, data}]) => [
      name,
      tf.tensor(Float32Array.from(data), [...shape]) as T,
    ]),
  )
}

/** Copies of the values of tensors made by `body`; all of its tensors are freed. */
export function compute(body: () => tf.Tensor): Float32Array
export function compute(body: () => tf.Tensor[]): Float32Array[]
export function compute(body: () => tf.Tensor | tf.Tensor[]): Float32Array | Float32Array[] {
  let single = false
  const data = hostData(() => {
    const result = body()
    single = !Array.isArray(result)
    return Object.fromEntries([result].flat().map((tensor, at) => [at, tensor]))
  })
  const copies = Object.values(data).map(values => Float32Array.from(values))
  return single ? copies[0]! : copies
}

/** Rows `first..last` (end excluded) of the third axis. */
export function sliceRows({data, shape}: HostArray, first: number, last: number): HostArray {
  const [batch, heads, length, width] = shape
  const out = new Float64Array(batch * heads * (last - first) * width)
  for (let head = 0; head < batch * heads; head++) {
    const rows = data.subarray((head * length + first) * width, (head * length + last) * width)
    out.set(rows, head * (last - first) * width)
  }
  return {shape: [batch, heads, last - first, width], data: out}
}
