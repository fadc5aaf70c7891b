import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {
  bytes,
  errorSpan,
  errorText,
  errorWithInterval,
  nanoseconds,
  neededMemory,
  percent,
  plural,
  ratio,
  ratioRange,
  ratioWithInterval,
  roundNumber,
  significant,
  waitingTime,
  withError,
  withInterval,
  withReach,
} from '../../../src/report/numbers.js'

describe('significant', () => {
  it.each([
    [0, '0'],
    [1, '1.00'],
    [0.12345, '0.123'],
    [12.345, '12.3'],
    [123.45, '123'],
    [12345, '12300'],
    [999.9, '1000'],
    [999_999, '1000000'],
    [1_234_567, '1230000'],
    [999_999_999, '1.00e9'],
    [0.00012345, '0.000123'],
    [0.000099999, '0.000100'],
    [0.000012345, '1.23e-5'],
    [-3.21987, '-3.22'],
    [1.234e42, '1.23e42'],
  ])('writes %d as %s', (value, text) => {
    expect(significant(value)).toBe(text)
  })

  it.each([[null], [undefined], [Number.NaN], [Number.POSITIVE_INFINITY]])(
    'writes %s as a dash',
    value => {
      expect(significant(value)).toBe('-')
    },
  )

  it('is off by at most half a unit of its third digit', () => {
    fc.assert(
      fc.property(fc.double({min: 1e-30, max: 1e30, noNaN: true}), value => {
        // three digits leave a relative error of at most 0.5 / 100, plus the rounding of the doubles
        const bound = 0.005 * value * (1 + 2 ** -50)
        expect(Math.abs(Number(significant(value)) - value)).toBeLessThanOrEqual(bound)
      }),
    )
  })
})

describe('roundNumber', () => {
  it.each([
    [Math.log10(59.4), '59'],
    [2, '100'],
    [Math.log10(949), '950'],
    [Math.log10(2345), '2,300'],
    [Math.log10(420_000), '420,000'],
    [Math.log10(1_900_000), '1,900,000'],
    [Math.log10(999_999_999), '1e9'],
    [4342.9, '1e4343'],
    [8.92e59, '10^8.9e59'],
  ])('writes 10^%d as %s', (log10, text) => {
    expect(roundNumber(log10)).toBe(text)
  })
})

describe('withInterval', () => {
  it('puts the interval in brackets', () => {
    expect(withInterval(0.25, 0.2, 0.3)).toBe('0.250 [0.200, 0.300]')
  })

  it('leaves out an interval that is a point or unknown', () => {
    expect(withInterval(0.25, 0.25, 0.25)).toBe('0.250')
    expect(withInterval(0.25, null, 0.3)).toBe('0.250')
    expect(withInterval(0.25, Number.NaN, Number.NaN)).toBe('0.250')
    expect(withInterval(null, null, null)).toBe('-')
  })
})

describe('errorText', () => {
  it.each([
    [0.842, '84 %'],
    [0.0321, '3.2 %'],
    [0.00012, '0.012 %'],
    [0.997, '100 %'],
    [1.046, '105 %'],
    [9.42, '942 %'],
    [116, '120x'],
    [12_345, '12000x'],
    [0, '0 %'],
    [null, '-'],
    [Number.NaN, '-'],
  ])('writes %d as %s', (value, text) => {
    expect(errorText(value)).toBe(text)
  })
})

describe('errorSpan', () => {
  it.each([
    [0.9, 0.94, '90-94 %'],
    [0.841, 0.844, '84 %'],
    [0.98, 1.24, '98-124 %'],
    [0.5, 12, '0.50-12x'],
    [63, 1200, '63-1200x'],
  ])('writes %d to %d as %s', (low, high, text) => {
    expect(errorSpan(low, high)).toBe(text)
  })
})

describe('errorWithInterval', () => {
  it.each([
    [0.84, 0.81, 0.87, '84 % [81, 87]'],
    [0.84, 0.8391, 0.8409, '84.0 % [83.9, 84.1]'],
    [0.84, 0.84, 0.84, '84 %'],
    [0.84, null, 0.9, '84 %'],
    [5, 0.5, 120, '500 % [50, 12000]'],
    [443, 63, 1200, '440x [63, 1200]'],
    [null, null, null, '-'],
  ])('writes %d [%d, %d] as %s', (value, low, high, text) => {
    expect(errorWithInterval(value, low, high)).toBe(text)
  })
})

describe('withError', () => {
  it('puts the standard error behind the value, with two digits', () => {
    expect(withError(0.02561, 0.000312)).toBe('0.0256 ± 0.00031')
    expect(withError(-2.86e-5, 4.14e-5)).toBe('-2.86e-5 ± 4.1e-5')
  })

  it('leaves out an error of nothing or of no value', () => {
    expect(withError(0.25, 0)).toBe('0.250')
    expect(withError(null, 0.5)).toBe('-')
  })
})

describe('withReach', () => {
  const reach = (value: number, low: number, high: number) =>
    withReach({value, low, high}, x => `${x} ms`)

  it('puts the distance to the farther end behind, in per cent', () => {
    expect(reach(100, 95, 108)).toBe('100 ms ±8%')
    expect(reach(100, 50, 108)).toBe('100 ms ±100%')
    expect(reach(1000, 998, 1003)).toBe('1000 ms ±<1%')
  })

  it('shows the interval beyond a factor of 2', () => {
    expect(reach(100, 40, 190)).toBe('100 ms [40 ms, 190 ms]')
  })

  it('leaves out what is not known', () => {
    expect(reach(1, Number.NaN, Number.NaN)).toBe('1 ms')
  })
})

describe('ratioWithInterval', () => {
  it.each([
    [2.234, 2.1, 2.345, '2.2x [2.1, 2.3]'],
    [1.04, 0.96, 1.123, '1.04x [0.96, 1.12]'],
    [0.996, 0.9, 1, '0.996x [0.90, 1.00]'],
    [0.0123, 0.01, 0.02, '0.012x [0.010, 0.020]'],
    [123.4, 99, 150, '120x [99, 150]'],
    [2, Number.NaN, Number.NaN, '2.0x'],
  ])('%d [%d, %d] is %s', (value, low, high, shown) => {
    expect(ratioWithInterval({value, low, high})).toBe(shown)
  })
})

describe('ratioRange', () => {
  it.each([
    [2.234, 2.1, 2.345, '2.1-2.3x'],
    [2, 2, 2.01, '2.0x'],
    [1.5, 0.9, 2.5, '0.90-2.5x'],
    [2, Number.NaN, Number.NaN, '2.0x'],
  ])('%d [%d, %d] is %s', (value, low, high, shown) => {
    expect(ratioRange({value, low, high})).toBe(shown)
  })
})

describe('units', () => {
  it.each([
    [0, '0 ns'],
    [999, '999 ns'],
    [999.9, '1.00 us'],
    [12_345, '12.3 us'],
    [1_234_567, '1.23 ms'],
    [61e9, '61.0 s'],
    [null, '-'],
  ])('writes %s ns as %s', (value, text) => {
    expect(nanoseconds(value)).toBe(text)
  })

  it.each([
    [17, '17.0 B'],
    [1024, '1.00 KiB'],
    [1536, '1.50 KiB'],
    [3 * 2 ** 20, '3.00 MiB'],
    [24 * 2 ** 30, '24.0 GiB'],
    [5 * 2 ** 40, '5.00 TiB'],
    [3 * 2 ** 50, '3.00 PiB'],
    [null, '-'],
  ])('writes %s bytes as %s', (value, text) => {
    expect(bytes(value)).toBe(text)
  })

  it.each([
    [0, '0 ns'],
    [1_234_567, '1.23 ms'],
    [99.9e9, '99.9 s'],
    [99.96e9, '1.67 min'],
    [45 * 60e9, '45.0 min'],
    [59.99 * 60e9, '1.00 h'],
    [3.1 * 3600e9, '3.10 h'],
    [12 * 86_400e9, '12.0 days'],
    [9_040_000e9, '105 days'],
    [365 * 86_400e9, '365 days'],
    [366 * 86_400e9, 'longer than a year'],
    [3.45e34, 'longer than a year'],
    [Number.POSITIVE_INFINITY, 'longer than a year'],
    [Number.NaN, '-'],
    [null, '-'],
  ])('writes a wait of %s ns as %s', (value, text) => {
    expect(waitingTime(value)).toBe(text)
  })

  it.each([
    [24 * 2 ** 30, '24.0 GiB'],
    [900 * 2 ** 50, '900 PiB'],
    [2 ** 60, 'more than any machine has'],
    [4.72e21 * 2 ** 40, 'more than any machine has'],
    [Number.POSITIVE_INFINITY, 'more than any machine has'],
    [Number.NaN, '-'],
    [null, '-'],
  ])('writes a need of %s bytes as %s', (value, text) => {
    expect(neededMemory(value)).toBe(text)
  })

  it('writes ratios, shares and counts', () => {
    expect(ratio(2.345)).toBe('2.35x')
    expect(ratio(null)).toBe('-')
    expect(percent(100)).toBe('100')
    expect(percent(12.5)).toBe('12.5')
    expect(plural(1, 'cell')).toBe('1 cell')
    expect(plural(0, 'cell')).toBe('0 cells')
  })
})
