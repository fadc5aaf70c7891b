import {describe, expect, it} from 'vitest'
import {loadEstimators} from '../../../../src/attention/names.js'
import {type SwapFlags, toSwapPlan} from '../../../../src/cli/plans/swap.js'
import {swapFiles} from '../../../../src/cli/plans/swap-files.js'
import {afterSwap} from '../../../../src/cli/run/after-swap.js'
import {swapGrid} from '../../../../src/experiments/swap/grid.js'
import type {SwapPlan} from '../../../../src/experiments/swap/schema.js'
import {packagedFile} from '../../../../src/inputs/packaged.js'
import {readTuned} from '../../../../src/tuned/index.js'
import {BENCH_MANIFEST} from '../../../helpers/records/bench.js'
import {swap} from '../../../helpers/records/swap.js'

const [OWN, TEXTS] = ['test/../fixtures/charlm', 'fixtures/charlm-learned.txt']

/** The next line of a run of these flags. @param changes - of its plan */
async function lineOf(typed: Partial<SwapFlags>, changes: Partial<SwapPlan> = {}) {
  const flags = {quick: true, ...typed} as SwapFlags
  const parameters = flags.parameters ? await readTuned(flags.parameters) : undefined
  const made = toSwapPlan(flags, await swapFiles(flags), await loadEstimators(), parameters)
  const plan = {...made, ...changes}
  const records = [...(await swapGrid(plan)).cells()].map(cell => swap(cell, {damage: 0.1}))
  return afterSwap({manifest: {...BENCH_MANIFEST, plan}, records}, 'rfa')
}

describe('what to do after a model was exchanged', () => {
  it('is to learn its layers on the same texts', async () => {
    expect(await lineOf({model: OWN, texts: TEXTS})).toEqual([
      `next: rfa tune --model ${OWN} --texts ${TEXTS}   how much of the loss does learning repair?`,
    ])
    expect(await lineOf({model: OWN})).toEqual([
      `next: rfa tune --model ${OWN}   how much of the loss does learning repair?`,
    ])
  })

  it('after learning is to time it', async () => {
    const parameters = packagedFile('charlm-tuned.safetensors')
    expect(await lineOf({model: OWN, parameters})).toEqual([
      `next: rfa bench --model ${OWN}   what does the model gain?`,
    ])
  })

  it('has the engine that ran', async () => {
    const engine = {
      ...{name: 'transformers' as const, layers: 2, heads: 2, head_dim: 8},
      ...{width: 16, vocabulary: 9, parameters: 1e4},
    }
    expect(await lineOf({model: OWN}, {engine, device: 'cuda'})).toEqual([
      `next: rfa tune --model ${OWN} --engine transformers --device cuda   how much of the loss does learning repair?`,
    ])
  })

  it('is nothing for what is packaged, arrays, and changed weights', async () => {
    expect(await lineOf({})).toEqual([])
    const original = {folder: OWN, digest: 'd'}
    expect(await lineOf({model: OWN}, {original})).toEqual([])
    const texts = {path: 'a.npz', digest: 'd', count: 2, format: 'npz' as const}
    expect(await lineOf({model: OWN}, {texts})).toEqual([])
  })
})
