import {describe, expect, it} from 'vitest'
import {layersRun, setsRun} from '../../../../../src/experiments/swap/layers-run.js'
import {largestSet} from '../../../../../src/experiments/swap/measure/largest-set.js'
import type {Effect} from '../../../../../src/experiments/swap/schema.js'

/** A loss with its interval. */
const around = (mean: number, reach = 0): Effect => ({mean, low: mean - reach, high: mean + reach})

/** A model in which layers lose by themselves, and pairs of layers more or less than both. */
function model(own: readonly number[], pairs: Record<string, number> = {}, reach = 0) {
  const ran: string[] = []
  const measure = async (set: readonly number[]) => {
    ran.push(set.join())
    const alone = set.reduce((sum, layer) => sum + own[layer]!, 0)
    const together = Object.entries(pairs).filter(([pair]) =>
      pair.split(',').every(layer => set.includes(Number(layer))),
    )
    return around(
      together.reduce((sum, [, more]) => sum + more, alone),
      reach,
    )
  }
  return {measure, ran, layers: own.map((_, layer) => layer)}
}

async function found(budget: number, of: ReturnType<typeof model>) {
  const search = await largestSet(of.layers, budget, of.measure)
  expect(search.tried.map(({set}) => set.join())).toEqual(of.ran)
  expect(new Set(of.ran).size).toBe(of.ran.length)
  return search
}

describe('the largest set of layers within a budget', () => {
  it('is all of them at once, where that set keeps it', async () => {
    const of = model([3, 1, 2])
    expect((await found(6, of)).chosen).toEqual([0, 1, 2])
    expect(of.ran).toEqual(['0,1,2'])
    // even where a layer by itself does not
    expect((await found(6, model([7, 1, 2], {'0,1': -4}))).chosen).toEqual([0, 1, 2])
  })

  it('is empty where no layer keeps it', async () => {
    const of = model([3, 1, 2])
    const {chosen, tried} = await found(0.5, of)
    expect(chosen).toEqual([])
    expect(tried.map(({within}) => within)).toEqual([false, false, false, false])
  })

  it('takes the layers that lose least by themselves first', async () => {
    const of = model([3, 1, 2, 9])
    expect((await found(4, of)).chosen).toEqual([1, 2])
    // 9 alone is too much, so that it is in no set
    expect(of.ran).toEqual(['0,1,2,3', '0', '1', '2', '3', '0,1,2', '1,2'])
  })

  it('runs sets as sets: losses that compound keep a layer out, and those that cancel let one in', async () => {
    expect((await found(5, model([1, 2, 3], {'0,1': 10}))).chosen).toEqual([0, 2])
    expect((await found(2, model([1, 2, 3], {'0,1': -1.5}))).chosen).toEqual([0, 1])
  })

  it('is held to the upper end of the interval, or without one to the mean', async () => {
    expect((await found(3, model([1, 2], {}, 0.1))).chosen).toEqual([0])
    expect((await found(3.1, model([1, 2], {}, 0.1))).chosen).toEqual([0, 1])
    const without = async () => ({mean: 1, low: null, high: null})
    expect((await largestSet([0, 1], 1, without)).chosen).toEqual([0, 1])
    const unknown = async () => ({mean: null, low: null, high: null})
    expect((await largestSet([0, 1], 1, unknown)).chosen).toEqual([])
  })

  it('of one layer runs it once', async () => {
    const of = model([1])
    expect((await found(1, of)).chosen).toEqual([0])
    expect(of.ran).toEqual(['0'])
  })

  it('takes at most the layers that a prediction counts', async () => {
    const count = 5
    const budgets = [0.5, 1, 3, 7, 15]
    const models = budgets.map(budget => ({budget, of: model([5, 4, 3, 2, 1])}))
    // the first layer keeps the budget with no other: all five sets of two or more run through the whole model
    const apart = {'0,1': 9, '0,2': 9, '0,3': 9, '0,4': 9}
    for (const {budget, of} of [...models, {budget: 5, of: model([1, 2, 3, 4, 5], apart)}]) {
      await found(budget, of)
      const run = of.ran.reduce(
        (sum, set) => sum + count - Math.min(...set.split(',').map(Number)),
        0,
      )
      expect(run).toBeLessThanOrEqual(layersRun({layers: of.layers, budget}, count))
      expect(of.ran.length).toBeLessThanOrEqual(setsRun({layers: of.layers, budget}))
    }
    expect(layersRun({layers: [2, 4]}, count)).toBe(3)
    // 3 and 1 by themselves, 3 of both
    expect(layersRun({layers: [2, 4], budget: 1}, count)).toBe(7)
  })
})
