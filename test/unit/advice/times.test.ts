import {describe, expect, it} from 'vitest'
import {type Counted, Times, timeOfWork, type Variant} from '../../../src/advice/times.js'
import {FLOOR, medianOf} from '../../../src/experiments/bench/times/time-estimates.js'
import {studentQuantile} from '../../../src/stats/index.js'
import {exactForm, inProcesses, timed} from '../../helpers/records/bench.js'

/** Exact attention takes L^2 operations, the others M L. */
const counted: Counted = {
  flops: ({num_features}, length) => (num_features === null ? length ** 2 : num_features * length),
  bytes: (_, length) => 7 * length,
}
const cellOf = (num_features: number): Variant => timed({num_features}).cell

/** Times of operations at 1 ns each and a fixed part, in ns. */
const FIXED = 5e7
const exactAt = (length: number) => exactForm('softmax', length, FIXED + length ** 2)
const linearAt = (length: number, M = 1024) =>
  timed({seq_len: length, num_features: M}, FIXED + M * length)
const tunedCell: Variant = {
  ...cellOf(1024),
  projection: 'simplex',
  tuned: {path: 't.safetensors', digest: '0', projection: 'simplex', num_features: 1024, draws: 6},
}
const records = [exactAt(2 ** 14), exactAt(2 ** 16), linearAt(2 ** 14), linearAt(2 ** 16)]
const times = new Times(records, counted)

describe('timeOfWork', () => {
  const exactly = (value: number) => ({value, low: value, high: value})
  const line = [
    {flops: 1, time: exactly(12)},
    {flops: 3, time: exactly(16)},
  ]

  it('has a fixed part and one that grows with the operations', () => {
    expect(timeOfWork(line, 10)).toEqual({value: 30, low: 30, high: 30})
    expect(timeOfWork(line, 2).value).toBe(14)
  })

  it('is proportional where one call was timed, or time did not grow', () => {
    expect(timeOfWork(line.slice(1), 6).value).toBe(32)
    expect(timeOfWork([{flops: 1, time: exactly(20)}, line[1]!], 6).value).toBe(32)
  })

  it('is known the less, the further it goes', () => {
    const noisy = line.map(({flops, time: {value}}) => ({
      flops,
      time: {value, low: 0.9 * value, high: 1.1 * value},
    }))
    const width = (flops: number) => {
      const {low, high} = timeOfWork(noisy, flops)
      return high - low
    }
    expect(width(30)).toBeGreaterThan(2 * width(6))
    expect(timeOfWork(noisy, 30).low).toBeGreaterThanOrEqual(noisy[1]!.time.low)
  })
})

describe('Times', () => {
  it('predicts a ratio process by process: what a process does to all of its calls cancels, but for the floor', () => {
    const spread = [0.9, 1, 1 / 0.9]
    const at = (cell: Parameters<typeof timed>[0], time: number) =>
      timed(cell, time, inProcesses(spread.map(factor => factor * time)))
    const exact = (length: number) =>
      at({method: 'softmax', projection: null, num_features: null, seq_len: length}, length ** 2)
    const linear = (length: number) => at({seq_len: length, num_features: 1024}, 1024 * length)
    const alike = new Times(
      [exact(2 ** 14), exact(2 ** 15), linear(2 ** 14), linear(2 ** 15)],
      counted,
    )
    const {value, low, high} = alike.gain(cellOf(1024), 2 ** 18)!
    expect(value).toMatchReference(2 ** 8, 9)
    // what is left is the floor of the four times; the lines are 85 t2 - 84 t1 and 15 t2 - 14 t1, in shares of the predicted times
    const weights = [85 / 2 ** 6, -84 / 2 ** 8, 15 / 2 ** 3, -14 / 2 ** 4]
    const error = FLOOR * Math.hypot(...weights)
    const [reach, normal] = [Math.log(high / low) / 2, -studentQuantile(0.025, 10_000)]
    expect(reach).toMatchReference(normal * error, 4)
    expect(alike.at(cellOf(1024), 2 ** 18)!.from).toBe('predicted')
  })

  it('takes what was measured, and predicts what was not', () => {
    expect(times.at(cellOf(1024), 2 ** 16)).toEqual({
      time: medianOf(records[3]!),
      from: 'measured',
      bytes: 2 ** 20,
    })
    const predicted = times.at(cellOf(1024), 2 ** 18)!
    expect(predicted.from).toBe('predicted')
    expect(predicted.bytes).toBe(7 * 2 ** 18)
    expect(predicted.time.value).toMatchReference(FIXED + 2 ** 28, 6)
  })

  it('takes the times of the method as it is for one with learned parameters', () => {
    expect(times.at(tunedCell, 2 ** 16)).toEqual(times.at(cellOf(1024), 2 ** 16))
    expect(times.gain(tunedCell, 2 ** 18)).toEqual(times.gain(cellOf(1024), 2 ** 18))
  })

  it('predicts an M that was not timed by the nearest', () => {
    const predicted = times.at(cellOf(4096), 2 ** 16)!
    expect(predicted.time.value / (FIXED + 2 ** 28)).toMatchReference(1, 6)
    expect(times.at({...cellOf(64), method: 'rfa'}, 2 ** 16)).toBeUndefined()
  })

  it('compares with the faster exact form', () => {
    const both = new Times([...records, exactForm('softmax-online', 2 ** 14, 1e8)], counted)
    expect(both.fastestExact(2 ** 14)).toMatchObject({label: 'softmax-online'})
    expect(both.gain(cellOf(1024), 2 ** 14)!.value).toMatchReference(1e8 / (FIXED + 2 ** 24), 7)
  })

  it('finds the length from which it is faster', () => {
    // L^2 = M L at L = M
    const {value, low, high} = times.crossover(cellOf(2 ** 17))!
    expect(Math.abs(Math.log(value / 2 ** 17))).toBeLessThan(0.011)
    expect(low).toBeLessThan(value)
    expect(high).toBeGreaterThan(value)
    expect(times.crossover(cellOf(1024))!.value).toBe(2 ** 14)
    expect(times.crossover(cellOf(2 ** 23))).toBeUndefined()
  })
})
