import {describe, expect, it} from 'vitest'
import {characters} from '../../../src/tasks/characters.js'

/** 400 characters, each of which says where it is. */
const TEXT = String.fromCodePoint(...Array.from({length: 400}, (_, at) => 0x4e00 + at))
const LENGTH = 7

describe('characters', () => {
  const task = characters({text: TEXT, length: LENGTH}, 5)

  it('predicts at every place the character that follows', () => {
    for (const part of ['train', 'validation', 'test'] as const) {
      const {tokens, labels} = task.examples({part, count: 2, run: 0})
      expect([...labels]).toEqual([...tokens].map(token => token + 1))
      expect(tokens.length).toBe(2 * LENGTH)
    }
  })

  it('trains on the first 90 %, validates on the next 5 %, tests on the last', () => {
    const ends = (part: 'train' | 'validation' | 'test', count: number) => {
      const {tokens, labels} = task.examples({part, count, run: 1})
      return [Math.min(...tokens), Math.max(...labels)]
    }
    expect(ends('train', 5000)).toEqual([0, 359])
    expect(ends('validation', 100)).toEqual([360, 376])
    expect(ends('test', 100)).toEqual([380, 396])
  })

  it('has windows that do not overlap where it tests, the same in every run', () => {
    const {tokens, count} = task.examples({part: 'test', count: 100, run: 0})
    expect(count).toBe(2)
    expect(new Set(tokens).size).toBe(2 * LENGTH)
    expect(task.examples({part: 'test', count: 100, run: 3}).tokens).toEqual(tokens)
  })

  it('knows the characters of the text, those outside of the first plane as one each', () => {
    const own = characters({text: '🙂ba'.repeat(20), length: 2}, 0)
    expect(own.vocabulary).toBe(3)
    const {tokens} = own.examples({part: 'validation', count: 1, run: 0})
    expect([...tokens]).toEqual([2, 1])
  })

  it('refuses a text that is too short', () => {
    expect(() => characters({text: 'short', length: 128}, 0)).toThrow(
      'chars: expected at least 2580 characters, so that 5 % hold a window of 128, got 5',
    )
  })
})
