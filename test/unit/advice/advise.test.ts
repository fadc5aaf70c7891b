import {describe, expect, it} from 'vitest'
import {advise, shapeOf} from '../../../src/advice/advise.js'
import type {AdviceRequest} from '../../../src/advice/plans.js'
import {adviceFacts} from '../../../src/advice/schema.js'
import type {Counted} from '../../../src/advice/times.js'
import type {CompletedSweep, ErrorSweepResult} from '../../../src/experiments/error-sweep/schema.js'
import {exactForm, timed} from '../../helpers/records/bench.js'
import {metric, sweep} from '../../helpers/records/error-sweep.js'
import {skipped} from '../../helpers/records/outcomes.js'

const INPUT: AdviceRequest['input'] = {
  kind: 'file',
  paths: ['qkv.npz'],
  names: {query: 'q', key: 'k', value: 'v'},
}
const REQUEST: AdviceRequest = {
  input: INPUT,
  causal: true,
  metric: 'rel_l2',
  tolerance: 0.05,
  budgetMs: null,
  seqLen: 4096,
  methods: ['favor-pos'],
  numFeatures: [64],
  effort: 'quick',
  seed: 0,
  threads: null,
}
const counted: Counted = {
  flops: ({num_features}, length) =>
    num_features === null ? length ** 2 : 4 * num_features * length,
  bytes: ({num_features}, length) => (num_features === null ? 4 * length ** 2 : 4 * length),
}

/** A cell whose error over all heads and in each of them is known within 1 %. */
function erring(
  all: number,
  heads: readonly [number, number],
  {scale = 1, ...result}: Partial<ErrorSweepResult> & {scale?: number} = {},
): CompletedSweep {
  const about = (value: number) => metric(value, 0.99 * value, 1.01 * value)
  const record = sweep({scale, replicates: 6})
  const squares = heads.map(error => [0.98, 0.99, 1, 1, 1.01, 1.02].map(x => x * error ** 2))
  const kept = {head_mse: squares} as unknown as ErrorSweepResult['replicate_metrics']
  const perHead = record.result.per_head.map((head, at) => ({
    ...head,
    rel_l2: heads[at]!,
    mse: heads[at]! ** 2,
  }))
  return sweep(
    {scale, replicates: 6},
    {rel_l2: about(all), per_head: perHead, replicate_metrics: kept, ...result},
  )
}

const time = [1024, 4096].flatMap(length => [
  exactForm('softmax', length, 10 * length ** 2),
  timed({seq_len: length}, 10 * 256 * length),
])
const adviceOn = (error: CompletedSweep[], request: Partial<AdviceRequest> = {}, bench = time) => {
  const advice = advise({...REQUEST, ...request}, {error, time: bench}, counted)
  expect(adviceFacts.safeParse(JSON.parse(JSON.stringify(advice))).success).toBe(true)
  return advice.layers[0]!
}

describe('advise', () => {
  it('takes what is accurate and faster', () => {
    const layer = adviceOn([erring(0.04, [0.03, 0.045])])
    expect(layer).toMatchObject({candidate: 'favor-pos orth M=64', obstacle: null, changes: []})
    expect(layer.statement).toMatch(
      /^take favor-pos orth M=64: error 0.0400 \[0.0396, 0.0404\], 16/,
    )
    expect(layer.candidates[0]).toMatchObject({on_front: true, time_from: 'measured'})
    expect(layer.heads.map(({candidate}) => candidate)).toEqual(
      Array(2).fill('favor-pos orth M=64'),
    )
  })

  it('replaces the heads that can be, with their share of the time', () => {
    const layer = adviceOn([erring(0.2, [0.03, 0.3])])
    expect(layer).toMatchObject({candidate: null, obstacle: 'error'})
    expect(layer.heads.map(({candidate}) => candidate)).toEqual(['favor-pos orth M=64', null])
    expect(layer.mixed).toMatchObject({replaced_heads: [0]})
    // half of the time is exact attention, the other half takes a sixteenth
    expect(layer.mixed!.gain).toBeCloseTo(2 / (1 + 1 / 16), 12)
  })

  it('says what would change it: M, length, tolerance, norms', () => {
    const layer = adviceOn([
      erring(0.2, [0.2, 0.2], {num_features_for_5_percent: 65_536}),
      erring(0.03, [0.03, 0.03], {scale: 0.5}),
      erring(0.01, [0.01, 0.01], {scale: 0.25}),
    ])
    const found = layer.changes.map(({kind, candidate, value}) => [kind, candidate, value])
    expect(found).toEqual([
      ['features', 'favor-pos', 65_536],
      ['length', 'favor-pos M=65536', expect.closeTo(4 * 65_536, -4)],
      ['tolerance', 'favor-pos orth M=64', expect.closeTo(0.202, 12)],
      ['norms', 'favor-pos orth M=64', 0.5],
    ])
    expect(layer.changes[0]!.statement).toContain('64.0 times as slow as exact attention')
    // error 0.2 at M=64 to 0.05 at 65,536 is M^(-1/5): 0.1 takes 64 * 2^5
    const looser = adviceOn([erring(0.2, [0.2, 0.2], {num_features_for_5_percent: 65_536})], {
      tolerance: 0.1,
    })
    expect(looser.changes[0]).toMatchObject({kind: 'features', value: 2048})
  })

  it('says so where nothing would change it', () => {
    const broken = {means_unknown: 'sign_changes'} as const
    const layer = adviceOn([erring(0.01, [0.01, 0.01], broken)])
    expect(layer).toMatchObject({candidate: null, obstacle: 'error', mixed: null})
    expect(layer.candidates[0]).toMatchObject({unfit: 'sign_changes'})
    expect(layer.changes.map(({candidate, value}) => [candidate, value])).toEqual(
      Array(4).fill([null, null]),
    )
  })

  it('tells what is too slow from what is over the budget', () => {
    const accurate = [erring(0.04, [0.04, 0.04])]
    const short = adviceOn(accurate, {seqLen: 256})
    expect(short).toMatchObject({candidate: null, obstacle: 'time'})
    expect(short.changes.map(({kind}) => kind)).toEqual(['length', 'tolerance', 'norms'])
    const late = adviceOn(accurate, {budgetMs: 1})
    expect(late).toMatchObject({candidate: null, obstacle: 'budget'})
    expect(late.statement).toContain('it takes 168 ms, more than the budget, too')
    expect(late.heads[0]!.candidate).toBe('favor-pos orth M=64')
  })

  it('holds mse against the tolerance, without a prediction of M', () => {
    const layer = adviceOn([erring(0.2, [0.2, 0.2])], {metric: 'mse', tolerance: 0.0001})
    expect(layer.changes.map(({kind}) => kind)).toEqual(['length', 'tolerance', 'norms'])
  })

  it('advises on each layer', () => {
    const ofLayer = (layer: number, error: number) => {
      const record = erring(error, [error, error])
      return {...record, cell: {...record.cell, layer}}
    }
    const error = [ofLayer(0, 0.01), ofLayer(3, 0.3)]
    const {layers} = advise(REQUEST, {error, time}, counted)
    expect(layers.map(({layer, obstacle}) => [layer, obstacle])).toEqual([
      [0, null],
      [3, 'error'],
    ])
  })

  it('names what was left out', () => {
    const error = [
      erring(0.04, [0.04, 0.04]),
      skipped(sweep({method: 'lara'}), 'bidirectional only'),
    ]
    const {left_out} = advise(REQUEST, {error, time}, counted)
    expect(left_out).toEqual(['lara skipped: bidirectional only [1 cell]'])
  })

  it('refuses layers of several shapes, and runs without what it takes', () => {
    const other = sweep({}, {heads: 3})
    expect(() => shapeOf([sweep(), other])).toThrow(/expected layers of one shape, got .*"heads":3/)
    expect(() => shapeOf([skipped(sweep(), 'bidirectional only')])).toThrow('bidirectional only')
    const run = () => advise(REQUEST, {error: [sweep()], time: [timed()]}, counted)
    expect(run).toThrow('expected times of an exact form, got none')
  })
})
