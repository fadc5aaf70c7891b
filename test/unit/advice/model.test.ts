import {describe, expect, it} from 'vitest'
import {adviseModel, worthTiming} from '../../../src/advice/model/advise.js'
import {type ModelAdviceRequest, modelSwapPlan} from '../../../src/advice/model/plans.js'
import {modelAdviceFacts} from '../../../src/advice/model/schema.js'
import {modelAdviceBlocks} from '../../../src/advice/model/screen.js'
import {toModelAdviceRequest} from '../../../src/cli/plans/advise.js'
import {namedTexts, pretrained} from '../../../src/cli/plans/swap-files.js'
import type {TimedRecord} from '../../../src/experiments/bench/schema.js'
import {medianOf, undisturbedTime} from '../../../src/experiments/bench/times/time-estimates.js'
import type {CompletedSwap} from '../../../src/experiments/swap/schema.js'
import {renderTerminal} from '../../../src/report/terminal.js'
import {modelTimes} from '../../helpers/records/bench.js'
import {point, swap} from '../../helpers/records/swap.js'

const REQUEST: ModelAdviceRequest = {
  model: {folder: 'fixtures/charlm', digest: 'a'},
  texts: {path: 'texts.txt', digest: 'b', count: 20},
  ...{maxTokens: 31, layers: 4, causal: true, budget: 0.1, seqLen: 31},
  ...{methods: ['elu'], numFeatures: [64], effort: 'quick', seed: 0, threads: null},
}
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

/** A model that takes 100 ms, half of that for attention. @param methods - what it takes with these in their layers */
function times(layers: number[], methods: Record<string, number> = {}) {
  const without = 100 - 12.5 * layers.length
  return {
    layers: layers.join(),
    records: modelTimes(
      layers,
      {'softmax-online': 100, identity: without, ...methods},
      {seq_len: REQUEST.seqLen},
    ),
  }
}
const ALL = [0, 1, 2, 3]

const advised = (
  rows: readonly CompletedSwap[],
  timed: readonly ReturnType<typeof times>[] = [times(ALL)],
) => adviseModel(REQUEST, {swap: rows, times: timed})

describe('advice on a model', () => {
  it('takes that with which the model is fastest, whatever its layers', () => {
    const rows = [
      searched('elu', [0, 1], 0.05),
      searched('rfa', ALL, 0.07),
      searched('mean-value', [0], 0.08),
    ]
    const advice = advised(rows, [times(ALL, {rfa: 90}), times([0, 1], {elu: 80})])
    expect(modelAdviceFacts.parse(advice)).toEqual(advice)
    expect([advice.candidate, advice.obstacle]).toEqual(['elu', null])
    const [exact, without] = times(ALL).records as [TimedRecord, TimedRecord]
    expect(advice.exact.time_ns).toBe(medianOf(exact).value)
    const bound = undisturbedTime(exact) / undisturbedTime(without)
    expect(advice.attention_share).toBeCloseTo(1 - 1 / bound, 12)
    expect(
      advice.candidates.map(({method, gain}) => [method, gain && Math.round(20 * gain)]),
    ).toEqual([
      ['elu', 25],
      ['rfa', 22],
      ['mean-value', null],
    ])
    expect(advice.statement).toMatch(
      /^Exchange attention in layers 0, 1 by elu: it loses 0\.050 nats per token \[0\.045, 0\.055\] on 40 texts \([\d,]+ tokens\)\. The model is 1\.2\dx \[1\.\d+, 1\.\d+\] as fast at 31 tokens\. Layer 0 hardly uses its attention: averaging V in place of it loses 0\.080 nats per token \[.*\]\. Attention of layers 0, 1 is 2\d % \[.*\] of the time of the exact model at L=31: no method can gain more than 1\.3x /,
    )
  })

  it('never advises averaging V, nor a method where that keeps the budget, too', () => {
    const rows = [searched('elu', [0], 0.05), searched('mean-value', [0], 0.08)]
    expect(worthTiming(rows)).toEqual([])
    const {candidate, obstacle, statement} = advised(rows)
    expect([candidate, obstacle]).toEqual([null, 'average'])
    expect(statement).toMatch(
      /^Keep exact attention \(the model takes \d+ ms for 31 tokens\)\. Methods keep the budget only where averaging V does, too\. Layer 0 hardly uses its attention: .* Attention is [45]\d % /,
    )
    const only = advised([searched('mean-value', ALL, 0.08)])
    expect([only.candidate, only.obstacle]).toEqual([null, 'budget'])
    expect(only.statement).toContain('All 4 layers hardly use their attention')
  })

  it('says first that the model guesses, and advises and times nothing', () => {
    const rows = [searched('elu', ALL, 0.05)].map(row => ({
      ...row,
      result: {...row.result, guessing_nats: 1.5},
    }))
    expect(worthTiming(rows)).toEqual([])
    const {candidate, obstacle, statement} = advised(rows)
    expect([candidate, obstacle]).toEqual([null, 'guess'])
    expect(statement).toMatch(
      /The model guesses on these texts \(1\.60 nats per token, equal chances 1\.50\)/,
    )
  })

  it('keeps exact attention where no layer keeps the budget, and names the least loss', () => {
    const {candidate, obstacle, statement} = advised([searched('elu', [], 0)])
    expect([candidate, obstacle]).toEqual([null, 'budget'])
    expect(statement).toContain(
      'No method keeps the budget of 0.1 nats per token in any layer: elu in layer 0 loses least, 0.040 nats per token [0.036, 0.044].',
    )
  })

  it('keeps exact attention where the model is slower, and says by how much', () => {
    const rows = [searched('elu', ALL, 0.05), searched('rfa', [0], 0.05)]
    const {obstacle, statement} = advised(rows, [times(ALL, {elu: 200}), times([0], {rfa: 125})])
    expect(obstacle).toBe('time')
    expect(statement).toMatch(
      /rfa keeps the budget in layer 0, but the model is slower at 31 tokens: 0\.8\d*x .* as fast\. .*Attention of layer 0 is /,
    )
  })

  it('has no verdict where times are not known', () => {
    const records = times(ALL, {elu: 80}).records.map(({result, ...record}) => ({
      ...record,
      // runs waited for nearly all of their time
      result: {
        ...result,
        threads: 2,
        waited_ns: 0.9 * result.samples_ns.reduce((a, b) => a + b, 0),
      },
    }))
    const {candidate, obstacle, statement} = advised(
      [searched('elu', ALL, 0.05)],
      [{layers: ALL.join(), records}],
    )
    expect([candidate, obstacle]).toEqual([null, 'untimed'])
    expect(statement).toMatch(
      /^No verdict: the machine was too busy to time the model at 31 tokens\. elu loses 0\.050 nats per token \[0\.045, 0\.055\] in all 4 layers, within the budget\./,
    )
  })

  it('has no verdict where what keeps the budget was not timed', () => {
    const {obstacle, statement} = advised([searched('elu', ALL, 0.05)], [times(ALL)])
    expect(obstacle).toBe('untimed')
    expect(statement).toContain('No verdict: nothing that keeps the budget was timed. elu loses')
  })

  it('takes what is faster though the machine was too busy for another', () => {
    const busy = times([0], {rfa: 70}).records.map(({result, ...record}) => {
      const waited_ns = 0.9 * result.samples_ns.reduce((a, b) => a + b, 0)
      return {...record, result: {...result, threads: 2, waited_ns}}
    })
    const rows = [searched('rfa', [0], 0.05), searched('elu', ALL, 0.05)]
    const {candidate} = advised(rows, [times(ALL, {elu: 80}), {layers: '0', records: busy}])
    expect(candidate).toBe('elu')
  })

  it('takes the times of the method for learned parameters', () => {
    const tuned = {
      path: 't.safetensors',
      digest: 'a',
      projection: null,
      num_features: null,
      draws: null,
    }
    const {cell, ...rest} = searched('elu', ALL, 0.05)
    const gainOf = (row: CompletedSwap) =>
      advised([row], [times(ALL, {elu: 80})]).candidates[0]!.gain
    expect(gainOf({...rest, cell: {...cell, tuned}})).toBe(gainOf({...rest, cell}))
  })

  it('is refused where nothing runs in the model, or no exact form was timed', () => {
    const {result: _, ...bare} = swap({method: 'lara'})
    const skipped = {...bare, status: 'skipped' as const, reason: 'bidirectional only'}
    const act = (swaps: Parameters<typeof adviseModel>[1]['swap']) => () =>
      adviseModel(REQUEST, {swap: swaps, times: [{layers: ALL.join(), records: []}]})
    expect(act([skipped])).toThrow(/expected a method that runs in the model, got lara/)
    expect(act([searched('elu', [0], 0.05)])).toThrow(
      /expected times of the model as it is and without attention, got none/,
    )
  })

  it('fits 80 columns', () => {
    const rows = ['elu', 'mean-value', 'cosformer'].map(name =>
      searched(name, name === 'mean-value' ? [0] : ALL, 0.05),
    )
    const advice = advised(rows, [times(ALL, {elu: 80, cosformer: 90})])
    const text = renderTerminal(modelAdviceBlocks(advice), {width: 80, colour: false})
    expect(Math.max(...text.split('\n').map(line => line.length))).toBeLessThanOrEqual(80)
    expect(text).toMatchSnapshot()
  })
})

describe('the swap behind it', () => {
  it('search the layers of every method and of averaging V', () => {
    const plan = modelSwapPlan(REQUEST)
    expect(plan.methods.map(({method}) => method)).toEqual(['elu', 'mean-value'])
    expect([plan.layer_sets, plan.budget]).toEqual([[ALL], 0.1])
  })
})

/** Toggles that nobody typed. */
const NO_FLAGS = {quick: false, 'dry-run': false, details: false, resume: false}

it('refuses lengths that the model does not read', async () => {
  const model = 'fixtures/charlm'
  const [found, texts] = await Promise.all([pretrained({model}), namedTexts({})])
  const request = (seqLen?: number) =>
    toModelAdviceRequest({...NO_FLAGS, model, 'seq-len': seqLen}, found, texts)
  expect(request().seqLen).toBe(256)
  expect(request(256).seqLen).toBe(256)
  expect(() => request(257)).toThrow(
    '--seq-len: expected at most 256, the tokens that fixtures/charlm reads, got 257',
  )
})
