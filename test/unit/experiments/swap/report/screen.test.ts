import {describe, expect, it} from 'vitest'
import {layerSets} from '../../../../../src/cli/plans/swap.js'
import {layersText} from '../../../../../src/experiments/swap/layers-text.js'
import {swapReport} from '../../../../../src/experiments/swap/report/report.js'
import {swapScreen} from '../../../../../src/experiments/swap/report/screen.js'
import type {CompletedSwap, Effect, SwapRecord} from '../../../../../src/experiments/swap/schema.js'
import {renderTerminal} from '../../../../../src/report/terminal.js'

const point = (mean: number): Effect => ({mean, low: 0.9 * mean, high: 1.1 * mean})

/** A row of a model of 4 layers. @param damage - nats per token, or 1 - cosine */
function row(
  method: string,
  damage: number,
  {
    M = 64,
    layers = [0, 1, 2, 3],
    causal = true,
  }: {M?: number | null; layers?: number[]; causal?: boolean} = {},
): CompletedSwap {
  const exact = method.startsWith('softmax')
  return {
    schema: 'rfa.swap/1',
    key: `${method} ${M} ${layers}`,
    status: 'completed',
    cell: {
      ...{method, preset: 'exact', options: {}, layers, causal, max_tokens: 256},
      ...{projection: M === null ? null : 'orth', orth_sign: 'haar', num_features: M},
      model: {folder: 'fixtures/charlm', digest: ''},
      texts: {path: 'fixtures/charlm/texts.txt', digest: '', count: 40},
      ...{replicates: 3, seed: 0, backend: 'native'},
    },
    result: {
      ...{backend: 'native', instruction_set: 'avx512', threads: 1, processes: 2},
      ...{model_kind: causal ? 'gpt2' : 'bert', model_layers: 4, heads: 4, head_dim: 32},
      feature_dim: exact ? 0 : (M ?? 1),
      ...{texts_read: 40, tokens_read: 8120},
      original_nats: causal ? 1.61 : null,
      causal_effects: causal
        ? {
            nats_added: point(damage),
            kl_nats: point(damage),
            top_agreement: point(1 / (1 + damage)),
          }
        : null,
      encoder_effects: causal
        ? null
        : {
            cosine_loss: point(damage),
            neighbour_agreement: point(1 - damage),
            ten_nearest_kept: point(1 - damage),
            pair_spearman: point(1 - damage),
          },
      hidden_error: [0.1, 0.2, 0.3, exact ? 3e-7 : 0.4],
    },
  }
}

function shown(records: readonly SwapRecord[]): string {
  return renderTerminal(swapScreen(records), {width: 80, colour: false})
}

const FAILED: SwapRecord = {
  ...row('lara', 0),
  status: 'skipped',
  reason: 'bidirectional only',
} as unknown as SwapRecord

describe('the first screen of a swap', () => {
  const whole = [
    row('favor-pos', 0.5),
    row('favor-pos', 0.2, {M: 256}),
    row('rfa', 0.6),
    row('elu', 0.9, {M: null}),
    row('mean-value', 1.4, {M: null}),
    row('softmax-online', 1e-8, {M: null}),
  ]
  const each = [0, 1, 2, 3].flatMap(layer => [
    row('favor-pos', 0.1 * (layer + 1), {layers: [layer]}),
    row('mean-value', 0.5 * (layer + 1), {M: null, layers: [layer]}),
  ])
  const runs: Record<string, readonly SwapRecord[]> = {
    'all layers': whole,
    'layers one by one': each,
    'some layers': [row('favor-pos', 0.2, {layers: [0, 3]})],
    'an encoder': whole.map(({cell: {method, num_features: M}}, at) =>
      row(method, [0.4, 0.3, 0.5, 0.6, 0.7, 1e-8][at]!, {M, causal: false}),
    ),
    'a yardstick alone': [row('mean-value', 1.4, {M: null})],
    'thirty rows': Array.from({length: 30}, (_, at) =>
      row('favor-pos', 0.1 * (at + 1), {M: at + 1}),
    ),
    'no better than averaging V': [row('rfa', 1.45), row('mean-value', 1.4, {M: null})],
    'a tie': [row('rfa', 0.5), row('favor-pos', 0.52), row('elu', 0.9, {M: null})],
    'skipped alone': [FAILED],
    'skipped among others': [...whole, FAILED],
    nothing: [],
  }

  it.each(Object.entries(runs))('of %s', (_, records) => {
    const text = shown(records)
    expect(text).toMatchSnapshot()
    const lines = text.split('\n')
    expect(lines.length).toBeLessThanOrEqual(20)
    expect(Math.max(...lines.map(line => line.length))).toBeLessThanOrEqual(80)
    expect(renderTerminal(swapReport(records), {width: 120, colour: false})).not.toMatch(
      /undefined|NaN/,
    )
  })
})

describe('layers', () => {
  it('are named in runs', () => {
    expect(layersText([0, 1, 2, 3], 4)).toBe('all 4 layers')
    expect(layersText([5, 0, 2, 3, 4], 6)).toBe('layers 0, 2 to 5')
    expect(layersText([1], 4)).toBe('layer 1')
    expect(layersText([0, 1], 4)).toBe('layers 0, 1')
  })

  it('of a flag are sets, and others than those of the model are refused', () => {
    expect(layerSets('all', 3)).toEqual([[0, 1, 2]])
    expect(layerSets('each', 3)).toEqual([[0], [1], [2]])
    expect(layerSets('2,0..1,0', 4)).toEqual([[0, 1, 2]])
    for (const wrong of ['4', '2..5', '3..2', 'x', '', '1.5', '-1']) {
      expect(() => layerSets(wrong, 4), wrong).toThrow(/numbers from 0 to 3/)
    }
  })
})
