import {describe, expect, it} from 'vitest'
import {numberOf, sortedPlaces} from '../../../../../src/report/html/client/sort-key.js'
import {
  bytes,
  nanoseconds,
  ratio,
  significant,
  waitingTime,
  withInterval,
  withReach,
} from '../../../../../src/report/numbers.js'

describe('numberOf', () => {
  it.each([
    ['12', 12],
    ['-0.00123', -0.00123],
    ['1.23e-7', 1.23e-7],
    ['1,900,000', 1.9e6],
    ['12.3 ms', 12.3e6],
    ['1.2 s', 1.2e9],
    ['45.0 min', 2700e9],
    ['2.00 MiB', 2 ** 21],
    ['0.123 [0.11, 0.14]', 0.123],
    ['0.0256 ± 0.00031', 0.0256],
    ['6.64 ms ±6%', 6.64e6],
    ['2.31x ±8%', 2.31],
    ['24 (15 severe)', 24],
    // of a best value, with what is said to those who do not see its mark
    ['130 KiB (best)', 130 * 1024],
    ['589 us ±22% (best)', 589e3],
    ['0.908 (best)', 0.908],
    ['99 %', 99],
    ['< 0.001', 0.001],
  ])('reads %j', (text, value) => {
    expect(numberOf(text)).toMatchReference(value, 12)
  })

  it.each(['', '-', 'favor-pos', 'L=64', '3-layer', '=1+1', '12abc', 'NaN', '1.2.3'])(
    'reads no number from %j',
    text => {
      expect(numberOf(text)).toBeUndefined()
    },
  )

  it('reads what reports write to the digits that they show', () => {
    for (const value of [3e-7, 0.0456, 1, 12.3, 999, 12_345, 3.2e8, 4.5e12]) {
      const near = (text: string) => Math.abs(numberOf(text)! / value - 1)
      const rounded = 0.5e-2 // three significant digits
      for (const text of [
        significant(value),
        ratio(value),
        withReach({value, low: value / 1.2, high: 1.2 * value}, significant),
      ]) {
        expect(near(text), text).toBeLessThanOrEqual(rounded)
      }
      expect(near(withInterval(value, value / 2, 2 * value))).toBeLessThanOrEqual(rounded)
      if (value < 1) continue
      for (const write of [nanoseconds, bytes])
        expect(near(write(value))).toBeLessThanOrEqual(rounded)
      if (value < 3e13) expect(near(waitingTime(value))).toBeLessThanOrEqual(rounded)
    }
  })
})

describe('sortedPlaces', () => {
  it('sorts numbers by value whatever their units, those that are missing last in both directions', () => {
    const cells = ['1.2 s', '-', '12.3 ms', '900 us']
    expect(sortedPlaces(cells, 1)).toEqual([3, 2, 0, 1])
    expect(sortedPlaces(cells, -1)).toEqual([0, 2, 3, 1])
  })

  it('sorts a column with text as text, numbers within by value', () => {
    expect(sortedPlaces(['h10', 'h9', '5', 'elu'], 1)).toEqual([2, 3, 1, 0])
  })

  it('keeps the order of cells that are alike', () => {
    expect(sortedPlaces(['1', '0', '1', '0'], 1)).toEqual([1, 3, 0, 2])
    expect(sortedPlaces(['1', '0', '1', '0'], -1)).toEqual([0, 2, 1, 3])
  })
})
