import {afterEach, beforeEach, describe, expect, it} from 'vitest'
import type {ExactTarget} from '../../../../../src/attention/index.js'
import {
  computeTruth,
  overall,
  overYardstick,
  yardsticks,
} from '../../../../../src/experiments/error-sweep/measure/truth.js'
import {RAW_TARGET} from '../../../../../src/experiments/method.js'
import {bringHostLoops} from '../../../../../src/host-loops.js'
import {FLOAT32_ROUNDOFF} from '../../../../../src/theory/rounding.js'

beforeEach(() => bringHostLoops({}))
afterEach(() => bringHostLoops({}))

/** One head of so many tokens of one dimension, all zeros. */
function tokens(length: number) {
  const array = {
    shape: [1, 1, length, 1] as [number, number, number, number],
    data: new Float32Array(length),
  }
  return {label: '', query: array, key: array, value: array, extras: new Map(), metadata: {}}
}

const options = (target: ExactTarget) => ({target, logitScale: 1, causal: false})

it('is in double precision by the loop of a backend, whatever the work, with its entropies', () => {
  bringHostLoops({
    softmaxRows({out, entropy}) {
      out!.fill(2)
      entropy?.fill(3)
    },
  })
  // 8.6e9 multiply-adds: above the budget of plain loops
  const {truth, entropies} = computeTruth(tokens(65_536), options(RAW_TARGET))
  expect(truth.precision).toBe('float64')
  expect([truth.output.length, truth.output.at(-1)]).toEqual([65_536, 2])
  expect([entropies!.length, entropies!.at(-1)]).toEqual([65_536, 3])
})

it('has no entropies of another target, nor without a loop', () => {
  expect(computeTruth(tokens(3), options(RAW_TARGET)).entropies).toBeUndefined()
  bringHostLoops({softmaxRows() {}})
  const scaled = {...RAW_TARGET, inputScale: 2}
  expect(computeTruth(tokens(3), options(scaled)).entropies).toBeUndefined()
})

const shape = (length: number, dim: number) =>
  [1, 2, length, dim] as [number, number, number, number]
/** Two heads with values 1, 3 and 5, 5; queries and keys do not matter. */
const input = {
  label: 'test',
  query: {shape: shape(3, 1), data: new Float32Array(6)},
  key: {shape: shape(2, 1), data: new Float32Array(4)},
  value: {shape: shape(2, 1), data: Float32Array.of(1, 3, 5, 5)},
  extras: new Map(),
  metadata: {},
}
const exact = Float64Array.of(2, 1, 4, 5, 5, 8)

describe('the error of averaging V', () => {
  it('is that of the mean of all values, head by head', () => {
    const [first, second] = yardsticks(input, exact, {causal: false})
    expect(first!.mse).toBe((0 + 1 + 4) / 3)
    expect(second!.mse).toBe((0 + 0 + 9) / 3)
  })

  it('is that of the mean of the values so far in causal attention', () => {
    const [first] = yardsticks(input, exact, {causal: true})
    expect(first!.mse).toBe((1 + 1 + 4) / 3) // means 1, 2, 2
  })

  it('knows what rounding can make of it', () => {
    const [first, second] = yardsticks(input, exact, {causal: false})
    expect(first!.rounding).toBe(2 * FLOAT32_ROUNDOFF ** 2 * 5)
    expect(second!.rounding).toBe(2 * FLOAT32_ROUNDOFF ** 2 * 25)
  })

  it('is averaged over heads, each counting by its rows', () => {
    const all = overall([
      {rows: 7, mse: 1, rounding: 3},
      {rows: 7, mse: 2, rounding: 5},
    ])
    expect(all).toEqual({mse: 1.5, rounding: 4})
    const ragged = overall([
      {rows: 6, mse: 1, rounding: 3},
      {rows: 2, mse: 2, rounding: 5},
    ])
    expect(ragged).toEqual({mse: 1.25, rounding: 3.5})
  })
})

describe('an error over the yardstick', () => {
  it('is a ratio', () => expect(overYardstick(3, {mse: 2, rounding: 0})).toBe(1.5))
  it('is none where averaging is exact up to rounding', () =>
    expect(overYardstick(3, {mse: 2, rounding: 2})).toBeNull())
  it('is none of an error that is none', () =>
    expect(overYardstick(null, {mse: 2, rounding: 0})).toBeNull())
})
