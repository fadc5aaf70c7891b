/** Loops over plain arrays in C++; what they compute is defined where they are called. */
import {expected} from '../../errors.js'
import type {
  ArcCosineRowsCall,
  ErrorSums,
  ErrorSumsCall,
  HostLoops,
  NextTokensCall,
  PlaceNumbers,
  SoftmaxRowsCall,
} from '../../host-loops.js'
import type {Addon} from './addon.js'
import {nativeDraws} from './draws.js'
import {memory} from './storage.js'

/** Numbers of a head's sums, in the order of `ErrorSum` in `native/rfa.h`. */
const FIELDS = [
  'squares',
  'absolutes',
  'largest',
  'cosines',
  'notFinite',
  'rowSumDeviations',
  'spread',
] as const satisfies readonly (keyof ErrorSums)[]

/** The loops of the addon. They check sizes: C++ does not. */
export function nativeHostLoops(addon: Addon): Partial<HostLoops> {
  return {
    ...nativeDraws(addon),
    recycle: data => memory.recycle(data),
    release: () => {
      addon.releaseWorkspace()
      memory.release()
    },
    errorSums: call => errorSums(addon, call),
    pairProducts: (vectors, count) => pairProducts(addon, vectors, count),
    nextTokens: call => nextTokens(addon, call),
    softmaxRows: call => softmaxRows(addon, call),
    arcCosineRows: call => arcCosineRows(addon, call),
  }
}

function errorSums(addon: Addon, call: ErrorSumsCall): ErrorSums[] {
  const {estimate, exact, heads, valueDim, mean, count, group, groupStep} = call
  const rows = exact.length / (heads * valueDim)
  checkSize('heads', heads)
  checkSize('valueDim', valueDim)
  checkSize('groupStep', groupStep)
  checkSize('rows', rows)
  checkLength('estimate', estimate, Float32Array, heads * rows * (valueDim + 1))
  checkLength('exact', exact, Float64Array, heads * rows * valueDim)
  checkLength('mean', mean, Float32Array, heads * rows * valueDim)
  if (group) {
    checkLength('group', group, Float32Array, Math.ceil((heads * rows) / groupStep) * valueDim)
  }
  const out = new Float64Array(heads * FIELDS.length)
  const rowsSum = new Float64Array(heads * valueDim).fill(Number.NaN) // an earlier build does not write it
  const sizes = {heads, rows, valueDim, groupStep}
  addon.errorSums({...sizes, estimate, exact, mean, share: 1 / count, group, out, rowsSum})
  return Array.from({length: heads}, (_, head) => {
    const sums = FIELDS.map((field, i) => [field, out[head * FIELDS.length + i]!] as const)
    const numbers = Object.fromEntries(sums) as Record<(typeof FIELDS)[number], number>
    return {...numbers, rowsSum: rowsSum.subarray(head * valueDim, (head + 1) * valueDim)}
  })
}

function pairProducts(addon: Addon, vectors: Float32Array, count: number): Float64Array {
  const length = vectors.length / count
  checkSize('count', count)
  checkSize('length', length)
  checkLength('vectors', vectors, Float32Array, count * length)
  const out = new Float64Array((count * (count - 1)) / 2)
  if (count > 1) addon.pairProducts({count, length, vectors, out})
  return out
}

function nextTokens(addon: Addon, {original, exchanged, next}: NextTokensCall): PlaceNumbers {
  const places = next.length
  const vocabulary = original.length / places
  checkSize('places', places)
  checkSize('vocabulary', vocabulary)
  checkLength('original', original, Float32Array, places * vocabulary)
  checkLength('exchanged', exchanged, Float32Array, places * vocabulary)
  const unknown = next.find(token => token < -1 || token >= vocabulary)
  if (unknown !== undefined) {
    throw expected('SHAPE_MISMATCH', 'host loops', `tokens below ${vocabulary}`, `${unknown}`)
  }
  const out = new Float64Array(4 * places)
  addon.nextTokens({original, exchanged, next, places, vocabulary, out})
  const field = (at: number) => out.subarray(at * places, (at + 1) * places)
  return {original: field(0), exchanged: field(1), kl: field(2), agreement: field(3)}
}

function arcCosineRows(addon: Addon, {keyLength, ...call}: ArcCosineRowsCall): void {
  const absent = {keyBias: undefined, logConstant: undefined, lse: undefined, entropy: undefined}
  const rows = {...call, scale: undefined, ...absent}
  const sizes = checkRows(rows)
  checkLength('keyLength', keyLength, Float64Array, sizes.keyLen)
  addon.exactSoftmax({...rows, ...sizes, keyLength})
}

function softmaxRows(addon: Addon, call: SoftmaxRowsCall): void {
  addon.exactSoftmax({...call, ...checkRows(call)})
}

/** The sizes of a call. @throws {SHAPE_MISMATCH} where its arrays have others */
function checkRows(call: SoftmaxRowsCall) {
  const {query, key, scale, headDim, keyBias, value, valueDim, logConstant, out, lse, entropy} =
    call
  checkSize('headDim', headDim)
  const queryLen = query.length / headDim
  const keyLen = key.length / headDim
  checkSize('queryLen', queryLen)
  checkSize('keyLen', keyLen)
  const type = scale === undefined ? Float64Array : Float32Array
  checkLength('query', query, type, queryLen * headDim)
  checkLength('key', key, type, keyLen * headDim)
  if (value || out) {
    checkSize('valueDim', valueDim)
    checkLength('value', value, Float32Array, keyLen * valueDim)
    checkLength('out', out, Float64Array, queryLen * valueDim)
  }
  if (keyBias) checkLength('keyBias', keyBias, Float64Array, keyLen)
  for (const [name, rows] of Object.entries({logConstant, lse, entropy})) {
    if (rows) checkLength(name, rows, Float64Array, queryLen)
  }
  return {queryLen, keyLen, valueDim: value ? valueDim : 0}
}

/** @throws {SHAPE_MISMATCH} unless a size is a whole number, at least 1 */
function checkSize(name: string, size: number): void {
  if (Number.isSafeInteger(size) && size > 0) return
  throw expected('SHAPE_MISMATCH', 'host loops', `${name} to be a whole number`, `${size}`)
}

/** @throws {SHAPE_MISMATCH} unless an array has a type and a length */
function checkLength(
  name: string,
  array: Float32Array | Float64Array | undefined,
  type: typeof Float32Array | typeof Float64Array,
  length: number,
): void {
  if (array instanceof type && array.length === length) return
  const got = array ? `${array.constructor.name} of ${array.length}` : 'none'
  throw expected('SHAPE_MISMATCH', 'host loops', `${name}: ${type.name} of ${length}`, got)
}
