/** Whether what a caller passes is a tensor that can be computed with: said before any backend sees it. */

import {describe, expected, type RfaError} from '../errors.js'
import {tf} from '../tf.js'

/** What is looked at; the tensors of a kernel's call have no more. */
export type TensorLike = Pick<tf.TensorInfo, 'shape' | 'dtype'> & {isDisposed?: boolean}

/** Element types of masks, where anything but zero means present. */
export const MASK_TYPES: readonly tf.DataType[] = ['float32', 'int32', 'bool']
const FLOATS: readonly tf.DataType[] = ['float32']

/**
 * Refuses anything but a live tensor of the expected element type.
 *
 * @param where - name of the argument
 * @param dtypes - element types that are taken. Default: float32 alone
 * @throws {BAD_OPTION}
 */
export function checkTensor(
  where: string,
  given: unknown,
  dtypes: readonly tf.DataType[] = FLOATS,
): asserts given is tf.Tensor {
  if (!(given instanceof tf.Tensor))
    throw expected('BAD_OPTION', where, 'a tensor', describe(given))
  checkElements(where, given, dtypes)
}

/** {@link checkTensor} of what is known to be a tensor. */
export function checkElements(
  where: string,
  {dtype, isDisposed}: TensorLike,
  dtypes: readonly tf.DataType[] = FLOATS,
): void {
  if (isDisposed) throw disposed(where)
  if (dtypes.includes(dtype)) return
  const remedy = dtype === 'string' || dtype === 'complex64' ? [] : ["use tf.cast(x, 'float32')"]
  throw expected('BAD_OPTION', where, `a ${dtypes.join(', ')} tensor`, dtype, ...remedy)
}

export function disposed(where: string): RfaError {
  const remedy = 'dispose of a tensor after its last use; keep one beyond its tf.tidy with tf.keep'
  return expected('BAD_OPTION', where, 'a tensor in use', 'a disposed one', remedy)
}

/** Whether a shape is the wanted one; the first `shared` axes may be 1 instead. */
export function hasShape(shape: readonly number[], wanted: readonly number[], shared = 0): boolean {
  if (shape.length !== wanted.length) return false
  for (let i = 0; i < shape.length; i++) {
    if (shape[i] !== wanted[i] && !(i < shared && shape[i] === 1)) return false
  }
  return true
}

/** Refuses an options object that is none. @throws {BAD_OPTION} */
export function checkObject(where: string, given: unknown): asserts given is object {
  if (typeof given === 'object' && given !== null) return
  throw expected('BAD_OPTION', where, 'an object', describe(given))
}

/** @throws {BAD_OPTION} unless it is true or false */
export function checkFlag(where: string, given: unknown): asserts given is boolean {
  if (typeof given !== 'boolean')
    throw expected('BAD_OPTION', where, 'true or false', describe(given))
}

/** @throws {BAD_OPTION} unless it is a finite number */
export function checkNumber(where: string, given: unknown): asserts given is number {
  if (Number.isFinite(given)) return
  throw expected('BAD_OPTION', where, 'a finite number', describe(given))
}

/**
 * @param prefix - before the names of sizes in messages
 * @throws {BAD_OPTION} for a size that is not a whole number of at least 1
 */
export function checkSizes(sizes: Record<string, unknown>, prefix = ''): void {
  for (const [name, size] of Object.entries(sizes)) {
    if (Number.isSafeInteger(size) && Number(size) >= 1) continue
    throw expected('BAD_OPTION', `${prefix}${name}`, 'a whole number of at least 1', describe(size))
  }
}

/** Most random vectors of a head: a matrix of 64 columns then has 4 GiB. */
const MAX_FEATURES = 2 ** 24

/** Numbers in an array that is drawn, at most: JavaScript has no arrays much longer. */
const MAX_NUMBERS = 2 ** 31

/** @throws {BAD_OPTION} unless it is a whole number from 1 to {@link MAX_FEATURES} */
export function checkFeatures(numFeatures: unknown): void {
  checkSizes({numFeatures})
  if (Number(numFeatures) <= MAX_FEATURES) return
  throw expected('BAD_OPTION', 'numFeatures', `at most ${MAX_FEATURES}`, String(numFeatures))
}

/** @param sizes - factors of the number of numbers @throws {BAD_OPTION} for more than an array can hold */
export function checkNumbers(where: string, sizes: Record<string, number>): void {
  const count = Object.values(sizes).reduce((product, size) => product * size, 1)
  if (count <= MAX_NUMBERS) return
  const names = Object.keys(sizes).join(' x ')
  const got = Object.values(sizes).join(' x ')
  throw expected('BAD_OPTION', where, `${names} of at most ${MAX_NUMBERS} numbers`, got)
}

/** Error of an array that comes with a step of a decoder, or belongs to its state, in another shape. */
export function stepMismatch(
  name: string,
  wanted: readonly number[],
  got: readonly number[],
): RfaError {
  const array = `${name} ${describe([...wanted])}`
  return expected('SHAPE_MISMATCH', 'decoder', array, describe([...got]))
}
