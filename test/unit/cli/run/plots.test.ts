import {describe, expect, it} from 'vitest'
import {firstFigures, plotForm} from '../../../../src/cli/run/plots.js'
import {heading, text} from '../../../../src/report/document.js'
import {FIGURE} from '../../../helpers/figures.js'

const UTF8 = {LANG: 'de_DE.UTF-8', TERM: 'xterm-256color'}
const terminal = {isTTY: true, getColorDepth: () => 8}

describe('plotForm', () => {
  it('draws what is asked for anywhere, of ASCII where Braille is missing', () => {
    const pipe = {isTTY: false}
    expect(plotForm(true, pipe, UTF8)).toEqual({unicode: true, colour: false})
    expect(plotForm(true, pipe, {LANG: 'C'})).toEqual({unicode: false, colour: false})
    expect(plotForm(true, terminal, {...UTF8, TERM: 'dumb'})?.unicode).toBe(false)
  })

  it('draws nothing unasked, nor under --no-plot', () => {
    expect(plotForm(undefined, terminal, UTF8)).toBeUndefined()
    expect(plotForm(false, terminal, UTF8)).toBeUndefined()
  })

  it('has colours where the terminal has the palette', () => {
    const poor = {...terminal, getColorDepth: () => 4}
    expect(plotForm(true, poor, UTF8)?.colour).toBe(false)
  })
})

describe('firstFigures', () => {
  it('keeps one of each run', () => {
    const figure = (name: string) => ({kind: 'figure' as const, figure: {...FIGURE, name}})
    const blocks = ['one', 'two'].flatMap(run => [
      heading(1, run),
      figure(`${run}-a`),
      text('between'),
      figure(`${run}-b`),
    ])
    const kept = firstFigures(blocks).map(block =>
      block.kind === 'figure' ? block.figure.name : '',
    )
    expect(kept.filter(Boolean)).toEqual(['one-a', 'two-a'])
    expect(kept).toHaveLength(6)
  })
})
