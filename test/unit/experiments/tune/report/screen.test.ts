import {describe, expect, it} from 'vitest'
import {tuneFigures} from '../../../../../src/experiments/tune/report/figures.js'
import {tuneReport} from '../../../../../src/experiments/tune/report/report.js'
import {variantRows} from '../../../../../src/experiments/tune/report/rows.js'
import {tuneScreen, tuneSentences} from '../../../../../src/experiments/tune/report/screen.js'
import {tunedOf} from '../../../../../src/experiments/tune/save.js'
import {drawable} from '../../../../../src/report/figures/figure.js'
import {SCREEN_LINES, screenLines} from '../../../../../src/report/screen.js'
import {renderTerminal} from '../../../../../src/report/terminal.js'
import {DRAWS, learned as row} from '../../../../helpers/records/tune.js'

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

  it('has nats of rows where these were learned for', () => {
    const records = rows([0, 1]).map(record => ({
      ...record,
      cell: {...record.cell, loss: 'rows' as const},
    }))
    const text = (blocks: ReturnType<typeof tuneReport>) =>
      renderTerminal(blocks, {width: 160, colour: false})
    expect(text(tuneScreen(records))).toContain('maps and random vectors learned for rows of')
    expect(text(tuneReport(records))).toMatch(
      /after +learned on, nats +steps[\s\S]*96.0 +42.0 +0.400/,
    )
    const [figure] = tuneFigures(records)
    expect(figure!.y).toEqual({label: 'held-out cross entropy, nats', scale: 'linear'})
    expect(figure!.series[0]!.points[1]!.facts).toEqual(['after 60 steps', '0.420 nats'])
  })

  it('says what ended learning early', () => {
    const cut = [row(0, 0, {stopped: 'interrupted'}), row(1, 0, {stopped: 'not_finite'})]
    const [...sentences] = tuneSentences(cut)
    expect(sentences.slice(-2)).toEqual([
      'In 1 of 2 cells a loss was not finite: the best parameters before it are kept.',
      '1 of 2 cells ended early: the best parameters so far are kept.',
    ])
  })

  /** Rows of two layers with another error of some variants, in all texts and draws. */
  const withErrors = (errors: Partial<Record<string, number>>) =>
    rows([0, 1]).map(record => ({
      ...record,
      result: {
        ...record.result,
        errors: record.result.errors.map(one => {
          const other = errors[one.variant]
          if (other === undefined) return one
          return {...one, rel_l2: other, per_text: one.per_text.map(() => other)}
        }),
      },
    }))

  it('says where learning does not help', () => {
    expect(tuneSentences(withErrors({tuned: 0.9, untuned: 0.8}))[0]).toMatch(
      /^Learning does not lower the held-out error: it is 80 % before, 90 % after\.$/,
    )
  })

  it('ranks nothing where averaging V is close, and hides no row', () => {
    const alike = withErrors({untuned: 0.05, tuned: 0.03, mean_value: 0.04})
    expect(tuneSentences(alike)[0]).toBe(
      'This input cannot tell methods apart: averaging V, which ignores q and k, is within 5 %, too: 4.0 % off.',
    )
    expect(tuneSentences(alike).join(' ')).not.toMatch(
      /Learning lowers|Best without|Without learning/,
    )
    const table = renderTerminal(tuneScreen(alike), {width: 120, colour: false})
    for (const name of ['oprf', 'saderf']) expect(table).toMatch(new RegExp(`^${name} `, 'm'))
  })

  it('says what is useless next to a zero output and averaging V, however much learning lowers it', () => {
    const useless = withErrors({untuned: 2.8, tuned: 1.4, temperature: 1, oprf: 1.5, saderf: 1})
    const said = tuneSentences(useless)
    expect(said[0]).toBe('Still useless after learning: 140 % off; a zero output is 100 % off.')
    expect(said.join(' ')).toContain(
      'Best without learning: the best temperatures, 100 %, no better than averaging V and zero output, within noise.',
    )
    expect(tuneSentences(withErrors({tuned: 0.95}))[0]).toBe(
      'Still useless after learning: 95 % off; averaging V is 94 % off.',
    )
    const table = renderTerminal(tuneScreen(useless), {width: 120, colour: false})
    expect(table).toMatch(/^averaging V +94 % /m)
    expect(table).toMatch(/^zero output +100 % /m)
  })

  it('compares what was learned with what was not on the same draws and texts', () => {
    // texts differ by 4 %, both variants by the same factor in each: the ratio is known to all digits
    const factor = 0.5
    const paired = rows([0]).map(record => ({
      ...record,
      result: {
        ...record.result,
        errors: record.result.errors.flatMap(one => {
          if (one.variant === 'tuned') return []
          if (one.variant !== 'untuned') return [one]
          const per_text = one.per_text.map(error => factor * error!)
          return [one, {...one, variant: 'tuned' as const, per_text, rel_l2: factor * one.rel_l2!}]
        }),
      },
    }))
    expect(tuneSentences(paired)[0]).toMatch(/0\.50x \[0\.50, 0\.50\]\.$/)
    expect(tuneSentences(paired)[0]).not.toMatch(/from 97 % to/)
  })

  it('has intervals over texts and draws, never over heads', () => {
    const wide = (texts: readonly number[]) =>
      rows([0]).map(record => ({
        ...record,
        result: {
          ...record.result,
          errors: record.result.errors.map(one => ({...one, per_text: [...texts]})),
        },
      }))
    const [first] = variantRows(wide([0.2, 0.4, 0.6, 0.8]))
    const squares = [0.04, 0.16, 0.36, 0.64]
    expect(first!.all.mean).toMatchReference(Math.sqrt(0.3), 12)
    // Student's t with 3 degrees of freedom: draws are alike
    const variance = squares.reduce((sum, square) => sum + (square - 0.3) ** 2, 0) / 3
    const reach = 3.182446305284263 * Math.sqrt(variance / 4)
    expect(first!.all.high).toMatchReference(Math.sqrt(0.3 + reach), 9)
    const same = variantRows(wide([0.5, 0.5, 0.5, 0.5]))
    expect(same[0]!.all.high).toMatchReference(same[0]!.all.low!, 12)
  })

  it('has no interval of a single text, nor of records without texts', () => {
    const bare = rows([0, 1]).map(record => ({
      ...record,
      result: {
        ...record.result,
        text_weights: [],
        errors: record.result.errors.map(one => ({...one, per_text: []})),
      },
    }))
    const [first] = variantRows(bare)
    expect([first!.all.low, first!.all.high]).toEqual([null, null])
    expect(first!.all.mean).toMatchReference(variantRows(rows([0, 1]))[0]!.all.mean!, 12)
    expect(tuneSentences(bare)[0]).toMatch(/from 97 % to 43 %\.$/)
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
    // root mean square over two draws of 0.96 and 0.965, with texts that are 0.01 and 0.02 off
    const square = (0.96 ** 2 + 0.965 ** 2) / 2 + 0.00025
    expect(first!.heldOut!.before).toMatchReference(Math.sqrt(square), 12)
    expect(tunedOf([])).toBeUndefined()
  })
})
