import {describe, expect, it} from 'vitest'
import {
  drawTests,
  frontOf,
  isFoundHigher,
  pairedRatio,
  unpairedRatio,
} from '../../../src/answers/index.js'
import {normals, randomStream} from '../../../src/random/index.js'

describe('errors over draws', () => {
  const noise = normals(randomStream(1, 'test.answers'), 8)
  const errors = (scale: number) => Array.from(noise, x => scale * Math.exp(x))

  it('pairs draws: what both have in common is no noise, unlike in independent ones', () => {
    const paired = pairedRatio(errors(1.1), errors(1))
    expect(paired.ratio.low).toBeCloseTo(1.1, 10)
    expect(paired).toMatchObject({basis: 'pairs', pairs: 8, effect: 1})
    const unpaired = unpairedRatio(errors(1.1), errors(1), 0.01)
    expect(unpaired.ratio.low).toBeLessThan(1)
    expect(unpaired.pValue).toBeGreaterThan(0.5)
    expect(unpairedRatio(errors(1.005), errors(1), 0.01).pValue).toBe(1)
  })

  it('pairs one error without draws with each of the others', () => {
    expect(pairedRatio(errors(1), [0.5]).pairs).toBe(8)
  })

  it('tests each against all others beyond the margin, and nothing below six draws', () => {
    const all = [1, 1.005, 1.5].map(scale => ({item: scale, errors: errors(scale), drawn: true}))
    const tests = drawTests(all, 0.01)
    const higher = (a: number, b: number) => isFoundHigher(tests.get(a)!.get(b)!)
    expect(higher(1.5, 1)).toBe(true)
    expect(higher(1, 1.5)).toBe(false)
    expect(higher(1.005, 1)).toBe(false)
    expect(tests.get(1)!.get(1)).toBeUndefined()
    const few = all.map(one => ({...one, errors: one.errors.slice(0, 5)}))
    expect(drawTests(few, 0.01).size).toBe(0)
    expect(
      drawTests(
        all.map(one => ({...one, drawn: false})),
        0.01,
      ).size,
    ).toBe(0)
  })

  it('has on the front what nothing as cheap is lower than', () => {
    type Item = (typeof items)[number]
    const items = [
      {value: 3, cost: 1},
      {value: 4, cost: 2},
      {value: 1, cost: 3},
    ]
    const rules = {
      isHigher: (a: Item, b: Item) => a.value > b.value,
      costsNoMore: (a: Item, b: Item) => a.cost <= b.cost,
    }
    expect(frontOf(items, rules)).toEqual({front: [items[0], items[2]], differ: true})
    expect(frontOf(items.slice(0, 1), rules).differ).toBe(false)
  })
})
