import {describe, expect, it} from 'vitest'
import {SpareMemory} from '../../../../src/backends/native/spare.js'

const MIB = 2 ** 18 // floats

describe('spare memory', () => {
  it('hands out an array of the length asked for, the last one given first, and each once', () => {
    const spare = new SpareMemory()
    const [first, other, last] = [new Float32Array(5), new Float32Array(7), new Float32Array(5)]
    for (const array of [first, other, last]) spare.give(array)
    expect(spare.take(5)).toBe(last)
    expect(spare.take(5)).toBe(first)
    expect(spare.take(5)).toBeUndefined()
    expect(spare.take(7)).toBe(other)
  })

  it('keeps 128 MiB and lets the oldest arrays go', () => {
    const spare = new SpareMemory()
    const arrays: Float32Array[] = Array.from({length: 4}, () => new Float32Array(40 * MIB))
    for (const array of arrays) spare.give(array)
    const taken = Array.from({length: 4}, () => spare.take(40 * MIB))
    expect(taken.map(array => array && arrays.indexOf(array))).toEqual([3, 2, 1, undefined])
  })

  it('has room again for what was taken', () => {
    const spare = new SpareMemory()
    const array = new Float32Array(128 * MIB)
    for (let i = 0; i < 3; i++) {
      spare.give(array)
      expect(spare.take(array.length)).toBe(array)
    }
  })

  it('does not keep an array that is larger than all of it', () => {
    const spare = new SpareMemory()
    spare.give(new Float32Array(128 * MIB + 1))
    expect(spare.take(128 * MIB + 1)).toBeUndefined()
  })

  it('lets arrays go first of the length that was not given for longest', () => {
    const spare = new SpareMemory()
    const lengths = [1, 2, 1, 3].map(n => n * MIB)
    for (const length of lengths) spare.give(new Float32Array(length))
    // 7 MiB are kept: of 123 more, 2 must go
    spare.give(new Float32Array(123 * MIB))
    expect(lengths.map(length => spare.take(length)?.length)).toEqual([
      ...[MIB, undefined, MIB, 3 * MIB],
    ])
  })

  it('keeps hundreds of arrays, and none once it was cleared', () => {
    const spare = new SpareMemory()
    for (let length = 1; length <= 500; length++) spare.give(new Float32Array(length))
    expect(spare.take(1)?.length).toBe(1)
    spare.expect(new Float32Array(700))
    spare.clear()
    expect([2, 500, 700].map(length => spare.take(length))).toEqual([
      ...[undefined, undefined, undefined],
    ])
  })

  it('keeps one array of any size for the next output of its length', () => {
    const spare = new SpareMemory()
    const [first, second] = [new Float32Array(17 * MIB), new Float32Array(17 * MIB)]
    spare.expect(first)
    spare.expect(second)
    expect(spare.take(MIB)).toBeUndefined()
    expect(spare.take(17 * MIB)).toBe(second)
    expect(spare.take(17 * MIB)).toBeUndefined()
  })
})
