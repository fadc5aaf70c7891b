/** Random arrays other than projections: drawn by name, row by row, so that a longer call extends a shorter one. */

import {describe, expected, unknownName} from '../../errors.js'
import {hostLoops} from '../../host-loops.js'
import {type RandomStream, randomStream, streamKey} from '../../random/index.js'
import {tf} from '../../tf.js'
import {checkNumbers, checkObject, checkTensor, hasShape} from '../check-tensor.js'
import type {CallShape} from '../types.js'

/** One random array of an estimator: `[B, H, rows, columns]`. */
export interface NoiseSpec {
  /** `normal`: N(0, 1); `uniform`: multiples of 2^-24 in [0, 1); `sign`: -1 or 1. */
  distribution: 'normal' | 'uniform' | 'sign'
  rows: number
  columns: number
  /** All batch elements share it: `[1, H, rows, columns]`. Default false. */
  shared?: boolean
}

/** A method as far as its random arrays go. */
interface Drawing {
  noise?(shape: CallShape, options: Record<string, unknown>): Record<string, NoiseSpec>
}

/** Random arrays by name. */
export type Noise = Readonly<Record<string, tf.Tensor4D>>

/** What a draw depends on in addition to its name and place. */
export interface NoiseSeed {
  seed: number
  replicate: number
}

/** Overwrites a row with the first numbers of its stream. */
const FILL: Record<NoiseSpec['distribution'], (stream: RandomStream, row: Float32Array) => void> = {
  normal: (stream, row) => stream.fillNormals(row),
  uniform(stream, row) {
    // a double could round to 1 in float32
    for (let i = 0; i < row.length; i++) row[i] = (stream.uint32() >>> 8) / 2 ** 24
  },
  sign(stream, row) {
    for (let i = 0; i < row.length; i++) row[i] = stream.uint32() & 1 ? 1 : -1
  },
}

/**
 * Draws one array on the host. Each row of each head has its own stream: neither the number of rows nor the
 * number of batch elements changes the numbers of the others.
 *
 * @param firstRow - row that the array begins with. Default 0.
 * @returns `[B or 1, H, rows, columns]`, row-major
 * @throws {UNKNOWN_NAME | BAD_OPTION} for another distribution, or more numbers than an array can hold
 */
export function drawNoise(
  name: string,
  spec: NoiseSpec,
  {batch, heads}: Pick<CallShape, 'batch' | 'heads'>,
  {seed, replicate}: NoiseSeed,
  firstRow = 0,
): Float32Array {
  checkObject(`noise.${name}`, spec)
  const {distribution, rows, columns, shared = false} = spec
  const count = (shared ? 1 : batch) * heads
  if (!Object.hasOwn(FILL, distribution))
    throw unknownName(`noise.${name}`, 'distributions', distribution, Object.keys(FILL))
  checkNumbers(`noise.${name}`, {heads: count, rows, columns})
  const out = new Float32Array(count * rows * columns)
  const own = distribution === 'normal' && out.length > 0 ? hostLoops().normalBlocks : undefined
  if (own) {
    const place = {replicate, head: 0, block: firstRow}
    const sizes = {replicates: 1, heads: count, length: rows * columns, blockLength: columns}
    own({key: streamKey(seed, `noise.${name}`), ...place, ...sizes, out})
    return out
  }
  for (let row = 0; row < count * rows; row++) {
    const place = [replicate, Math.floor(row / rows), firstRow + (row % rows)]
    const stream = randomStream(seed, `noise.${name}`, ...place)
    FILL[distribution](stream, out.subarray(row * columns, (row + 1) * columns))
  }
  return out
}

/** {@link drawNoise} on the current backend. */
export function noiseTensor(
  name: string,
  spec: NoiseSpec,
  sizes: Pick<CallShape, 'batch' | 'heads'>,
  seed: NoiseSeed,
  firstRow = 0,
): tf.Tensor4D {
  return tf.tensor4d(drawNoise(name, spec, sizes, seed, firstRow), noiseShape(spec, sizes))
}

function noiseShape(
  {rows, columns, shared}: NoiseSpec,
  {batch, heads}: Pick<CallShape, 'batch' | 'heads'>,
): [number, number, number, number] {
  return [shared ? 1 : batch, heads, rows, columns]
}

/** The random arrays that an estimator takes in a call of this shape. */
export function noiseSpecs(
  estimator: Drawing,
  shape: CallShape,
  options: Record<string, unknown>,
): Record<string, NoiseSpec> {
  return estimator.noise?.(shape, options) ?? {}
}

/**
 * All random arrays of a call: those given, checked, and the others drawn.
 *
 * @throws {UNKNOWN_NAME} for an array that the estimator does not take
 * @throws {SHAPE_MISMATCH} for one of another shape
 */
export function callNoise(
  estimator: Drawing & {name: string},
  shape: CallShape,
  options: Record<string, unknown>,
  given: Noise,
  seed: NoiseSeed,
): Noise {
  const specs = noiseSpecs(estimator, shape, options)
  checkArrays(
    estimator.name,
    'noise',
    given,
    Object.fromEntries(
      Object.entries(specs).map(([name, spec]) => [name, noiseShape(spec, shape)]),
    ),
  )
  return Object.fromEntries(
    Object.entries(specs).map(([name, spec]) => [
      name,
      given[name] ?? noiseTensor(name, spec, shape, seed),
    ]),
  )
}

/**
 * Checks arrays given by name.
 *
 * @param what - `noise` or `parameters`
 * @param shapes - the names that are taken, with their shapes
 * @throws {UNKNOWN_NAME | BAD_OPTION | SHAPE_MISMATCH}
 */
export function checkArrays(
  method: string,
  what: string,
  given: Readonly<Record<string, tf.Tensor>>,
  shapes: Readonly<Record<string, readonly number[]>>,
): void {
  checkObject(`${method}.${what}`, given)
  const known = Object.keys(shapes)
  for (const [name, tensor] of Object.entries(given)) {
    const shape = Object.hasOwn(shapes, name) ? shapes[name] : undefined
    if (!shape && known.length > 0) throw unknownName(`${method}.${what}`, 'arrays', name, known)
    if (!shape) throw expected('UNKNOWN_NAME', `${method}.${what}`, 'no arrays', describe(name))
    checkTensor(`${method}.${what}.${name}`, tensor)
    if (hasShape(tensor.shape, shape)) continue
    const where = `${method}.${what}.${name}`
    throw expected('SHAPE_MISMATCH', where, describe(shape), describe(tensor.shape))
  }
}
