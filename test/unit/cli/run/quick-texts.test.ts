import {describe, expect, it} from 'vitest'
import {swapFiles} from '../../../../src/cli/plans/swap-files.js'
import {describedPlan} from '../../../../src/cli/run/described-plan.js'
import {quickTexts} from '../../../../src/cli/run/quick-texts.js'
import type {SwapPlan} from '../../../../src/experiments/swap/schema.js'
import {prepareDryRun} from '../../../../src/runner/preparation.js'

/** A swap of the packaged model with so many draws. */
async function planOf(replicates: number, texts = 40): Promise<SwapPlan> {
  const {facts, model, texts: known} = await swapFiles({})
  const {lines: _, ...file} = known
  return {
    ...{experiment: 'swap', methods: [{method: 'favor-pos', preset: 'exact', options: {}}]},
    ...{projections: ['orth'], orth_sign: 'haar', num_features: [64], replicates, seed: 0},
    ...{layer_sets: [[0, 1, 2, 3]], model, texts: {...file, count: texts}, max_tokens: 256},
    ...{causal: facts.causal, backend: 'cpu'},
  }
}

const secondsOf = async (plan: SwapPlan) =>
  (await describedPlan(plan, 1, {prepareDryRun})).described.predicted_seconds

async function read(plan: SwapPlan) {
  const said: string[] = []
  const services = {prepareDryRun}
  const own = await quickTexts(plan, {services, caution: text => said.push(text)}, 1)
  return {own, said, seconds: await secondsOf({...plan, ...own})}
}

describe('what a quick swap reads', () => {
  it('is the plan, without a word, where that takes less than a minute', async () => {
    const plan = await planOf(1, 10)
    expect(await secondsOf(plan)).toBeLessThan(60)
    const {own, said} = await read(plan)
    expect(own).toEqual({texts: plan.texts, max_tokens: plan.max_tokens})
    expect(said).toEqual([])
  })

  it('is fewer texts, all of their tokens, where five take less', async () => {
    const each = (await secondsOf(await planOf(11))) - (await secondsOf(await planOf(1)))
    const plan = await planOf(Math.ceil((10 * 120) / each))
    const {own, said, seconds} = await read(plan)
    expect(own.texts.count).toBeGreaterThan(10)
    expect(own.texts.count).toBeLessThan(30)
    expect(own.max_tokens).toBeGreaterThan(200)
    // texts differ in length
    expect(seconds).toBeGreaterThan(30)
    expect(seconds).toBeLessThan(90)
    expect(said).toHaveLength(1)
    expect(said[0]).toContain(`--quick reads ${own.texts.count} texts of at most`)
  })

  it('is five texts of 64 tokens at least, and no more texts than there are', async () => {
    for (const texts of [40, 3]) {
      const {own, said} = await read(await planOf(1_000_000, texts))
      expect(own.texts.count).toBe(Math.min(texts, 5))
      expect(own.max_tokens).toBe(64)
      expect(said).toHaveLength(1)
    }
  })
})
