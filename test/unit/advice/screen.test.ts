import {describe, expect, it} from 'vitest'
import type {Advice, AdviceCandidate, AdviceChange, HeadAdvice} from '../../../src/advice/schema.js'
import {adviceScreen} from '../../../src/advice/screen.js'
import {renderTerminal} from '../../../src/report/terminal.js'
import {ADVICE, CANDIDATE, LAYER} from '../../helpers/advice.js'

const screen = (advice: Advice) => renderTerminal(adviceScreen(advice), {width: 80, colour: false})

const MEAN: AdviceCandidate = {
  ...CANDIDATE,
  label: 'mean-value',
  method: 'mean-value',
  ...{error: 0.94, error_low: 0.94, error_high: 0.94, on_front: false},
}
const NEAREST: AdviceCandidate = {
  ...CANDIDATE,
  label: 'lara M=64',
  ...{error: 0.9, error_low: 0.89, error_high: 0.91, on_front: false},
  ...{gain: 18, gain_low: 2.45, gain_high: 107},
}
const others = Array.from({length: 9}, (_, at) => ({
  ...CANDIDATE,
  label: `favor-trig orth M=${64 * (at + 1)}`,
  error: 0.2 + at / 100,
}))
const ruledOut = (kind: AdviceChange['kind'], what: string): AdviceChange => ({
  ...{kind, candidate: null, value: null, statement: `No ${what} helps.`, ruled_out: what},
})
const KEPT = {
  ...LAYER,
  candidate: null,
  obstacle: 'error' as const,
  statement:
    'Keep exact attention (softmax, 4.30 ms at L=256). No method is within 5 %: the nearest is lara M=64, 90 % [89, 91] off (averaging V: 94 %).',
  candidates: [NEAREST, MEAN],
  heads: LAYER.heads.map(head => ({...head, candidate: null, obstacle: 'error' as const})),
  mixed: null,
  changes: [
    ruledOut('features', 'M up to 16 million'),
    ruledOut('length', 'longer input'),
    ruledOut('norms', 'factor on the norms down to 0.25'),
    {
      ...{kind: 'tolerance' as const, candidate: 'elu', value: 0.908, ruled_out: null},
      statement: 'With a tolerance of 90.8 %, elu would qualify.',
    },
  ],
}
const TAKEN = {
  ...LAYER,
  statement:
    'Take favor-pos orth M=64: 3 % [2.9, 3.1] off, 4.00x [3.50, 4.50] as fast as softmax at L=2048. Averaging V would be 94 % off.',
  candidates: [CANDIDATE, ...others, MEAN],
}
const [FIRST] = LAYER.heads as [HeadAdvice]
const alike = Array.from({length: 12}, (_, head) => ({...FIRST, head}))
const differing = alike.map((head, at): HeadAdvice => {
  if (at % 3 === 0) return head
  const candidate = at % 3 === 1 ? null : `elu-${at}`
  return {...head, candidate, obstacle: candidate === null ? 'error' : null, error: 0.01 * at}
})
const manyFaults = Array.from({length: 6}, (_, at) => `method-${at} skipped: bidirectional only`)
const layers = Array.from({length: 24}, (_, layer) => ({
  ...(layer % 4 === 1 ? KEPT : TAKEN),
  layer,
}))

const RUNS: Record<string, Advice> = {
  'exact attention is kept': {...ADVICE, layers: [KEPT]},
  'every head is replaced alike': {...ADVICE, layers: [{...TAKEN, heads: alike}]},
  'heads differ': {
    ...ADVICE,
    left_out: manyFaults,
    layers: [{...TAKEN, heads: differing, uniform_heads: [3, 5]}],
  },
  'some heads are replaced in a layer that is kept': {
    ...ADVICE,
    layers: [{...KEPT, heads: differing, mixed: LAYER.mixed}],
  },
  'over a budget': {...ADVICE, budget_ms: 2, layers: [{...TAKEN, heads: differing}]},
  'another metric': {
    ...{...ADVICE, metric: 'mse', tolerance: 0.001, seq_len: 31, left_out: []},
    layers: [TAKEN],
  },
  'nothing measured but averaging V': {...ADVICE, layers: [{...KEPT, candidates: [MEAN]}]},
  'many layers': {...ADVICE, layers},
  'two layers that are kept': {...ADVICE, layers: [KEPT, {...KEPT, layer: 4}]},
}

describe('the first screen of advice', () => {
  it.each(Object.entries(RUNS))('answers first, in 20 lines: %s', (_, advice) => {
    const text = screen(advice)
    const lines = text.split('\n')
    expect(lines.length).toBeLessThanOrEqual(20)
    expect(Math.max(...lines.map(line => line.length))).toBeLessThanOrEqual(80)
    expect(text).toMatchSnapshot()
  })

  it('leaves out what only averages V', () => {
    const [change] = KEPT.changes.filter(({kind}) => kind === 'tolerance')
    const changes = [{...change!, candidate: 'mean-value', statement: 'mean-value would qualify'}]
    expect(screen({...ADVICE, layers: [{...KEPT, changes}]})).not.toContain('would qualify')
  })
})
