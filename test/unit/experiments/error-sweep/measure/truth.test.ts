import {afterEach, beforeEach, expect, it} from 'vitest'
import type {ExactTarget} from '../../../../../src/attention/index.js'
import {computeTruth} from '../../../../../src/experiments/error-sweep/measure/truth.js'
import {RAW_TARGET} from '../../../../../src/experiments/method.js'
import {bringHostLoops} from '../../../../../src/host-loops.js'

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
