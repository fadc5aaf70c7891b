import * as tf from '@tensorflow/tfjs-core'
import {describe, expect, it} from 'vitest'
import type {Decoder} from '../../../../../src/attention/index.js'
import {useBackend} from '../../../../../src/backends/index.js'
import {markedTokens} from '../../../../../src/experiments/bench/fields/token-marks.js'
import {
  statesOf,
  stepper,
  type Token,
  timeDecoding,
} from '../../../../../src/experiments/bench/measure/decoding.js'

await useBackend('cpu')

const number = tf.scalar(1)
const tokens: Token[] = [[number, number, number]]

/** A decoder whose token t takes `cost(t)` of the clock, and whose state has t bytes. */
function costly(cost: (t: number, run: number) => number) {
  let now = 0
  let run = -1
  const make = (): Decoder => {
    let t = 0
    run++
    return {
      next() {
        now += cost(++t, run)
        return tf.zeros([1, 1, 1, 1])
      },
      get stateBytes() {
        return t
      },
      state: {},
      dispose() {
        now += 1e6 // putting away is not timed
      },
    }
  }
  return {make: () => stepper(make(), tokens), clock: () => now}
}

const waiting = () => () => 0
const timing = {warmup_runs: 1, min_runs: 6, max_runs: 6, min_time_ns: 0}

describe('the clock of decodes', async () => {
  it('reports the first token by itself, and the others up to each mark', async () => {
    const {make, clock} = costly(t => (t === 1 ? 5000 : t))
    const decoding = {make, marks: [2, 4, 9]}
    const timed = await timeDecoding(decoding, [2, 4, 9], timing, {clock, waiting})
    expect(timed.first_token_ns).toBe(5000)
    // 2, 2 + 3 + 4, 2 + 3 + ... + 9
    expect(timed.marks.map(({total_ns}) => total_ns)).toEqual([2, 9, 44])
    expect(timed.timing).toMatchObject({runs: 6, median_ns: 44, samples_ns: Array(6).fill(44)})
    expect(timed.marks.map(({tokens_per_second}) => tokens_per_second)).toEqual(
      [1 / 2, 3 / 9, 8 / 44].map(rate => rate * 1e9),
    )
    expect(timed.marks.map(({state_bytes}) => state_bytes)).toEqual([2, 4, 9])
  })

  it('takes the median of tokens within an eighth of a mark, and of runs, warm-up left out', async () => {
    // one token in three pauses, the run that warms up is slow throughout
    const {make, clock} = costly((t, run) => (run === 0 ? 1e6 : t % 3 === 0 ? 900 : 10 + run))
    const decoding = {make, marks: [2, 24, 64, 65]}
    const {marks} = await timeDecoding(decoding, [0, 0, 0, 0], timing, {clock, waiting})
    // runs 1 to 6 take 11 to 16: their median is 13.5
    expect(marks.map(({token_ns}) => token_ns)).toEqual([13.5, 13.5, 13.5, 13.5])
    expect(marks.map(({token_samples_ns}) => token_samples_ns)).toEqual(
      Array(4).fill([11, 12, 13, 14, 15, 16]),
    )
    // other processes say how far that can be believed
    expect(marks[0]).toMatchObject({token_low_ns: null, token_high_ns: null})
  })

  it('frees every output', async () => {
    const before = tf.memory().numTensors
    const {make, clock} = costly(() => 1)
    const decoding = {make, marks: [2, 3]}
    expect(statesOf(decoding)).toEqual([2, 3])
    await timeDecoding(decoding, [2, 3], timing, {clock, waiting})
    expect(tf.memory().numTensors).toBe(before)
  })
})

describe('marks', () => {
  it('are powers of two from 2 on, and the lengths', () => {
    expect(markedTokens([25, 100, 16])).toEqual([2, 4, 8, 16, 25, 32, 64, 100])
    expect(markedTokens([64])).toEqual([2, 4, 8, 16, 32, 64])
    expect(markedTokens([1, 3])).toEqual([2, 3])
  })
})
