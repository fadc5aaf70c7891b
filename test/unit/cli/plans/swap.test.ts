import {describe, expect, it} from 'vitest'
import {layerSets, type SwapFlags, toSwapPlan} from '../../../../src/cli/plans/swap.js'
import {swapFiles} from '../../../../src/cli/plans/swap-files.js'
import {swapGrid} from '../../../../src/experiments/swap/grid.js'
import {SWAP_FLAGS} from '../../../helpers/flags.js'

const files = await swapFiles({})
const planOf = (flags: Partial<SwapFlags>) => toSwapPlan({...SWAP_FLAGS, ...flags}, files, {})
const methodsOf = (flags: Partial<SwapFlags>) => planOf(flags).methods.map(({method}) => method)

describe('the plan of a swap', () => {
  it('has yardsticks after the methods, each once, unless they are left out', () => {
    expect(methodsOf({methods: ['elu']})).toEqual(['elu', 'mean-value', 'softmax'])
    expect(methodsOf({methods: ['mean-value', 'elu']})).toEqual(['mean-value', 'elu', 'softmax'])
    expect(methodsOf({methods: ['elu'], yardsticks: false})).toEqual(['elu'])
  })

  it('passes a budget on to its cells, and without one has no such field', async () => {
    const plan = planOf({methods: ['elu'], yardsticks: false, budget: 0.01})
    const [cell] = (await swapGrid(plan)).cells()
    expect(cell).toMatchObject({method: 'elu', layers: [0, 1, 2, 3], budget: 0.01})
    const [without] = (await swapGrid(planOf({methods: ['elu']}))).cells()
    expect(without).not.toHaveProperty('budget')
  })

  it('takes the layers to choose from as one set', () => {
    expect(planOf({budget: 0.01, layers: 'last:2'}).layer_sets).toEqual([[2, 3]])
    expect(() => planOf({budget: 0.01, layers: 'each'})).toThrow(/layers to choose from/)
  })
})

describe('sets of layers', () => {
  it('are all, each, or a list of numbers, ranges and ends', () => {
    expect(layerSets('all', 3)).toEqual([[0, 1, 2]])
    expect(layerSets('each', 3)).toEqual([[0], [1], [2]])
    expect(layerSets('2,0..1,0', 4)).toEqual([[0, 1, 2]])
    expect(layerSets('first:2', 4)).toEqual([[0, 1]])
    expect(layerSets('last:1, first:1,2', 6)).toEqual([[0, 2, 5]])
    expect(layerSets('last:4', 4)).toEqual([[0, 1, 2, 3]])
  })

  it.each([
    '4',
    '2..5',
    '3..2',
    'x',
    '',
    '1.5',
    '-1',
    'first',
    'first:0',
    'last:5',
    'first:x',
    '0,,1',
  ])('are none that the model does not have: %s', wrong => {
    expect(() => layerSets(wrong, 4)).toThrow(/numbers from 0 to 3 .*N from 1 to 4/)
  })
})
