/** Parts of a call: one batch element, one head, other tokens. */
import type {HostArray} from '../../attention/index.js'
import {type HostArrays, type HostInputs, hostNormals} from './arrays.js'
import {type Call, hostCall} from './call.js'

/** Standard deviation of padding. */
export const PADDING = 9

/** Every array of the inputs, changed. */
export function mapInputs(
  {query, key, value}: HostInputs,
  change: (array: HostArray, name: keyof HostInputs) => HostArray,
): HostInputs {
  return {query: change(query, 'query'), key: change(key, 'key'), value: change(value, 'value')}
}

/** Part `index` of an axis of `[B, H, ..]`; an axis of length 1 is shared. */
function partOf<A extends HostArrays[string]>({shape, data}: A, axis: 0 | 1, index: number): A {
  if (shape[axis] === 1) return {shape, data} as A
  const size = data.length / (shape[0]! * (axis === 0 ? 1 : shape[1]!))
  return {
    shape: shape.with(axis, 1),
    data: data.slice(index * size, (index + 1) * size),
  } as unknown as A
}

/** The noise of one batch element (axis 0) or head (axis 1). */
function noisePart(noise: HostArrays, axis: 0 | 1, index: number): HostArrays {
  const entries = Object.entries(noise)
  return Object.fromEntries(entries.map(([name, array]) => [name, partOf(array, axis, index)]))
}

/** The call of one batch element, with its own noise. */
export function partOfBatch(given: Call, element: number): Call {
  const {inputs, noise, keyMask} = hostCall(given)
  const {keyLen} = given.sizes
  return {
    ...given,
    sizes: {...given.sizes, batch: 1},
    inputs: mapInputs(inputs, array => partOf(array, 0, element)),
    noise: noisePart(noise, 0, element),
    ...(keyMask && {keyMask: keyMask.slice(element * keyLen, (element + 1) * keyLen)}),
  }
}

/** The call of one head of a single batch element, with its own rows and noise. */
export function partOfHead(given: Call, head: number): Call {
  const {inputs, projection, noise} = hostCall(given)
  const {numFeatures, headDim} = given.sizes
  const rows = numFeatures * headDim
  return {
    ...given,
    sizes: {...given.sizes, heads: 1},
    inputs: mapInputs(inputs, array => partOf(array, 1, head)),
    noise: noisePart(noise, 1, head),
    ...(projection && {
      projection: {
        data: Float32Array.from(projection.data).subarray(head * rows, (head + 1) * rows),
        numFeatures,
        perHead: true,
      },
    }),
  }
}

/** Rows of the third axis in another order. */
export function reordered({data, shape}: HostArray, order: readonly number[]): HostArray {
  const [, , length, width] = shape
  const out = data.slice()
  for (let at = 0; at < out.length; at += width) {
    const row = (at / width) % length
    const head = Math.floor(at / width / length)
    const from = (head * length + order[row]!) * width
    out.set(data.subarray(from, from + width), at)
  }
  return {shape, data: out}
}

/** Rows from `first` on replaced by those of another array. */
export function replacedTokens(own: HostArray, other: HostArray, first: number): HostArray {
  const [, , length, width] = own.shape
  const data = own.data.map((x, at) =>
    Math.floor(at / width) % length < first ? x : other.data[at]!,
  )
  return {...own, data}
}

/** `extra` random rows after those of each head. @param scale - their standard deviation, large unless said otherwise */
export function padded(
  {shape, data}: HostArray,
  extra: number,
  name: string,
  scale = PADDING,
): HostArray {
  const [batch, heads, length, width] = shape
  const filler = hostNormals(name, [batch, heads, length + extra, width], scale)
  const size = length * width
  for (let head = 0; head < batch * heads; head++) {
    const own = data.subarray(head * size, (head + 1) * size)
    filler.data.set(own, head * (length + extra) * width)
  }
  return filler
}
