import {describe, expect, it} from 'vitest'
import {trainGrid} from '../../../../src/experiments/train/grid.js'
import {type TrainPlan, trainPlan} from '../../../../src/experiments/train/schema.js'
import {trainCellOf} from '../../../helpers/train-records.js'

const METHODS = ['softmax', 'favor-pos', 'taylor'].map(method => ({
  ...{method, preset: 'exact', options: {}},
}))

function planOf(changes: Partial<TrainPlan> = {}): TrainPlan {
  const {task, model, steps, batch, held_out} = trainCellOf()
  return trainPlan.parse({
    ...{experiment: 'train', tasks: [task], methods: METHODS, model, steps, batch, held_out},
    ...{projections: ['orth'], num_features: [8, 16], rates: [1e-3, 4e-3], runs: 3, redraw: 5},
    ...{key_dims: {default: 8, taylor: 4}, seed: 0, backend: 'auto', ...changes},
  })
}

describe('the cells of a training', () => {
  it('are every method at every M, rate and run, with the same rates for all', async () => {
    const grid = await trainGrid(planOf())
    const cells = grid.cells()
    expect(cells).toHaveLength(grid.count)
    expect(grid.count).toBe((1 + 2 + 1) * 2 * 3)
    const rates = (method: string) =>
      new Set(cells.filter(cell => cell.method === method).map(({rate}) => rate))
    for (const {method} of METHODS) expect(rates(method)).toEqual(new Set([1e-3, 4e-3]))
  })

  it('have their own D, and redraw where anything is drawn', async () => {
    const cells = (await trainGrid(planOf())).cells()
    const facts = cells.map(({method, key_dim, redraw}) => `${method} ${key_dim} ${redraw}`)
    expect([...new Set(facts)]).toEqual(['softmax 8 0', 'favor-pos 8 5', 'taylor 4 0'])
  })

  it('take longer for more steps, and more memory for a larger batch', async () => {
    const job = async (changes: Partial<TrainPlan>) =>
      (await (await trainGrid(planOf(changes))).jobs())[0]!
    const own = await job({})
    expect(own.label).toBe('softmax rate 0.001 run 0')
    expect((await job({steps: 60})).predictedCost).toBeGreaterThan(1.5 * own.predictedCost)
    expect((await job({batch: 600})).predictedBytes).toBeGreaterThan(own.predictedBytes)
  })

  it('are refused for heads that do not divide the width, and without D', async () => {
    const {model} = trainCellOf()
    await expect(trainGrid(planOf({model: {...model, heads: 3}}))).rejects.toThrow(
      'train: expected a `width` that 3 heads divide, got 16',
    )
    await expect(trainGrid(planOf({key_dims: {taylor: 4}}))).rejects.toThrow(
      '`key_dims`: expected a number for `default`, got none',
    )
  })

  it('are refused for a task with sizes that do not go together', async () => {
    const tasks = [{...trainCellOf().task, pairs: 5}] as TrainPlan['tasks']
    const {jobs} = await trainGrid(planOf({tasks}))
    await expect(jobs()).rejects.toThrow('mqar: expected at most 4 `pairs` in 16 tokens, got 5')
  })
})
