import {describe, expect, it} from 'vitest'
import {
  byLayer,
  itemsByLayer,
  layersLabel,
  sectionTitle,
} from '../../../../../../src/experiments/error-sweep/report/groups/sections.js'
import {errorSweepReport} from '../../../../../../src/experiments/error-sweep/report/report.js'
import type {CompletedSweep} from '../../../../../../src/experiments/error-sweep/schema.js'
import {renderTerminal} from '../../../../../../src/report/terminal.js'
import {sweep} from '../../../../../helpers/records/error-sweep.js'

const ofLayer = (layer: number) => sweep({layer}) as CompletedSweep
const PLAIN = sweep() as CompletedSweep
const LAYERS = [10, 9, 0, 9].map(ofLayer)

it('records go by layers in the order of their numbers', () => {
  expect(byLayer(LAYERS).map(own => own.map(({cell}) => cell.layer))).toEqual([[0], [9, 9], [10]])
  expect(byLayer([PLAIN, PLAIN])).toEqual([[PLAIN, PLAIN]])
})

it('layers are named, and an input without any is not', () => {
  expect(layersLabel(LAYERS)).toBe('layers 0, 9, 10')
  expect(layersLabel([ofLayer(3)])).toBe('layer 3')
  expect(layersLabel([PLAIN])).toBeUndefined()
})

describe('what is said of layers', () => {
  const said = (records: readonly CompletedSweep[], of: (layer: number) => string[]) =>
    itemsByLayer(records, ([first]) => of(first!.cell.layer ?? -1))

  it('is said once, with the layers of which it is true unless that is all', () => {
    const items = said(LAYERS, layer => ['of all', ...(layer < 10 ? ['of two'] : ['of one'])])
    expect(items).toEqual(['of all', 'layers 0, 9: of two', 'layer 10: of one'])
  })

  it('needs no number where there is one layer, or none', () => {
    expect(said([ofLayer(3)], layer => [`of ${layer}`])).toEqual(['of 3'])
    expect(said([PLAIN], () => ['of it'])).toEqual(['of it'])
  })
})

describe('the report', () => {
  const text = (records: readonly CompletedSweep[], width = 100) =>
    renderTerminal(errorSweepReport(records), {width, colour: false})

  it('has a row of every table for each layer', () => {
    const shown = text(LAYERS.slice(0, 3))
    expect(shown).toContain(', layers 0, 9, 10, B=1 H=2')
    const rows = shown.split('\n').filter(line => /^favor-pos +orth +64 +(0|9|10) /.test(line))
    expect(rows.map(row => Number(row.trim().split(/ +/)[3]))).toEqual([0, 9, 10, 0, 9, 10])
    expect(shown).toMatch(/^ +10 +all /m)
  })

  it('tells layers and heads in every part of a table that is cut', () => {
    const heads = text(LAYERS.slice(0, 3), 40)
      .split('\n')
      .filter(line => /^layer +head/.test(line))
    expect(heads.length).toBeGreaterThan(1)
  })

  it('has no column for one layer, which its title names', () => {
    const shown = text([ofLayer(3)])
    expect(shown).toContain(', layer 3, ')
    expect(shown).not.toMatch(/^layer/m)
    expect(text([PLAIN])).not.toContain('layer')
  })

  it('names a scale of logits that is not the usual one', () => {
    const usual = 17 ** -0.5
    const at = (logit_scale: number | null) =>
      text([{...PLAIN, result: {...PLAIN.result, logit_scale}}])
    expect(at(0.5)).toContain(', logits 0.500 q.k')
    for (const scale of [usual, usual * (1 + 1e-7), null]) expect(at(scale)).not.toContain('q.k')
  })
})

const swept = (causal: boolean, ran_causal: boolean | null) => {
  const record = sweep({causal}) as CompletedSweep
  return {...record, result: {...record.result, ran_causal}}
}

describe('the first line of a sweep', () => {
  it.each([
    [true, true, 'causal (as the file says)'],
    [false, true, 'bidirectional (--no-causal)'],
    [true, false, 'causal (--causal)'],
    [false, false, 'bidirectional'],
    [true, null, 'causal'],
    [false, null, 'bidirectional'],
  ])('says of causal %s where the file says %s: %s', (causal, said, text) => {
    expect(
      sectionTitle([swept(causal, said)])
        .split(', ')
        .at(-1),
    ).toBe(text)
  })

  it('does not say what the file says where its layers differ', () => {
    expect(sectionTitle([swept(true, true), swept(true, null)])).toMatch(/, causal$/)
  })
})
