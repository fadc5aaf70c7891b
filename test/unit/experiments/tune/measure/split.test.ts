import {describe, expect, it} from 'vitest'
import {countsOf, splitInput} from '../../../../../src/experiments/tune/measure/split.js'
import type {AttentionArray, AttentionInput} from '../../../../../src/inputs/attention-input.js'

const [HEADS, DIM] = [2, 3]

/** An array with the number of its text and token in each row. */
function array(batch: number, length: number): AttentionArray {
  const data = new Float32Array(batch * HEADS * length * DIM)
  data.forEach((_, at) => {
    const row = Math.floor(at / DIM)
    data[at] = 100 * Math.floor(row / (HEADS * length)) + (row % length)
  })
  return {shape: [batch, HEADS, length, DIM], data}
}

function input(batch: number, length: number, lengths?: number[]): AttentionInput {
  const [query, key, value] = [0, 1, 2].map(() => array(batch, length))
  const keyMask =
    lengths && Uint8Array.from(lengths.flatMap(own => Array.from({length}, (_, i) => +(i < own))))
  return {
    ...{label: 'made', query: query!, key: key!, value: value!},
    ...(keyMask && {keyMask}),
    ...{extras: new Map(), metadata: {}},
  }
}

const firsts = ({shape, data}: AttentionArray) =>
  Array.from({length: shape[0]}, (_, text) => data[text * HEADS * shape[2] * DIM])

describe('held-out tokens', () => {
  it('are every fifth text', () => {
    const {by, learned, heldOut} = splitInput(input(10, 7), 0.2, {causal: false})
    expect(by).toBe('texts')
    expect(firsts(heldOut.query)).toEqual([400, 900])
    expect(firsts(learned.key)).toEqual([0, 100, 200, 300, 500, 600, 700, 800])
  })

  it('are not among those that are learned on: texts with the same tokens are on one side', () => {
    const twice = input(10, 7, [7, 7, 7, 7, 5, 7, 5, 7, 7, 7])
    for (const {shape, data} of [twice.query, twice.key, twice.value]) {
      const size = data.length / shape[0]
      data.copyWithin(6 * size, 4 * size, 5 * size) // text 6 is text 4
      data.fill(-1, 6 * size + 5 * DIM, 6 * size + 7 * DIM) // its padding is not
    }
    const {learned, heldOut} = splitInput(twice, 0.2, {causal: false})
    expect(firsts(heldOut.query)).toEqual([400, 400])
    expect(firsts(learned.query)).toEqual([0, 100, 200, 300, 500, 700, 800, 900])
  })

  it('are the same texts of the model as it is', () => {
    const own = input(10, 9, [9, 8, 7, 6, 5, 4, 9, 9, 9, 6])
    const {data} = own.query
    const original = {...own, query: {...own.query, data: data.map(value => value + 0.5)}}
    const {learned, heldOut} = splitInput({...own, original}, 0.2, {causal: true})
    expect(firsts(heldOut.original!.query)).toEqual([400.5, 900.5])
    expect(heldOut.original!.query.shape).toEqual(heldOut.query.shape)
    expect(learned.original!.keyMask).toEqual(learned.keyMask)
    const single = {...input(1, 50), original: input(1, 50)}
    const tokens = splitInput(single, 0.2, {causal: true})
    const {original: held, ...rest} = tokens.heldOut
    expect(held).toEqual(rest)
  })

  it('are the last tokens where all texts are the same', () => {
    const same = input(3, 50)
    for (const {data} of [same.query, same.key, same.value]) {
      data.copyWithin(data.length / 3, 0, data.length / 3)
      data.copyWithin((2 * data.length) / 3, 0, data.length / 3)
    }
    const {by, learned, heldOut} = splitInput(same, 0.2, {causal: false})
    expect([by, learned.query.shape[0], learned.query.shape[2]]).toEqual(['tokens', 1, 40])
    expect(heldOut.query.shape).toEqual([1, HEADS, 10, DIM])
  })

  it('are one text of two', () => {
    const {learned, heldOut} = splitInput(input(2, 7), 0.2, {causal: false})
    expect([firsts(learned.value), firsts(heldOut.value)]).toEqual([[0], [100]])
  })

  it('lose the padding that all texts of their part have', () => {
    const {learned, heldOut} = splitInput(input(3, 9, [4, 6, 9]), 0.2, {causal: false})
    expect(learned.query.shape).toEqual([2, HEADS, 6, DIM])
    expect([...learned.keyMask!]).toEqual([1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1])
    expect(heldOut.keyMask).toBeUndefined()
    expect([learned, heldOut].map(countsOf)).toEqual([
      {texts: 2, tokens: 10},
      {texts: 1, tokens: 9},
    ])
  })

  it('are the last tokens of a single text', () => {
    const {by, learned, heldOut} = splitInput(input(1, 50), 0.2, {causal: true})
    expect(by).toBe('tokens')
    expect(learned.query.shape).toEqual([1, HEADS, 40, DIM])
    expect(firsts(heldOut.value)).toEqual([40])
    expect(heldOut.key.data[10 * DIM]).toBe(40)
  })

  it('are refused of a short text', () => {
    expect(() => splitInput(input(1, 15), 0.2, {causal: false})).toThrow(
      'made: expected at least two texts, or 16 tokens to hold 8 of them out, got one text of 15',
    )
  })
})
