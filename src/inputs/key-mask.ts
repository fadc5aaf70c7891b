/** Which keys take part: padding of a batch has none. */
import {describe, expected} from '../errors.js'
import type {NdArray} from './nd-array.js'

/** `[B, S]`, row-major: 1 where a key takes part, 0 where it does not. */
export type KeyMask = Uint8Array<ArrayBuffer>

/** Name of the array in files where no other is given. */
export const KEY_MASK = 'key_mask'

/** The same under names of others, and whether nonzero hides a key there: masks of Transformers, and of PyTorch's layers. */
export const OTHER_MASKS: ReadonlyMap<string, {hides: boolean}> = new Map([
  ['attention_mask', {hides: false}],
  ['key_padding_mask', {hides: true}],
])

const ADDITIVE = 'a mask that is added to logits becomes one by `mask == 0`'

/**
 * Reads a mask as files hold it: anything but zero is a key that takes part; of floats 0 and 1 alone, as others are
 * rather added to logits.
 *
 * @param array - `[B, S]`, or `[S]` of a single sequence; axes of one between them do not count
 * @param where - its name in messages
 * @param sizes.hides - whether anything but zero is a key that does not take part. Default: false
 * @throws {SHAPE_MISMATCH} for another shape
 * @throws {BAD_FILE} for floats other than 0 and 1
 */
export function toKeyMask(
  array: NdArray,
  where: string,
  {batch, keyLen, hides = false}: {batch: number; keyLen: number; hides?: boolean | undefined},
): KeyMask {
  const {data, dtype} = array
  checkMaskShape(array.shape, where, batch, keyLen)
  const mask = new Uint8Array(data.length)
  const strict = /float/.test(dtype)
  for (let i = 0; i < mask.length; i++) {
    const element = Number(data[i])
    if (strict && element !== 0 && element !== 1) {
      throw expected('BAD_FILE', where, '0 and 1 (or bool, or integers)', String(element), ADDITIVE)
    }
    mask[i] = (element === 0) === hides ? 1 : 0
  }
  return mask
}

/** @throws {SHAPE_MISMATCH} for a mask of other axes than {@link toKeyMask} takes */
export function checkMaskShape(
  shape: readonly number[],
  where: string,
  batch: number,
  keyLen: number,
): void {
  const rows = shape.length === 1 ? 1 : shape[0]
  const axes = shape.length > 0 && shape.slice(1, -1).every(axis => axis === 1)
  if (axes && rows === batch && shape.at(-1) === keyLen) return
  const rule = 'a row for each sequence and a column for each key, without axes of heads or queries'
  throw expected('SHAPE_MISMATCH', where, describe([batch, keyLen]), describe(shape), rule)
}

/**
 * The first `length` keys of each sequence.
 *
 * @param mask - `[B, S]` @param keyLen - S
 * @returns `[B, length]`; `undefined` where it hides nothing
 * @throws {BAD_FILE | BAD_OPTION} when a sequence has no key, or none before the cut
 */
export function cutKeyMask(
  mask: KeyMask,
  keyLen: number,
  length: number,
  label: string,
): KeyMask | undefined {
  const batch = mask.length / keyLen
  const own = length === keyLen ? mask : new Uint8Array(batch * length)
  for (let b = 0; b < batch; b++) {
    const row = mask.subarray(b * keyLen, b * keyLen + length)
    if (own !== mask) own.set(row, b * length)
    if (!row.includes(1)) throw nothingInView(label, b, {length, keyLen})
  }
  return own.includes(0) ? own : undefined
}

function nothingInView(
  label: string,
  b: number,
  {length, keyLen}: {length: number; keyLen: number},
) {
  const where = `${label}, key mask of sequence ${b}`
  const cut = length < keyLen
  const what = 'a key that takes part'
  const got = `none among ${cut ? `the first ${length} of ${keyLen}` : `its ${keyLen}`}`
  const remedy = cut ? 'take a longer `seqLen`' : 'leave the sequence out of the file'
  const other =
    'nonzero means that a key takes part, as in boolean masks of PyTorch; if your mask is true for padding, invert it'
  return expected(cut ? 'BAD_OPTION' : 'BAD_FILE', where, what, got, remedy, other)
}

/** How many keys of all sequences a mask hides. */
export function hiddenKeys(mask: KeyMask | undefined): number {
  let count = 0
  for (const present of mask ?? []) if (present === 0) count++
  return count
}

/** Places of the tokens of one sequence that take part. @param row - `[S]` of the mask */
export function placesInView(row: KeyMask): Int32Array {
  const places: number[] = []
  row.forEach((present, place) => {
    if (present) places.push(place)
  })
  return Int32Array.from(places)
}
