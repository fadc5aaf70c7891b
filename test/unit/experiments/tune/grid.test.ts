import {describe, expect, it} from 'vitest'
import {tuneGrid} from '../../../../src/experiments/tune/grid.js'
import {type TunePlan, tunePlan} from '../../../../src/experiments/tune/schema.js'
import {packagedInput} from '../../../../src/inputs/packaged.js'

function planOf(method: string, changes: Partial<TunePlan> = {}): TunePlan {
  return tunePlan.parse({
    experiment: 'tune',
    input: {
      kind: 'file',
      paths: [packagedInput(false)],
      names: {query: 'q', key: 'k', value: 'v'},
    },
    methods: [{method, preset: 'exact', options: {}}],
    ...{projections: ['orth'], num_features: [16], learn: 'maps'},
    ...{steps: 6, learning_rate: 0.01, held_out: 0.2, draws: 3},
    ...{causal: false, seed: 0, backend: 'auto', ...changes},
  })
}

describe('the cells of what is learned', () => {
  it('are one for each draw of learned random vectors, and one for all without', async () => {
    const rows = await tuneGrid(planOf('favor-pos', {learn: 'maps,rows'}))
    expect(rows.cells().map(({draw}) => draw)).toEqual([0, 1, 2])
    const maps = await tuneGrid(planOf('favor-pos'))
    expect(maps.cells().map(({draw, draws}) => [draw, draws])).toEqual([[null, 3]])
    const [job] = await maps.jobs()
    expect(job).toMatchObject({label: 'favor-pos orth M=16'})
    expect(job!.predictedCost).toBeGreaterThan(0)
  })

  it.each([
    ['softmax', 'maps', 'expected a method with an error to lower, got exact attention'],
    ['mean-value', 'maps', 'expected a method with a gradient by queries or keys'],
    ['elu', 'rows', 'expected a method with random vectors to learn rows, got one without'],
  ] as const)('are refused for %s', async (method, learn, message) => {
    await expect(tuneGrid(planOf(method, {learn}))).rejects.toThrow(message)
  })

  it('are refused for rows where weights are no shares, with what to take', async () => {
    const refusal = tuneGrid(planOf('rfa', {loss: 'rows'}))
    await expect(refusal).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message:
        'tune, rfa: expected a method with rows of weights that are shares of one, for the loss `rows`, got one with weights of either sign, or other sums',
      suggestions: ['take favor-pos or hedgehog', 'or learn for `loss: outputs`'],
    })
  })

  it('have what they are learned for, which is nothing else in cells of outputs', async () => {
    const [plain] = (await tuneGrid(planOf('favor-pos'))).cells()
    expect(plain).not.toHaveProperty('loss')
    const rows = await tuneGrid(planOf('favor-pos', {loss: 'rows'}))
    expect(rows.cells()).toEqual([{...plain, loss: 'rows'}])
    const bytesOf = async (loss?: 'rows') =>
      (await (await tuneGrid(planOf('favor-pos', {loss}))).jobs())[0]!.predictedBytes!
    expect(await bytesOf('rows')).toBeGreaterThan(await bytesOf())
  })
})
