import {writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {beforeAll, describe, expect, it} from 'vitest'
import {useBackend} from '../../../../src/backends/index.js'
import {swapFiles} from '../../../../src/cli/plans/swap-files.js'
import {resolveMethod} from '../../../../src/experiments/method.js'
import {swapCosts} from '../../../../src/experiments/swap/cost.js'
import {swapGrid} from '../../../../src/experiments/swap/grid.js'
import type {SwapPlan} from '../../../../src/experiments/swap/schema.js'
import {readTexts} from '../../../../src/inputs/texts.js'
import {newFolder} from '../../../helpers/folders.js'

async function planOf(changes: Partial<SwapPlan> = {}): Promise<SwapPlan> {
  const {facts, model, texts} = await swapFiles({})
  const {lines: _, ...file} = texts
  return {
    ...{experiment: 'swap', methods: [{method: 'favor-pos', preset: 'exact', options: {}}]},
    ...{projections: ['orth'], orth_sign: 'haar', num_features: [64], replicates: 3, seed: 0},
    ...{layer_sets: [[0, 1, 2, 3]], model, texts: {...file, count: 40}, max_tokens: 256},
    ...{causal: facts.causal, backend: 'native', ...changes},
  }
}

async function jobOf(changes: Partial<SwapPlan>) {
  return (await (await swapGrid(await planOf(changes))).jobs())[0]!
}

describe('predictions of a swap', () => {
  beforeAll(() => useBackend('cpu'))

  it("of an exchange of the model's own attention are those of the original, draw for draw", async () => {
    const plan = await planOf({causal: false, layer_sets: [[0]], replicates: 1})
    const {costs, original, layers} = await swapCosts(plan)
    const cell = {...(await swapGrid(plan)).cells()[0]!, layers: [0], num_features: null}
    const exact = await resolveMethod({method: 'softmax-online', preset: 'exact', options: {}})
    const {predictedCost} = costs(cell, exact)
    expect(layers).toBe(4)
    // and the head of a causal model, twice
    expect(predictedCost).toBeGreaterThan(original.cost)
    expect(predictedCost).toBeLessThan(1.5 * original.cost)
  })

  it('grow with draws and texts, and shrink with what comes before the first exchanged layer', async () => {
    const base = await jobOf({})
    const [more, later, longer] = await Promise.all([
      jobOf({replicates: 6}),
      jobOf({layer_sets: [[3]]}),
      jobOf({texts: {...(await planOf()).texts, count: 80}}),
    ])
    expect(more.predictedCost / base.predictedCost).toBeGreaterThan(1.8)
    expect(more.predictedCost / base.predictedCost).toBeLessThan(2)
    expect(later.predictedCost).toBeLessThan(base.predictedCost / 2)
    expect(longer.predictedCost / base.predictedCost).toBeGreaterThan(1.8)
    for (const job of [more, longer])
      expect(job.predictedBytes).toBeGreaterThan(base.predictedBytes)
  })

  it('of memory have room for what a backend keeps of batches of other sizes', async () => {
    const bytesOf = async (lengths: number[], backend: 'native' | 'cpu') => {
      const path = join(await newFolder(), 'texts.txt')
      await writeFile(path, lengths.map(length => 'a'.repeat(length)).join('\n'))
      const {digest} = await readTexts(path)
      return (await jobOf({texts: {path, digest, count: lengths.length}, backend})).predictedBytes
    }
    const equal = Array<number>(40).fill(200)
    const shorter = [...equal.slice(20), ...Array<number>(20).fill(180)]
    expect(await bytesOf(shorter, 'native')).toBeGreaterThan(await bytesOf(equal, 'native'))
    expect(await bytesOf(shorter, 'cpu')).toBeLessThan(await bytesOf(equal, 'cpu'))
  })

  it('of a search for layers are not below those of the sets that it runs first', async () => {
    const single = await Promise.all([0, 1, 2, 3].map(layer => jobOf({layer_sets: [[layer]]})))
    const all = single.reduce((sum, {predictedCost}) => sum + predictedCost, 0)
    const search = await jobOf({budget: 0.1})
    expect(search.predictedCost).toBeGreaterThan(all)
  })
})
