import {describe, expect, it} from 'vitest'
import {
  BiasBlocks,
  replicatesForBias,
  spreadOfProducts,
  squaredBias,
  studentPower,
  studentTest,
  variance,
} from '../../../src/stats/index.js'

describe('BiasBlocks', () => {
  it('multiplies the errors of two half means', () => {
    const blocks = new BiasBlocks([1, 2], 2)
    // halves [3, 3] and [0, 6]: errors (2, 1) and (-1, 4); then [1, 2] and anything: 0
    for (const output of [
      [2, 4],
      [4, 2],
      [0, 5],
      [0, 7],
    ])
      blocks.add(output)
    for (const output of [
      [1, 2],
      [1, 2],
      [9, 5],
      [3, 3],
    ])
      blocks.add(output)
    expect([...blocks.innerProducts()]).toEqual([2, 0])
    // a block that is not full does not count
    for (const output of [
      [7, 7],
      [7, 7],
      [7, 7],
    ])
      blocks.add(output)
    expect([...blocks.innerProducts()]).toEqual([2, 0])
    blocks.add([7, 7])
    expect([...blocks.innerProducts()]).toEqual([2, 0, 36 + 25])
  })

  it('refuses halves and outputs that are none', () => {
    const act = () => new BiasBlocks([1], 1.5)
    expect(act).toThrow('bias blocks, `half`: expected a positive whole number, got 1.5')
    expect(act).toThrow(expect.objectContaining({code: 'BAD_OPTION'}))
    const add = () => new BiasBlocks([1, 2], 1).add([1])
    expect(add).toThrow('bias blocks: expected 2 entries, as the exact output has, got 1')
    expect(add).toThrow(expect.objectContaining({code: 'SHAPE_MISMATCH'}))
  })
})

describe('squaredBias', () => {
  const products = [0.5, -0.2, 0.4, 0.1]

  it('is a one-sided t test of the products', () => {
    const {pValue, estimate, standardError} = studentTest(products, {alternative: 'greater'})
    expect(squaredBias(products)).toEqual({blocks: 4, pValue, estimate, standardError})
  })

  it('finds no bias where nothing is off, and has no answer to NaN', () => {
    expect(squaredBias([0, 0, 0])).toMatchObject({pValue: 1, standardError: 0})
    expect(squaredBias([0, Number.NaN, 0]).pValue).toBeNaN()
    expect(squaredBias([1]).pValue).toBeNaN()
  })
})

describe('replicatesForBias', () => {
  it('asks for the least half with which the test has the power', () => {
    for (const size of [1e-4, 0.03, 2, 500]) {
      const [blocks, spread] = [20, 1.7]
      const half = replicatesForBias({squaredBias: size, spread}) / (2 * blocks)
      const power = (h: number) => {
        const error = Math.sqrt((2 * size * spread) / h + (spread / h) ** 2) / Math.sqrt(blocks)
        return studentPower(size / error, blocks - 1)
      }
      expect(Number.isInteger(half)).toBe(true)
      expect(power(half)).toBeGreaterThan(0.9 - 1e-6)
      if (half > 1) expect(power(half - 1)).toBeLessThan(0.9 + 1e-6)
    }
  })

  it('takes the spread of a pilot', () => {
    const products = [0.5, -0.2, 0.4, 0.1]
    expect(spreadOfProducts(products, 3)).toBe(3 * Math.sqrt(variance(products)))
  })

  it.each([
    [{squaredBias: 0, spread: 1}, /power, `squaredBias`: expected a positive number, got 0/],
    [{squaredBias: 1, spread: Number.NaN}, /power, `spread`: expected a positive number, got NaN/],
    [{squaredBias: 1, spread: 1, blocks: 1}, /power, `blocks`: expected a whole number above 1/],
    [
      {squaredBias: 1, spread: 1, power: 1},
      /power, `power`: expected a number between 0 and 0.999999, got 1/,
    ],
  ])('refuses %j', (plan, message) => {
    const act = () => replicatesForBias(plan)
    expect(act).toThrow(message)
    expect(act).toThrow(expect.objectContaining({code: 'BAD_OPTION'}))
  })
})
