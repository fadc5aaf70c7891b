import {describe, expect, it} from 'vitest'
import {lessRead, quickRead} from '../../../../src/cli/plans/quick-read.js'
import type {SwapPlan} from '../../../../src/experiments/swap/schema.js'

const PLAN: SwapPlan = {
  ...{experiment: 'swap', methods: [{method: 'favor-pos', preset: 'exact', options: {}}]},
  ...{
    projections: ['orth'],
    orth_sign: 'haar',
    num_features: [64, 256],
    replicates: 3,
    seed: 0,
    backend: 'auto',
  },
  ...{layer_sets: [[0, 1]], model: {folder: 'model', digest: ''}, max_tokens: 256, causal: true},
  texts: {path: 'texts.txt', digest: '', count: 40},
}
const LETTERS = Array<number>(50).fill(4 * 100)

/** Of a decoder of this width; 2 variants, 3 draws, so that 6e12 / 2 / 6 / (24 width^2) tokens are read. */
function readOf(width: number, changes: Partial<SwapPlan> = {}, letters = LETTERS) {
  const plan = {...PLAN, ...changes}
  const read = quickRead(plan, {layers: 2, width, vocabulary: 0}, letters)
  return {count: read.texts.count, tokens: read.max_tokens, said: lessRead(plan, read)}
}

describe('what a quick swap reads', () => {
  it('is all that was planned of a small model', () => {
    expect(readOf(768)).toEqual({count: 40, tokens: 256, said: undefined})
  })

  it('is fewer texts of a large one, then shorter ones, at least five of 64 tokens', () => {
    // 5e11 / (24 width^2) tokens: 1,242, 310 and 3
    expect(readOf(4096)).toMatchObject({count: 12, tokens: 256})
    expect(readOf(4096).said).toBe('the model is large: --quick reads 12 texts')
    expect(readOf(8192 * 0.9)).toMatchObject({count: 5, tokens: 76})
    expect(readOf(81920)).toEqual({
      ...{count: 5, tokens: 64},
      said: 'the model is large: --quick reads 5 texts of at most 64 tokens',
    })
  })

  it('counts logits, the layers that a search tries, and tokens of cut texts', () => {
    const head = {layers: 2, width: 4096, vocabulary: 24 * 4096}
    expect(quickRead(PLAN, head, LETTERS).texts.count).toBe(6)
    expect(quickRead({...PLAN, causal: false}, head, LETTERS).texts.count).toBe(12)
    expect(readOf(4096, {budget: 1}).count).toBe(5)
    expect(readOf(4096, {}, Array<number>(50).fill(4e4)).count).toBe(5)
  })

  it('has as many texts as there are, arrays whole, and all of them on another device', () => {
    expect(readOf(81920, {texts: {...PLAN.texts, count: 3}})).toMatchObject({count: 3, tokens: 64})
    const texts = {...PLAN.texts, format: 'npz' as const}
    expect(readOf(81920, {texts}, [])).toEqual({
      ...{count: 5, tokens: 256},
      said: 'the model is large: --quick reads 5 items',
    })
    expect(readOf(81920, {device: 'cuda'})).toMatchObject({count: 40, tokens: 256})
  })
})
