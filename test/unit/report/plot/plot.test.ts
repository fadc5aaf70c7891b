import {describe, expect, it} from 'vitest'
import type {Figure, Series} from '../../../../src/report/figures/figure.js'
import {COLOURS} from '../../../../src/report/figures/style.js'
import {plotFigure, terminalColour} from '../../../../src/report/plot/plot.js'
import {FIGURE} from '../../../helpers/figures.js'

const plain = (figure: Figure, width: number) =>
  plotFigure(figure, {width, colour: false, unicode: true})!
const flat = (label: string, y: number): Series => ({
  ...{label, method: 'elu', projection: null},
  points: [16, 256].map(x => ({x, y, facts: []})),
})

describe('a plot', () => {
  it.each([40, 60, 80, 100, 120, 200])('breaks no line in %i columns', width => {
    const lines = plain(FIGURE, width).split('\n')
    expect(Math.max(...lines.map(line => line.length))).toBeLessThanOrEqual(width)
    expect(lines.filter(line => line !== line.trimEnd())).toEqual([])
  })

  it('has a letter at each measured point and none at computed ones', () => {
    const rows = plain(FIGURE, 80)
      .split('\n')
      .filter(line => /[┤│]/.test(line))
    const letters = rows.join('').replaceAll(/[^a-z]/g, '')
    expect([...letters].sort().join('')).toBe('aaabb')
    expect(rows).toHaveLength(15)
  })

  it('has letters of one place side by side', () => {
    const figure = {
      ...FIGURE,
      guides: [],
      series: [flat('one', 1), flat('two', 1), flat('low', 0.1)],
    }
    const text = plain(figure, 80)
    expect(text).toMatch(/┤ab.*ba$/m)
    expect(text).toMatch(/┤c.*c$/m)
    expect(text).toContain('ab side by side: at one place')
    expect(plain({...figure, series: figure.series.slice(1)}, 80)).not.toContain('side by side')
  })

  it('leaves out what is computed where there are many series', () => {
    const many = Array.from({length: 8}, (_, at) => flat(`line ${at}`, at + 1))
    const text = plain({...FIGURE, series: [...many, {...flat('theory', 2), computed: true}]}, 80)
    expect(text).not.toContain('theory')
    expect(
      plain({...FIGURE, series: [many[0]!, {...flat('theory', 2), computed: true}]}, 80),
    ).toContain('.. theory')
  })

  it('paints letters and their entries in the colours of the palette, and nothing else changes', () => {
    const painted = plotFigure(FIGURE, {width: 80, colour: true, unicode: true})!
    const favor = `\u001b[38;5;${terminalColour(COLOURS[1])}m`
    expect(painted).toContain(`${favor}a\u001b[39m favor-pos orth`)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
    const bare = painted.replaceAll(/\u001b\[[0-9;]*m/g, '')
    expect(bare).toBe(plain(FIGURE, 80))
  })

  it('is not there where nothing can be drawn', () => {
    const series = [flat('off the axis', -1)]
    expect(
      plotFigure({...FIGURE, series}, {width: 80, colour: false, unicode: true}),
    ).toBeUndefined()
  })
})

describe('terminalColour', () => {
  it.each([
    ['#000000', 16],
    ['#ffffff', 231],
    ['#5f87af', 67],
    ['#0072b2', 25],
  ])('has %s at %i of the cube', (hex, place) => {
    expect(terminalColour(hex)).toBe(place)
  })

  it('tells all colours of the palette apart', () => {
    expect(new Set(COLOURS.map(terminalColour)).size).toBe(COLOURS.length)
  })
})
