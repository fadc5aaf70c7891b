import {describe, expect, it} from 'vitest'
import {adviceReport} from '../../../src/advice/report.js'
import type {Advice, AdviceCandidate, LayerAdvice} from '../../../src/advice/schema.js'
import {renderTerminal} from '../../../src/report/terminal.js'

const COST = {
  time_ns: 2e6,
  time_low_ns: 1.9e6,
  time_high_ns: 2.1e6,
  time_from: 'measured' as const,
  live_bytes: 1024,
}
const ERROR = {error: 0.03, error_low: 0.029, error_high: 0.031}
const GAIN = {gain: 4, gain_low: 3.5, gain_high: 4.5}
const CANDIDATE: AdviceCandidate = {
  label: 'favor-pos orth M=64',
  method: 'favor-pos',
  projection: 'orth',
  num_features: 64,
  feature_dim: 64,
  ...ERROR,
  ...{over_mean: 0.3, over_mean_low: 0.29, over_mean_high: 0.31},
  ...COST,
  ...GAIN,
  crossover_len: 1024,
  crossover_low_len: 900,
  crossover_high_len: 1200,
  unfit: null,
  on_front: true,
  heads: [ERROR, ERROR],
}
const LAYER: LayerAdvice = {
  layer: 3,
  candidate: CANDIDATE.label,
  obstacle: null,
  statement: 'Take favor-pos orth M=64.',
  uniform_heads: [],
  candidates: [CANDIDATE, {...CANDIDATE, label: 'elu', on_front: false}],
  heads: [
    {head: 0, candidate: CANDIDATE.label, obstacle: null, ...ERROR, ...GAIN, front: ['softmax']},
    {
      head: 1,
      candidate: null,
      obstacle: 'time',
      ...{error: null, error_low: null, error_high: null},
      ...{gain: null, gain_low: null, gain_high: null},
      front: ['softmax'],
    },
  ],
  mixed: {replaced_heads: [0], time_ns: 5e6, gain: 1.6, gain_low: 1.5, gain_high: 1.7},
  changes: [],
}
const ADVICE: Advice = {
  input: 'qkv.npz',
  metric: 'rel_l2',
  tolerance: 0.05,
  budget_ms: null,
  effort: 'quick',
  seed: 0,
  causal: true,
  ran_causal: null,
  ...{batch: 1, heads: 2, head_dim: 17, value_dim: 13},
  query_len: 31,
  key_len: 31,
  seq_len: 2048,
  timed_lens: [512, 2048],
  backend: 'backend native, 1 thread',
  left_out: ['lara skipped: bidirectional only [1 cell]'],
  not_tried: ['ra', 'taylor'],
  exact: [{form: 'softmax', ...COST, time_ns: 8e6}],
  layers: [LAYER],
}
const TYPED = {bin: 'rfa', input: ['--input', 'qkv.npz']}
const LAYOUT = {width: 120, color: false}
const said = (changes: Partial<Advice> = {}, layer: Partial<LayerAdvice> = {}, brief = false) =>
  renderTerminal(
    adviceReport({...ADVICE, layers: [{...LAYER, ...layer}], ...changes}, {typed: TYPED, brief}),
    LAYOUT as never,
  )

describe('adviceReport', () => {
  it('has what is on the front, beside exact attention', () => {
    const text = said()
    expect(text).toContain('Take favor-pos orth M=64.')
    expect(text).toMatch(/^softmax +exact +8\.00 ms +measured +- +- +1\.00 KiB$/m)
    expect(text).toMatch(
      /^favor-pos orth M=64 +3 % \[2\.9, 3\.1\] +2\.00 ms +measured +4\.00x \[3\.50, 4\.50\] +1020 \[900, 1200\] +1\.00 KiB$/m,
    )
    expect(text).not.toMatch(/^elu/m)
  })

  it('says which heads can be replaced, and why others cannot', () => {
    expect(said()).toContain('Head 0 can be replaced: 1.60x [1.50, 1.70] as fast')
    expect(said()).toMatch(/^ +1 +exact \(no faster\)/m)
    expect(said({budget_ms: 4})).toContain('but over the budget')
    expect(said({}, {mixed: null})).toContain('No head can be replaced.')
  })

  it('says what was measured where', () => {
    expect(said()).toContain('errors at L=2048 are taken to be those of the file, L=31')
    expect(said()).toContain('measured at L=512, 2048')
    expect(said({seq_len: 4096})).toContain('predicted from L=512, 2048')
    expect(said({seq_len: 31})).not.toContain('are taken to be')
    expect(said({key_len: 40})).toContain('the file has 40 keys')
    expect(said()).toContain('left out: lara skipped')
  })

  it('names what was not tried, with the flag that tries it and in full with the reasons', () => {
    const flag = 'methods that were not tried: --methods ra,taylor'
    expect(said()).toContain(flag)
    expect(said()).toContain('not tried: ra: costs as much as exact attention')
    expect(said({}, {}, true)).toContain(flag)
    expect(said({}, {}, true)).not.toContain('costs as much')
    expect(said({not_tried: []})).not.toContain('not tried')
  })

  it('has no table of heads in brief where all are alike', () => {
    const [head] = LAYER.heads
    const heads = [head!, {...head!, head: 1}]
    expect(said({}, {heads}, true)).not.toMatch(/^head /m)
    expect(said({}, {heads})).toMatch(/^head /m)
    expect(said({}, {}, true)).toMatch(/^head /m)
  })

  it('says in which heads attention is nearly uniform', () => {
    expect(said({}, {uniform_heads: [1]})).toContain('Attention is nearly uniform in head 1.')
    expect(said({}, {uniform_heads: [0, 1]})).not.toContain('uniform in')
  })

  it('shows averaging V beside what is on the front', () => {
    const mean = {...CANDIDATE, label: 'mean-value', method: 'mean-value', on_front: false}
    expect(said({}, {candidates: [CANDIDATE, mean]})).toMatch(/^mean-value +3 %/m)
  })

  it('says of a speed-up that is hardly known what to do, in brief nothing that needs no action', () => {
    const text = said({}, {candidates: [{...CANDIDATE, gain: 18, gain_low: 2.45, gain_high: 107}]})
    expect(text).toMatch(/^favor-pos .* 2\.45-107x /m)
    expect(text).toContain('run again on a quiet machine')
    expect(said()).not.toContain('unsettled')
    expect(said({}, {}, true)).not.toContain('asked for')
    expect(said()).toContain('asked for: rel_l2 of at most 5 %')
  })

  it('gives the commands that measure a recommendation again', () => {
    expect(said()).toContain(
      'rfa error-sweep --input qkv.npz --layer 3 --methods favor-pos --projections orth --num-features 64 --causal --targets raw',
    )
    expect(said()).toContain(
      'rfa bench --methods favor-pos --projections orth --num-features 64 --causal --seq-len 2048 --batch 1 --heads 2 --head-dim 17 --value-dim 13',
    )
    expect(said({}, {candidate: null})).not.toContain('again:')
  })

  it('gives none where nobody knows how the input was named', () => {
    const blocks = adviceReport(ADVICE)
    expect(renderTerminal(blocks, {width: 300, colour: false})).not.toContain('again:')
  })

  it('tells layers apart', () => {
    const text = said({layers: [LAYER, {...LAYER, layer: 5}]})
    expect(text).toMatch(/Layer 3[\s\S]*Layer 5/)
  })
})
