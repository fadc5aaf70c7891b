import {describe, expect, it} from 'vitest'
import {CANDIDATES, NOT_TRIED, notTried} from '../../../src/advice/not-tried.js'
import {
  ADVICE,
  type AdviceRequest,
  benchPlanFor,
  normsPlanOf,
  sweepPlanOf,
  timedLengths,
} from '../../../src/advice/plans.js'
import type {Counted, Variant} from '../../../src/advice/times.js'
import {METHOD_NAMES} from '../../../src/attention/names.js'
import {YARDSTICK} from '../../../src/experiments/averaging.js'
import {BASELINES} from '../../../src/experiments/bench/fields/baselines.js'
import {timed} from '../../helpers/records/bench.js'

const REQUEST: AdviceRequest = {
  input: {kind: 'file', paths: ['qkv.npz'], names: {query: 'q', key: 'k', value: 'v'}},
  ...{causal: true, metric: 'rel_l2', tolerance: 0.05, budgetMs: null, seqLen: null},
  ...{methods: ['favor-pos', 'elu'], numFeatures: [64, 4096], effort: 'quick', seed: 7, threads: 1},
}
const SHAPE = {
  ...{batch: 1, heads: 4, head_dim: 64, value_dim: 64},
  ...{query_len: 256, key_len: 256, causal: true},
}

describe('sweepPlanOf', () => {
  it('measures the input as it is against exact attention, averaging V among the methods', () => {
    const plan = sweepPlanOf({...REQUEST, layers: [0, 3], logitScale: 0.5})
    expect(plan.methods.map(({method}) => method)).toEqual(['favor-pos', 'elu', 'mean-value'])
    expect(plan).toMatchObject({
      ...{scales: [1], num_features: [64, 4096], targets: ['raw'], replicates: 10, seq_lens: null},
      ...{layers: [0, 3], logit_scale: 0.5, causal: true, seed: 7},
    })
    expect(sweepPlanOf(REQUEST)).not.toHaveProperty('layers')
  })
})

describe('normsPlanOf', () => {
  it('measures smaller norms at one M', () => {
    const at = (...numFeatures: number[]) => normsPlanOf({...REQUEST, numFeatures})
    expect(at(64, 256, 1024)).toMatchObject({scales: [0.5, 0.25], num_features: [256]})
    expect(at(1024, 512)).toMatchObject({num_features: [512]})
  })
})

describe('methods that are not tried', () => {
  const {standard, quick} = ADVICE

  it.each(METHOD_NAMES)('%s is an exact form, a candidate, or has a reason', name => {
    const known = [...BASELINES, YARDSTICK, ...standard.methods, ...Object.keys(NOT_TRIED)]
    expect(known.filter(one => one === name)).toHaveLength(1)
  })

  it('are named, those that only --quick leaves out among them', () => {
    expect(notTried(standard.methods)).toEqual(CANDIDATES.filter(name => name in NOT_TRIED))
    expect(notTried(quick.methods)).toEqual(expect.arrayContaining(['oprf', 'eva', 'taylor']))
    expect(notTried(['taylor'])).not.toContain('taylor')
  })
})

describe('timedLengths', () => {
  const at = (query_len: number, seqLen: number | null) =>
    timedLengths({...SHAPE, query_len}, {effort: 'quick', seqLen})

  it('are the length of the file and the one asked for', () => {
    expect(at(256, 2048)).toEqual([256, 2048])
    expect(at(1024, 256)).toEqual([256, 1024])
  })

  it('are two, whatever is asked', () => {
    expect(at(256, null)).toEqual([256, 1024])
    expect(at(2048, null)).toEqual([512, 2048])
    expect(at(65_536, null)).toEqual([512, 2048])
  })

  it('are affordable', () => {
    expect(at(256, 1_000_000)).toEqual([256, 2048])
    const wide = {...SHAPE, batch: 8, heads: 64}
    // 512 heads of 2^29 bytes of logits in all: 2^18 of them each
    expect(
      timedLengths({...wide, head_dim: 1, value_dim: 1}, {effort: 'full', seqLen: 8192}),
    ).toEqual([256, 512])
  })
})

describe('benchPlanFor', () => {
  const counted: Counted = {
    flops: ({num_features}, length) => length * (num_features ?? length),
    bytes: () => 0,
  }
  const favor = (num_features: number): Variant => timed({num_features}).cell
  const elu: Variant = {...favor(64), method: 'elu', projection: null, num_features: null}

  it('times both exact forms beside the candidates, in random order', () => {
    const plan = benchPlanFor(REQUEST, SHAPE, [favor(64), elu], counted)
    expect(plan.methods.map(({method}) => method)).toEqual([
      'softmax',
      'softmax-online',
      'favor-pos',
      'elu',
    ])
    expect(plan).toMatchObject({heads: 4, causal: true, seed: 7, threads: 1, order: 'random'})
  })

  it('leaves out M that make more operations than exact attention, but for the smallest', () => {
    const variants = [favor(64), favor(1024), favor(4096)]
    expect(benchPlanFor(REQUEST, SHAPE, variants, counted).num_features).toEqual([64, 1024])
    expect(benchPlanFor(REQUEST, SHAPE, [favor(4096)], counted).num_features).toEqual([4096])
  })
})
