import {describe, expect, it} from 'vitest'
import {checkLimits, judged, parseLimit} from '../../../src/compare/limits.js'

describe('parseLimit', () => {
  it.each([
    ['time:10%', 'time', 10],
    [' memory : 0 %', 'memory', 0],
    ['error:2.5%', 'error', 2.5],
  ])('reads %s', (text, quantity, percent) => {
    expect(parseLimit(text, '--fail-on')).toEqual({quantity, percent})
  })

  it.each(['', 'time', 'time:10', 'time=10%', 'speed:10%', 'time:-5%', 'time:x%', '10%'])(
    'refuses %j',
    text => {
      expect(() => parseLimit(text, '--fail-on')).toThrow(
        /--fail-on: expected NAME:PERCENT, NAME one of time, memory, error, variance/,
      )
    },
  )

  it('says how to write what is almost one', () => {
    for (const text of ['time:10', 'time=10%', 'time', 'time:', 'speed:10%']) {
      expect(() => parseLimit(text, '--fail-on')).toThrow(
        expect.objectContaining({code: 'USAGE', suggestions: ['write time:10%']}),
      )
    }
  })
})

it('checkLimits refuses two of one quantity', () => {
  const limits = [parseLimit('time:1%', ''), parseLimit('error:1%', '')]
  expect(checkLimits(limits, '--fail-on')).toBe(limits)
  expect(() => checkLimits([...limits, parseLimit('time:2%', '')], '--fail-on')).toThrow(
    /expected one limit of time, got several/,
  )
})

describe('judged', () => {
  const limit = {quantity: 'time', percent: 10} as const
  it.each([
    [1.11, 1.2, 'regression'],
    [1.1, 1.2, 'cannot_be_told'],
    [0.9, 1.101, 'cannot_be_told'],
    [0.9, 1.1, 'within'],
    [Number.NaN, Number.NaN, 'cannot_be_told'],
    [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 'regression'],
  ])('an interval from %d to %d: %s', (low, high, judgement) => {
    expect(judged({ratio: {value: 1, low, high}}, limit)).toBe(judgement)
  })
})
