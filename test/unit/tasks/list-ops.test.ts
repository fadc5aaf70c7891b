import {describe, expect, it} from 'vitest'
import {NO_LABEL} from '../../../src/tasks/index.js'
import {listOps} from '../../../src/tasks/list-ops.js'

const SMALL = {length: 23, shortest: 5, depth: 4, args: 5}
const COUNT = 300
const NAMES = ['', ...'0123456789', 'MIN', 'MAX', 'MED', 'SM', ']', '=']

/** The value of an expression, read with a stack. */
function numberOf(words: readonly string[]): number {
  const stack: (string | number)[] = []
  for (const word of words) {
    if (word !== ']') {
      stack.push(/\d/.test(word) ? Number(word) : word)
      continue
    }
    const at = stack.findLastIndex(one => typeof one === 'string')
    const [operation, ...rest] = stack.splice(at)
    const values = rest.map(Number).sort((a, b) => a - b)
    const {length} = values
    const middle = (values[Math.floor((length - 1) / 2)]! + values[Math.floor(length / 2)]!) / 2
    const results: Record<string, number> = {
      ...{MIN: values[0]!, MAX: values.at(-1)!, MED: Math.trunc(middle)},
      SM: values.reduce((a, b) => a + b) % 10,
    }
    stack.push(results[operation!]!)
  }
  expect(stack).toHaveLength(1)
  return Number(stack[0])
}

describe('ListOps', () => {
  it('asks behind each expression for its value', () => {
    const {tokens, labels} = listOps(SMALL, 0).examples({part: 'test', count: COUNT, run: 0})
    const seen = new Set<string>()
    for (let row = 0; row < COUNT; row++) {
      const words = Array.from(tokens.slice(23 * row, 23 * row + 23), token => NAMES[token]!)
      const wanted = [...labels.slice(23 * row, 23 * row + 23)]
      const end = words.indexOf('=')
      expect(end).toBeGreaterThan(5)
      expect(words.slice(end + 1).join('')).toBe('')
      expect(wanted.filter(label => label !== NO_LABEL)).toEqual([wanted[end]])
      expect(NAMES[wanted[end]!]).toBe(String(numberOf(words.slice(0, end))))
      for (const word of words) seen.add(word)
    }
    expect([...seen].sort()).toEqual([...NAMES].sort())
  })

  it('is a pure function of seed, part, run and step', () => {
    const task = listOps(SMALL, 1)
    const of = (step: number) => task.examples({part: 'train', count: 3, run: 2, step})
    expect(of(5)).toEqual(of(5))
    expect(of(5)).not.toEqual(of(6))
    expect(task.vocabulary).toBe(NAMES.length)
  })

  it.each([
    [{length: 6}, 'listops: expected a `length` of at least 7, got 6'],
    [{args: 1}, 'listops: expected a `depth` and `args` of at least 2, got depth 4, args 1'],
  ])('refuses %o', (changes, message) => {
    expect(() => listOps({...SMALL, ...changes}, 0)).toThrow(message)
  })

  it('says where there are no expressions of such lengths', () => {
    const task = listOps({length: 60, shortest: 40, depth: 2, args: 4}, 0)
    expect(() => task.examples({part: 'test', count: 1, run: 0})).toThrow('drawn too rarely')
  })
})
