import {describe, expect, it} from 'vitest'
import {tuneFigures} from '../../../../../src/experiments/tune/report/figures.js'
import {tuneReport} from '../../../../../src/experiments/tune/report/report.js'
import {tuneScreen, tuneSentences} from '../../../../../src/experiments/tune/report/screen.js'
import {tunedOf} from '../../../../../src/experiments/tune/save.js'
import {drawable} from '../../../../../src/report/figures/figure.js'
import {SCREEN_LINES, screenLines} from '../../../../../src/report/screen.js'
import {renderTerminal} from '../../../../../src/report/terminal.js'
import {DRAWS, errorsIn, learned as row} from '../../../../helpers/records/tune.js'

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
    expect(first!.heldOut!.before).toMatchReference(0.9725, 12)
    expect(tunedOf([])).toBeUndefined()
  })
})
