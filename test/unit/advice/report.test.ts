import {describe, expect, it} from 'vitest'
import {adviceReport} from '../../../src/advice/report.js'
import type {Advice, LayerAdvice} from '../../../src/advice/schema.js'
import {renderTerminal} from '../../../src/report/terminal.js'
import {ADVICE, CANDIDATE, LAYER} from '../../helpers/advice.js'

const TYPED = {bin: 'rfa', input: ['--input', 'qkv.npz']}
const LAYOUT = {width: 120, colour: false}
const said = (changes: Partial<Advice> = {}, layer: Partial<LayerAdvice> = {}) =>
  renderTerminal(
    adviceReport({...ADVICE, layers: [{...LAYER, ...layer}], ...changes}, TYPED),
    LAYOUT,
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
    expect(said()).toContain('Chosen head by head, head 0 can be replaced: 1.60x [1.50, 1.70] as')
    expect(said({}, {candidate: null})).toContain('Head 0 can be replaced: 1.60x')
    expect(said()).toMatch(/^ +1 +exact \(no faster\)/m)
    expect(said({budget_ms: 4}, {candidate: null})).toContain('but over the budget')
    expect(said({}, {mixed: null})).toContain('No head can be replaced.')
  })

  it('says what was measured where', () => {
    expect(said()).toContain('errors at L=2048 are assumed to equal those of the file, at L=31')
    expect(said()).toContain('measured at L=512, 2048')
    expect(said({seq_len: 4096})).toContain('predicted from L=512, 2048')
    expect(said({seq_len: 31})).not.toContain('are assumed')
    expect(said({key_len: 40})).toContain('the file has 40 keys')
    expect(said()).toContain('left out: lara skipped')
  })

  it('names what was not tried, with the flag that tries it and the reasons', () => {
    const flag = 'methods that were not tried: --methods ra,taylor'
    expect(said()).toContain(flag)
    expect(said()).toContain('not tried: ra: costs as much as exact attention')
    expect(said({not_tried: []})).not.toContain('not tried')
  })

  it('says in which heads attention is nearly uniform', () => {
    expect(said({}, {uniform_heads: [1]})).toContain('Attention is nearly uniform in head 1.')
    expect(said({}, {uniform_heads: [0, 1]})).not.toContain('uniform in')
  })

  it('shows averaging V beside what is on the front', () => {
    const mean = {...CANDIDATE, label: 'mean-value', method: 'mean-value', on_front: false}
    expect(said({}, {candidates: [CANDIDATE, mean]})).toMatch(/^mean-value +3 %/m)
  })

  it('says of a speed-up that is hardly known what to do', () => {
    const text = said({}, {candidates: [{...CANDIDATE, gain: 18, gain_low: 2.45, gain_high: 107}]})
    expect(text).toMatch(/^favor-pos .* 2\.45-107x /m)
    expect(text).toContain('run again on a quiet machine')
    expect(said()).not.toContain('unsettled')
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
    const learned = {...CANDIDATE, parameters: 'my tuned.safetensors'}
    const text = said({}, {candidates: [learned]})
    expect(text).toMatch(/error-sweep .* --num-features 64 --parameters 'my tuned.safetensors'/)
    expect(text).toMatch(/bench .* --num-features 64 --parameters 'my tuned.safetensors'/)
    expect(text).toContain('give others as the input')
    expect(said()).not.toContain('give others as the input')
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
