import {describe, expect, it} from 'vitest'
import {bonferroniZ} from '../../../src/stats/index.js'
import {NO_LABEL} from '../../../src/tasks/index.js'
import {type MqarOptions, mqar} from '../../../src/tasks/mqar.js'

const SMALL: MqarOptions = {vocabulary: 41, length: 22, pairs: 5, power: 0.01, filled: true}
const COUNT = 300

/** Rows of examples, tokens and labels. */
function rowsOf(options: MqarOptions, count = COUNT, seed = 1) {
  const {tokens, labels} = mqar(options, seed).examples({part: 'train', count, run: 2, step: 7})
  return Array.from({length: count}, (_, row) => {
    const own = [row * options.length, (row + 1) * options.length] as const
    return {tokens: [...tokens.slice(...own)], labels: [...labels.slice(...own)]}
  })
}

describe('multi-query associative recall', () => {
  it('begins with pairs of keys from the lower half and values from the upper, none of them twice', () => {
    const seen = {keys: new Set<number>(), values: new Set<number>()}
    for (const {tokens} of rowsOf(SMALL)) {
      const pairs = tokens.slice(0, 10)
      const keys = pairs.filter((_, at) => at % 2 === 0)
      const values = pairs.filter((_, at) => at % 2 === 1)
      expect([new Set(keys).size, new Set(values).size]).toEqual([5, 5])
      for (const key of keys) seen.keys.add(key)
      for (const value of values) seen.values.add(value)
    }
    const integers = (from: number, to: number) =>
      Array.from({length: to - from}, (_, at) => from + at)
    expect([...seen.keys].sort((a, b) => a - b)).toEqual(integers(1, 20))
    expect([...seen.values].sort((a, b) => a - b)).toEqual(integers(20, 41))
  })

  it('asks for every value once, where its key stands, at even distances behind the pairs', () => {
    for (const {tokens, labels} of rowsOf(SMALL)) {
      const places = labels.flatMap((label, at) => (label === NO_LABEL ? [] : [at]))
      expect(places).toHaveLength(5)
      for (const at of places) {
        expect(at).toBeGreaterThanOrEqual(10)
        expect(at % 2).toBe(0)
        const pair = tokens
          .slice(0, 10)
          .findIndex((key, own) => own % 2 === 0 && key === tokens[at])
        expect(labels[at]).toBe(tokens[pair + 1])
      }
      expect(new Set(places.map(at => tokens[at])).size).toBe(5)
    }
  })

  it('fills the other places with any token, or with none', () => {
    const others = (options: MqarOptions) =>
      rowsOf(options).flatMap(({tokens, labels}) =>
        tokens.filter((_, at) => at >= 10 && labels[at] === NO_LABEL),
      )
    expect(new Set(others(SMALL)).size).toBe(41)
    expect(new Set(others({...SMALL, filled: false}))).toEqual(new Set([0]))
  })

  it.each([0.01, 1])('draws gaps by their law, a = %d', power => {
    const count = 20_000
    const options = {...SMALL, length: 18, pairs: 1, power}
    const weights = Array.from({length: 8}, (_, gap) => (gap + 1) ** (power - 1))
    const total = weights.reduce((sum, weight) => sum + weight, 0)
    const counts = new Float64Array(8)
    for (const {labels} of rowsOf(options, count)) {
      counts[(labels.findIndex(label => label !== NO_LABEL) - 2) / 2]!++
    }
    weights.forEach((weight, gap) => {
      const p = weight / total
      const reach = bonferroniZ(8, 1e-4) * Math.sqrt((p * (1 - p)) / count)
      expect(Math.abs(counts[gap]! / count - p)).toBeLessThan(reach)
    })
  })

  it('is a function of seed, part, run and step', () => {
    const own = (seed: number, part: 'train' | 'test', run: number, step: number) =>
      mqar(SMALL, seed).examples({part, count: 3, run, step}).tokens.join()
    const first = own(0, 'train', 0, 0)
    expect(own(0, 'train', 0, 0)).toBe(first)
    const others = [own(1, 'train', 0, 0), own(0, 'test', 0, 0), own(0, 'train', 1, 0)]
    expect(new Set([first, ...others, own(0, 'train', 0, 1)]).size).toBe(5)
  })

  it('has a plateau at 1 / pairs', () => {
    expect(mqar(SMALL, 0).plateau).toBe(0.2)
    expect(mqar({...SMALL, pairs: 1}, 0).plateau).toBeNull()
  })

  it.each([
    [{length: 21}, 'mqar: expected an even `length`, got 21'],
    [{pairs: 6}, 'mqar: expected at most 5 `pairs` in 22 tokens, got 6'],
    [{vocabulary: 22}, 'mqar: expected a `vocabulary` above `length` 22, got 22'],
  ])('refuses %o', (changes, message) => {
    expect(() => mqar({...SMALL, ...changes}, 0)).toThrow(message)
  })
})
