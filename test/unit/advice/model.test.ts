import {describe, expect, it} from 'vitest'
import {adviseModel} from '../../../src/advice/model/advise.js'
import {
  type ModelAdviceRequest,
  modelBenchPlan,
  modelSwapPlan,
} from '../../../src/advice/model/plans.js'
import {modelAdviceFacts} from '../../../src/advice/model/schema.js'
import {modelAdviceBlocks} from '../../../src/advice/model/screen.js'
import type {Counted} from '../../../src/advice/times.js'
import {toModelAdviceRequest} from '../../../src/cli/plans/advise.js'
import {swapFiles} from '../../../src/cli/plans/swap-files.js'
import type {CompletedSwap} from '../../../src/experiments/swap/schema.js'
import {renderTerminal} from '../../../src/report/terminal.js'
import {exactForm} from '../../helpers/records/bench.js'
import {point, swap} from '../../helpers/records/swap.js'

const REQUEST: ModelAdviceRequest = {
  model: {folder: 'fixtures/charlm', digest: 'a'},
  texts: {path: 'texts.txt', digest: 'b', count: 20},
  ...{maxTokens: 31, layers: 4, causal: true, budget: 0.1, seqLen: 31},
  ...{methods: ['elu'], numFeatures: [64], effort: 'quick', seed: 0, threads: null},
}
/** Operations grow with the length. */
const COUNTED: Counted = {flops: (_, length) => 1e6 * length, bytes: () => 1024}

/** A method that keeps the budget in some layers. @param loss - there, and of the layer that loses least */
function searched(method: string, chosen: number[], loss: number): CompletedSwap {
  const record = swap(
    {method, projection: null, num_features: null, budget: REQUEST.budget},
    {damage: loss},
  )
  const tried = [0, 1, 2, 3].map(layer => ({
    ...{set: [layer], loss: point(0.04 * (layer + 1)), within: layer < 2},
  }))
  return {...record, result: {...record.result, chosen_layers: chosen, tried_sets: tried}}
}

/** Times of both exact forms, and of others as shares of them. */
function times(shares: Record<string, number>) {
  return [31, 124].flatMap(length => [
    exactForm('softmax', length, 4e8 * (length / 31)),
    ...Object.entries(shares).map(([method, share]) =>
      exactForm(method, length, 4e8 * share * (length / 31)),
    ),
  ])
}

/** Operations of the model beside attention: with four layers of 31e6 that is a share of 4/5. */
const OTHERS = 31e6

const advised = (rows: readonly CompletedSwap[], shares: Record<string, number>) =>
  adviseModel(REQUEST, {swap: rows, time: times(shares)}, COUNTED, OTHERS)

describe('advice on a model', () => {
  it('takes what saves most: layers times the time of each', () => {
    const rows = [searched('elu', [0, 1], 0.05), searched('mean-value', [0], 0.08)]
    // elu saves 2 x 0.75, averaging V 0.9
    const advice = advised(rows, {elu: 0.25, 'mean-value': 0.1})
    expect(modelAdviceFacts.parse(advice)).toEqual(advice)
    expect([advice.candidate, advice.obstacle]).toEqual(['elu', null])
    // 0.05 of 1.6 nats
    expect(advice.statement).toMatch(
      /^Exchange attention in layers 0, 1 by elu: 3\.1 % more nats per token \[2\.8, 3\.4\] on 40 texts \([\d,]+ tokens\)\. Attention of one layer by itself is 4\.\d+x .*as fast as softmax at 31 tokens\. Layer 0 hardly uses its attention: averaging V in place of it costs 5\.0 % more nats per token .*\. Attention is 80 % of the model's operations at 31 tokens \(counted\): exchanging it everywhere makes the model at most 5\.00x as fast, in these layers 1\.67x\.$/,
    )
  })

  it('never advises averaging V, nor a method where that keeps the budget, too', () => {
    const rows = [searched('elu', [0], 0.05), searched('mean-value', [0], 0.08)]
    const {candidate, obstacle, statement} = advised(rows, {elu: 0.25, 'mean-value': 0.1})
    expect([candidate, obstacle]).toEqual([null, 'average'])
    expect(statement).toMatch(
      /^Keep exact attention .*Methods keep the budget only where averaging V does, too\. Layer 0 hardly uses its attention: /,
    )
    const only = advised([searched('mean-value', [0, 1, 2, 3], 0.08)], {'mean-value': 0.1})
    expect([only.candidate, only.obstacle]).toEqual([null, 'budget'])
    expect(only.statement).toContain('All 4 layers hardly use their attention')
  })

  it('says first that the model guesses, and advises nothing', () => {
    const rows = [searched('elu', [0, 1, 2, 3], 0.05)].map(row => ({
      ...row,
      result: {...row.result, guessing_nats: 1.5},
    }))
    const {candidate, obstacle, statement} = advised(rows, {elu: 0.25})
    expect([candidate, obstacle]).toEqual([null, 'guess'])
    expect(statement).toMatch(
      /The model guesses on these texts \(1\.60 nats per token, equal chances 1\.50\)/,
    )
  })

  it('keeps exact attention where no layer keeps the budget, and names the least loss', () => {
    const {candidate, obstacle, statement} = advised([searched('elu', [], 0)], {elu: 0.25})
    expect([candidate, obstacle]).toEqual([null, 'budget'])
    expect(statement).toContain(
      'Keep exact attention (softmax, 400 ms a layer at 31 tokens). No method keeps the budget of 0.1 nats per token in any layer: elu in layer 0 loses least, 2.5 % more nats per token [2.3, 2.8].',
    )
  })

  it('keeps exact attention where what keeps the budget is slower', () => {
    const {obstacle, statement} = advised([searched('elu', [0, 1, 2, 3], 0.05)], {elu: 3})
    expect(obstacle).toBe('time')
    expect(statement).toContain(
      'elu keeps the budget in all 4 layers, but is not faster for certain',
    )
  })

  it('names what is slower where averaging V does not keep the budget', () => {
    const rows = [
      searched('rfa', [0], 0.05),
      searched('elu', [0, 1], 0.05),
      searched('mean-value', [0], 0.08),
    ]
    const {obstacle, statement} = advised(rows, {rfa: 1, elu: 3, 'mean-value': 0.1})
    expect(obstacle).toBe('time')
    expect(statement).toContain('elu keeps the budget in layers 0, 1')
  })

  it('is refused where nothing runs in the model, or no exact form was timed', () => {
    const {result: _, ...bare} = swap({method: 'lara'})
    const skipped = {...bare, status: 'skipped' as const, reason: 'bidirectional only'}
    const act = (swaps: Parameters<typeof adviseModel>[1]['swap']) => () =>
      adviseModel(REQUEST, {swap: swaps, time: []}, COUNTED, OTHERS)
    expect(act([skipped])).toThrow(/expected a method that runs in the model, got lara/)
    expect(act([searched('elu', [0], 0.05)])).toThrow(/expected times of an exact form, got none/)
  })

  it('fits 80 columns', () => {
    const rows = ['elu', 'mean-value', 'cosformer'].map(name => searched(name, [0, 1, 2, 3], 0.05))
    const advice = advised(rows, {elu: 0.25, 'mean-value': 0.1, cosformer: 0.5})
    const text = renderTerminal(modelAdviceBlocks(advice), {width: 80, colour: false})
    expect(Math.max(...text.split('\n').map(line => line.length))).toBeLessThanOrEqual(80)
    expect(text).toMatchSnapshot()
  })
})

describe('the runs behind it', () => {
  it('search the layers of every method and of averaging V, and time them', () => {
    const plan = modelSwapPlan(REQUEST)
    expect(plan.methods.map(({method}) => method)).toEqual(['elu', 'mean-value'])
    expect([plan.layer_sets, plan.budget]).toEqual([[[0, 1, 2, 3]], 0.1])
    const bench = modelBenchPlan({...REQUEST, seqLen: 124}, [searched('elu', [0], 0.05)], COUNTED)
    expect(bench.methods.map(({method}) => method)).toContain('elu')
    expect([bench.heads, bench.head_dim, bench.causal]).toEqual([4, 32, true])
    expect(bench.seq_lens).toContain(124)
  })
})

/** Toggles that nobody typed. */
const NO_FLAGS = {quick: false, 'dry-run': false, details: false, resume: false}

it('refuses lengths that the model does not read', async () => {
  const model = 'fixtures/charlm'
  const files = await swapFiles({model})
  const request = (seqLen?: number) =>
    toModelAdviceRequest({...NO_FLAGS, model, 'seq-len': seqLen}, files)
  expect(request().seqLen).toBe(256)
  expect(request(256).seqLen).toBe(256)
  expect(() => request(257)).toThrow(
    '--seq-len: expected at most 256, the tokens that fixtures/charlm reads, got 257',
  )
})
