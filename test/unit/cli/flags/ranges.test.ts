import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {
  ANGLE,
  CHECK_DRAWS,
  COUNT,
  MAX_VALUES,
  mergeValues,
  NON_NEGATIVE_NUMBER,
  type NumberRule,
  POSITIVE_INTEGER,
  POSITIVE_NUMBER,
  parseNumber,
  parseNumberItem,
  parseShare,
} from '../../../../src/cli/flags/ranges.js'
import {thrown} from '../../../helpers/thrown.js'

const listOf = (text: string, where: string, rule: NumberRule) =>
  mergeValues(
    text.split(',').map(item => parseNumberItem(item, where, rule)),
    where,
  )
const integers = (text: string) => listOf(text, '--num-features', POSITIVE_INTEGER)
const decimals = (text: string) => listOf(text, '--scales', POSITIVE_NUMBER)

describe('parseShare', () => {
  it.each([
    ['0.05', 0.05],
    ['5%', 0.05],
    ['12.5 %', 0.125],
    ['1', 1],
    ['100%', 1],
  ])('reads %s', (text, share) => {
    expect(parseShare(text, '--until-ci')).toBe(share)
  })

  it.each(['5', '101%', '0', '0%', '-1%', '%', '5%%', 'five'])('refuses %s', text => {
    expect(() => parseShare(text, '--until-ci')).toThrow(
      '--until-ci: expected a share of at most 1, such as 0.05 or 5%, got',
    )
  })
})

describe('lists of numbers', () => {
  it.each<[string, number[]]>([
    ['64', [64]],
    ['64,128,256', [64, 128, 256]],
    [' 64 , 128 ', [64, 128]],
    ['2k', [2048]],
    ['1.5k', [1536]],
    ['256..16k*2', [256, 512, 1024, 2048, 4096, 8192, 16384]],
    ['256..16kx2', [256, 512, 1024, 2048, 4096, 8192, 16384]],
    ['64..512+64', [64, 128, 192, 256, 320, 384, 448, 512]],
    ['64..500+200', [64, 264, 464]],
    ['7..7*2', [7]],
    ['64..256*2,96,128', [64, 128, 256, 96]],
    ['1e3', [1000]],
  ])('reads %s as %j', (text, values) => {
    expect(integers(text)).toEqual(values)
  })

  it.each<[string, number[]]>([
    ['0.25..4*2', [0.25, 0.5, 1, 2, 4]],
    ['0.1..0.5+0.1', [0.1, 0.2, 0.3, 0.4, 0.5]],
    ['1e-2..1*10', [0.01, 0.1, 1]],
  ])('reads decimals %s as %j', (text, values) => {
    expect(decimals(text)).toEqual(values)
  })

  const list = 'a positive integer, a list a,b or a range such as 64..512x2 or 64..512+64'
  const most = 'a positive integer, at most 9007199254740991 (2^53 - 1)'
  it.each([
    ['8..4*2', 'the upper end of a range to be at least the lower one, got "8..4*2"'],
    ['64..512', 'a step after the range, got "64..512"'],
    ['64..512*1', 'a step that leads upwards, got "64..512*1"'],
    ['64..512+0', 'a step that leads upwards, got "64..512+0"'],
    ['0', 'a positive integer, got 0'],
    ['-3', 'a positive integer, got -3'],
    ['0..8+2', 'a positive integer, got 0'],
    ['2.5', 'a positive integer, got 2.5'],
    ['3..10*1.5', 'a positive integer, got 3..10*1.5 (4.5)'],
    ['many', `${list}, got "many"`],
    ['64,,128', `${list}, got ""`],
    ['1..20000+1', 'at most 10000 values, got more in "1..20000+1"'],
    ['1e400', `${most}, got 1e400`],
    ['9007199254740993', `${most}, got 9007199254740993`],
    ['1e20', `${most}, got 1e20`],
  ])('refuses %s in one sentence', (text, wanted) => {
    const message = `--num-features: expected ${wanted}`
    expect(thrown(() => integers(text))).toMatchObject({code: 'BAD_RANGE', message})
  })

  it('says how to turn a range the right way round and how to add a step', () => {
    expect(thrown(() => integers('8..4')).suggestions).toEqual(['write 4..8x2'])
    expect(thrown(() => integers('64..512')).suggestions).toEqual([
      'write 64..512x2 to double or 64..512+64 to add',
    ])
    expect(thrown(() => integers('64..1kx1')).suggestions).toEqual([
      'write 64..1kx2 to double or 64..1k+64 to add',
    ])
  })

  it('keeps every value once, in the order written', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({min: 1, max: 999}), {minLength: 1}), values => {
        expect(integers(values.join(','))).toEqual([...new Set(values)])
      }),
    )
  })

  it('expands an additive range to the values of a plain loop', () => {
    const small = fc.integer({min: 1, max: 97})
    fc.assert(
      fc.property(small, fc.integer({min: 0, max: 997}), small, (low, more, step) => {
        const wanted: number[] = []
        for (let value = low; value <= low + more; value += step) wanted.push(value)
        expect(integers(`${low}..${low + more}+${step}`)).toEqual(wanted)
      }),
    )
  })

  it('expands a geometric range to the values of a plain loop', () => {
    const factor = fc.integer({min: 2, max: 7})
    fc.assert(
      fc.property(
        fc.integer({min: 1, max: 97}),
        fc.integer({min: 1, max: 997}),
        factor,
        (low, times, by) => {
          const wanted: number[] = []
          for (let value = low; value <= low * times; value *= by) wanted.push(value)
          expect(integers(`${low}..${low * times}*${by}`)).toEqual(wanted)
        },
      ),
    )
  })

  it('reads any text either as accepted numbers or as one BAD_RANGE sentence', () => {
    fc.assert(
      fc.property(fc.string({unit: fc.constantFrom(...'0123456789.,*x+-ek ')}), text => {
        try {
          const values = integers(text)
          expect(values.every(value => Number.isSafeInteger(value) && value > 0)).toBe(true)
          expect(values.length).toBeLessThanOrEqual(MAX_VALUES)
        } catch (error) {
          expect(error).toMatchObject({code: 'BAD_RANGE'})
        }
      }),
    )
  })
})

describe('mergeValues', () => {
  it('refuses a list that is longer than the limit as a whole', () => {
    const half = Array.from({length: MAX_VALUES / 2 + 1}, (_, index) => index)
    const other = half.map(value => value + MAX_VALUES)
    expect(thrown(() => mergeValues([half, other], '--seq-len'))).toMatchObject({
      code: 'BAD_RANGE',
      message: '--seq-len: expected at most 10000 values, got more in the whole list',
    })
  })
})

describe('parseNumber', () => {
  it('reads one number under the rule of its flag', () => {
    expect(parseNumber('0', '--warmup', COUNT)).toBe(0)
    expect(parseNumber('0', '--min-time', NON_NEGATIVE_NUMBER)).toBe(0)
    expect(parseNumber('180', '--angles', ANGLE)).toBe(180)
    expect(parseNumber('100', '--draws', CHECK_DRAWS)).toBe(100)
    expect(parseNumber('100000', '--draws', CHECK_DRAWS)).toBe(100_000)
  })

  it.each([
    ['181', '--angles: expected an angle from 0 to 180 degrees, got 181', ANGLE],
    ['64,128', '--angles: expected a positive integer, got "64,128"', POSITIVE_INTEGER],
    ['-1', '--angles: expected an integer of at least 0, got -1', COUNT],
  ])('refuses %s', (text, message, rule) => {
    expect(thrown(() => parseNumber(text, '--angles', rule))).toMatchObject({
      code: 'BAD_RANGE',
      message,
    })
  })
})
