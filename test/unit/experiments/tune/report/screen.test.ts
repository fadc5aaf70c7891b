import {describe, expect, it} from 'vitest'
import {tuneFigures} from '../../../../../src/experiments/tune/report/figures.js'
import {tuneReport} from '../../../../../src/experiments/tune/report/report.js'
import {tuneScreen, tuneSentences} from '../../../../../src/experiments/tune/report/screen.js'
import {tunedOf} from '../../../../../src/experiments/tune/save.js'
import type {CompletedTune, TuneResult} from '../../../../../src/experiments/tune/schema.js'
import {drawable} from '../../../../../src/report/figures/figure.js'
import {SCREEN_LINES, screenLines} from '../../../../../src/report/screen.js'
import {renderTerminal} from '../../../../../src/report/terminal.js'

const DRAWS = 3
/** Errors of variants in the first head of layer 0; others have a little more. */
const ERRORS = {
  ...{untuned: 0.96, tuned: 0.42, temperature: 0.74},
  ...{more_features: 0.75, oprf: 0.98, saderf: 0.97},
}

function errorsIn(layer: number, draw: number): TuneResult['errors'] {
  return Object.entries(ERRORS).map(([variant, error]) => {
    const per_head = [0, 0.02].map(more => error + more + 0.01 * layer + 0.005 * draw)
    const variant_num_features = variant === 'more_features' ? 1024 : 64
    return {
      variant: variant as keyof typeof ERRORS,
      ...{replicate: draw, variant_num_features, rel_l2: per_head[0]!, per_head},
    }
  })
}

function floats(numbers: number[]): string {
  return Buffer.from(Float32Array.from(numbers).buffer).toString('base64')
}

/** @param layer - `undefined`: of no layer */
function row(
  layer: number | undefined,
  draw: number,
  own: Partial<TuneResult> = {},
): CompletedTune {
  const maps = floats([1, 0, 0, 1, 2, 0, 0, 2])
  return {
    ...{schema: 'rfa.tune/1', key: `${layer} ${draw}`, status: 'completed'},
    cell: {
      ...{method: 'favor-pos', preset: 'exact', options: {}, draw, learn: 'maps,rows'},
      ...{projection: 'orth', orth_sign: 'haar', num_features: 64},
      input: {
        kind: 'file',
        paths: ['layers.safetensors'],
        names: {query: 'q', key: 'k', value: 'v'},
      },
      ...(layer !== undefined && {layer}),
      ...{steps: 60, learning_rate: 0.01, held_out: 0.2, draws: DRAWS},
      ...{causal: false, seed: 0, backend: 'native'},
    },
    result: {
      ...{backend: 'native', instruction_set: 'avx512', threads: 1, processes: 2},
      ...{heads: 2, key_heads: 2, head_dim: 2, value_dim: 2, feature_dim: 64, logit_scale: 0.7},
      ...{held_out_by: 'texts', learned_texts: 48, learned_tokens: 4200},
      ...{held_out_texts: 12, held_out_tokens: 1045},
      ...{steps_taken: 60, best_step: 60, stopped: 'steps', seconds: 3.1},
      curve: [
        {step: 0, learned_error: 0.95, held_out_error: 0.96},
        {step: 60, learned_error: 0.4, held_out_error: 0.42},
      ],
      errors: errorsIn(layer ?? 0, draw),
      parameters: [
        {name: 'query_map', shape: [2, 2, 2], data: maps},
        {name: 'key_map', shape: [2, 2, 2], data: maps},
        {name: 'projection', shape: [2, 64, 2], data: floats(Array(256).fill(draw))},
      ],
      ...own,
    },
  }
}

const rows = (layers: readonly (number | undefined)[]) =>
  layers.flatMap(layer => Array.from({length: DRAWS}, (_, draw) => row(layer, draw)))

describe('the screen of what was learned', () => {
  it.each([
    ['six layers', [0, 1, 2, 3, 4, 5]],
    ['a single layer', [undefined]],
    ['24 layers', Array.from({length: 24}, (_, layer) => layer)],
  ])('fits for %s', (_, layers) => {
    const blocks = tuneScreen(rows(layers))
    expect(screenLines(blocks)).toBeLessThanOrEqual(SCREEN_LINES)
    expect(renderTerminal(blocks, {width: 80, colour: false})).toMatchSnapshot()
  })

  it('has the rest in its report', () => {
    expect(renderTerminal(tuneReport(rows([0, 1])), {width: 120, colour: false})).toMatchSnapshot()
  })

  it('says what ended learning early', () => {
    const cut = [row(0, 0, {stopped: 'interrupted'}), row(1, 0, {stopped: 'not_finite'})]
    const [...sentences] = tuneSentences(cut)
    expect(sentences.slice(-2)).toEqual([
      'In 1 of 2 cells a loss was not finite: the best parameters before it are kept.',
      '1 of 2 cells ended early: the best parameters so far are kept.',
    ])
  })

  it('says where learning does not help', () => {
    const worse = errorsIn(0, 0).map(one =>
      one.variant === 'tuned' ? {...one, per_head: [2, 2]} : one,
    )
    expect(tuneSentences([row(0, 0, {errors: worse})])[0]).toMatch(
      /^Learning does not lower the held-out error: it is 97 %.* before, 200 %.* after\.$/,
    )
  })

  it('draws the held-out error over steps', () => {
    const [figure] = tuneFigures(rows([0, 1]))
    expect(figure!.series.map(({label, points}) => [label, points.length])).toEqual([
      ['layer 0', 2],
      ['layer 1', 2],
    ])
    expect(drawable(figure!)).toBeTruthy()
  })

  it('has what a file takes, as far as all draws of a layer go', () => {
    const tuned = tunedOf([row(1, 0), row(0, 0), row(0, 1), row(1, 2)])!
    expect(tuned.layers.map(({layer, sets}) => [layer, sets.length])).toEqual([
      [0, 2],
      [1, 1],
    ])
    const [first] = tuned.layers
    expect([...first!.sets[1]!.projection!.slice(0, 2)]).toEqual([1, 1])
    expect(first!.heldOut!.before).toBeCloseTo(0.9725, 6)
    expect(tunedOf([])).toBeUndefined()
  })
})
