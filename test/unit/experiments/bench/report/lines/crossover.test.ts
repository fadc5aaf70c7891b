import {describe, expect, it} from 'vitest'
import {crossover} from '../../../../../../src/experiments/bench/report/lines/crossover.js'

/** Speed-ups with intervals at 128, 256, 512, ... */
const found = (...gains: [low: number, value: number, high: number][]) =>
  crossover(
    gains.map(([low, value, high], at) => ({length: 128 * 2 ** at, gain: {low, value, high}})),
    'softmax',
  )
const sentence = (...gains: [low: number, value: number, high: number][]) =>
  found(...gains).statement

const SLOWER: [number, number, number] = [0.45, 0.5, 0.55]
const FASTER: [number, number, number] = [1.9, 2, 2.1]
const OPEN: [number, number, number] = [0.6, 1.5, 3]
/** Faster for certain, by nobody knows how much. */
const FAR: [number, number, number] = [1.1, 3, 9]

describe('crossover', () => {
  it('is between a length that is slower and one that is faster for certain, with an interval', () => {
    // symmetric about 1: 128 sqrt(2) = 181; 2 % of the speed-up are 1 % of the length where it grows with the square
    expect(sentence([0.49, 0.5, 0.51], [1.96, 2, 2.04], FASTER)).toBe(
      'overtakes softmax at L=181 [179, 183]',
    )
    const sure = [0.5, 2].map(gain => [gain, gain, gain] as [number, number, number])
    expect(sentence(...sure)).toBe('overtakes softmax at L=181 [181, 181]')
  })

  it('is withheld where its interval is wide', () => {
    expect(sentence([0.2, 0.6, 0.9], FAR)).toBe('overtakes softmax between L=128 and 256')
  })

  it('needs no narrow intervals to say which is faster, only such that 1 is outside', () => {
    expect(sentence(FAR, FASTER)).toBe(
      'is faster than softmax at every length measured, from L=128 to 256',
    )
    expect(sentence(SLOWER, [0.1, 0.4, 0.99])).toBe(
      'is slower than softmax at every length measured, from L=128 to 256',
    )
    expect(sentence(SLOWER)).toBe('is slower than softmax at L=128')
  })

  it('says at which lengths it is open which one is faster', () => {
    expect(sentence(SLOWER, OPEN, FASTER)).toBe('overtakes softmax between L=128 and 512')
    expect(sentence(OPEN, OPEN)).toBe(
      'is not distinguishable from softmax at every length measured, from L=128 to 256',
    )
    expect(sentence(FASTER, SLOWER, OPEN)).toBe(
      'is faster than softmax at L=128, slower at L=256 and inconclusive at L=512',
    )
  })

  it('has an interval from beyond the lengths that are certain, where those further out bound it', () => {
    // level at 256: both ends pass 1 within an octave of it
    const {answer, length} = found(SLOWER, [0.95, 1, 1.05], FASTER)
    expect(answer).toBe('overtakes')
    expect(length!.value).toMatchReference(256, 9)
    // from 0.55 to 1.05 and from 0.95 to 1.9, in an octave each
    expect(length!.low).toMatchReference(128 * 2 ** (Math.log(1 / 0.55) / Math.log(1.05 / 0.55)), 9)
    expect(length!.high).toMatchReference(256 * 2 ** (Math.log(1 / 0.95) / Math.log(1.9 / 0.95)), 9)
  })

  it('says in one word what no length answers', () => {
    expect(found(FASTER, FASTER)).toMatchObject({answer: 'faster', length: null})
    expect(found(SLOWER, SLOWER)).toMatchObject({answer: 'slower', length: null})
    expect(found(FASTER, SLOWER)).toMatchObject({answer: 'mixed', length: null})
    expect(found(SLOWER, OPEN)).toMatchObject({answer: 'unsettled', length: null})
    expect(found(SLOWER, FAR)).toMatchObject({answer: 'unsettled', length: null})
  })

  it('that is no first one says so', () => {
    expect(sentence(FASTER, SLOWER, FASTER)).toBe('stays faster than softmax at L=362 [349, 376]')
  })

  it('takes no interval for an open one', () => {
    const none: [number, number, number] = [Number.NaN, 2, Number.NaN]
    expect(sentence(none, none)).toContain('is not distinguishable from softmax')
    expect(sentence(none, FASTER)).toBe(
      'is faster than softmax from L=256 on, inconclusive at L=128',
    )
  })
})
