import {describe, expect, it} from 'vitest'
import {choose, mostAccurate, type Offer} from '../../../src/advice/recommend.js'

const around = (value: number, share = 0.1) => ({
  value,
  low: value * (1 - share),
  high: value * (1 + share),
})
const offer = (changes: Partial<Offer> = {}): Offer => ({
  label: 'a',
  error: around(0.04),
  time: around(2e6),
  gain: around(2),
  unfit: false,
  beatsMean: true,
  ...changes,
})
const wish = {tolerance: 0.05, budget: null}

describe('choose', () => {
  it('takes the fastest of those that meet all that is asked', () => {
    const faster = offer({label: 'b', time: around(1e6), gain: around(4)})
    const wrong = offer({label: 'c', time: around(1e5), error: around(0.2)})
    expect(choose([offer(), faster, wrong], wish)).toEqual({offer: faster})
  })

  it.each([
    ['the upper end of the error', {error: around(0.049)}, 'error'],
    [
      'an error without an interval',
      {error: {value: 0.01, low: Number.NaN, high: Number.NaN}},
      'error',
    ],
    ['a method that cannot be relied on', {unfit: true}, 'error'],
    ['what is not better than averaging V', {beatsMean: false}, 'mean'],
    ['the lower end of the speed-up', {gain: around(1.05)}, 'time'],
  ] as const)('counts %s', (_, changes, obstacle) => {
    expect(choose([offer(changes)], wish)).toMatchObject({obstacle})
  })

  it('holds the upper end of the time against the budget', () => {
    expect(choose([offer()], {...wish, budget: 2.1e6})).toEqual({
      obstacle: 'budget',
      nearest: offer(),
    })
    expect(choose([offer()], {...wish, budget: 2.3e6})).toEqual({offer: offer()})
  })

  it('names what is nearest: the most accurate of what beats averaging V', () => {
    const rough = offer({label: 'b', error: around(0.3)})
    const better = offer({label: 'c', error: around(0.2)})
    const worse = offer({label: 'd', error: around(0.1), beatsMean: false})
    expect(choose([rough, better, worse], wish)).toEqual({obstacle: 'error', nearest: better})
  })

  it('has nothing to take where nothing was measured', () => {
    expect(choose([], wish)).toEqual({obstacle: 'error'})
  })
})

it('the most accurate offer is that with the lowest upper end of its error', () => {
  const wide = offer({label: 'b', error: {value: 0.03, low: 0.01, high: 0.09}})
  expect(mostAccurate([wide, offer()])).toEqual(offer())
})
