/** Copies between parts of arrays, which is all that slicing, joining, padding, repeating and transposing do. */
import {expected} from '../../errors.js'
import type {Addon, NumberArray} from './addon.js'
import {sizeOf} from './storage.js'

/** Where an element lies: at `offset` plus each index times its stride, in elements. */
export interface Part {
  data: NumberArray
  offset: number
  strides: readonly number[]
}

/** Most axes that a layout has room for, before axes of one are left out. */
const ROOM = 16

/** Of each axis its length and both strides; written anew for each call, which has read it when it returns. */
const layout = new Float64Array(3 * ROOM)

/** Whether the addon copies arrays of a shape: it has room for `maxRank` axes longer than one. */
export function fitsCopy({maxRank}: Addon, shape: readonly number[]): boolean {
  return shape.length <= ROOM && shape.filter(length => length !== 1).length <= maxRank
}

/**
 * Copies each element of a shape from its place in one array to that in another of the same type.
 *
 * @param shape - one that {@link fitsCopy} takes; axes in the order of `to`
 * @throws {SHAPE_MISMATCH} where a place is outside of its array
 */
export function copyPart(addon: Addon, shape: readonly number[], from: Part, to: Part): void {
  if (sizeOf(shape) === 0) return
  checkWithin(shape, from)
  checkWithin(shape, to)
  let rank = 0
  for (let axis = 0; axis < shape.length; axis++) {
    if (shape[axis] === 1) continue
    layout[3 * rank] = shape[axis]!
    layout[3 * rank + 1] = from.strides[axis]!
    layout[3 * rank + 2] = to.strides[axis]!
    rank++
  }
  addon.stridedCopy(from.data, from.offset, to.data, to.offset, layout, rank)
}

/** The addon trusts what it is given. */
function checkWithin(shape: readonly number[], {data, offset, strides}: Part): void {
  let first = offset
  let last = offset
  for (let axis = 0; axis < shape.length; axis++) {
    const step = (shape[axis]! - 1) * strides[axis]!
    if (step < 0) first += step
    else last += step
  }
  if (Number.isInteger(first) && first >= 0 && Number.isInteger(last) && last < data.length) return
  const places = `places from 0 to ${data.length - 1}`
  throw expected('SHAPE_MISMATCH', 'native', places, `${first} to ${last}`)
}

/** All of an array that is dense in a shape. */
export function whole(data: NumberArray, shape: readonly number[]): Part {
  return {data, offset: 0, strides: stridesOf(shape)}
}

export function stridesOf(shape: readonly number[]): number[] {
  const strides: number[] = new Array(shape.length)
  let stride = 1
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    strides[axis] = stride
    stride *= shape[axis]!
  }
  return strides
}
