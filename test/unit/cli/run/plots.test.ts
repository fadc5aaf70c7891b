import {describe, expect, it} from 'vitest'
import {firstFigures, plotForm} from '../../../../src/cli/run/plots.js'
import {heading, text} from '../../../../src/report/document.js'
import {FIGURE} from '../../../helpers/figures.js'

const UTF8 = {LANG: 'de_DE.UTF-8', TERM: 'xterm-256color'}
const terminal = (columns: number) => ({isTTY: true, columns, getColorDepth: () => 8})
const byItself = {byItself: true}

describe('plotForm', () => {
  it('draws by itself on terminals of 80 columns or more that show Braille', () => {
    expect(plotForm(undefined, byItself, terminal(80), UTF8)).toEqual({unicode: true, colour: true})
  })

  it.each([
    ['narrow', terminal(79), UTF8],
    ['no terminal', {columns: 120}, UTF8],
    ['without UTF-8', terminal(120), {LANG: 'C'}],
    ['without a locale', terminal(120), {}],
    ['overruled by LC_ALL', terminal(120), {...UTF8, LC_ALL: 'POSIX'}],
    ['dumb', terminal(120), {...UTF8, TERM: 'dumb'}],
    ['the console', terminal(120), {...UTF8, TERM: 'linux'}],
  ])('draws nothing unasked where it is %s', (_, output, env) => {
    expect(plotForm(undefined, byItself, output, env)).toBeUndefined()
  })

  it('draws what is asked for anywhere, of ASCII where Braille is missing', () => {
    const pipe = {columns: 0}
    expect(plotForm(true, byItself, pipe, UTF8)).toEqual({unicode: true, colour: false})
    expect(plotForm(true, byItself, pipe, {LANG: 'C'})).toEqual({unicode: false, colour: false})
    expect(plotForm(true, byItself, terminal(40), {...UTF8, TERM: 'dumb'})?.unicode).toBe(false)
  })

  it('draws nothing under --no-plot, nor unasked where a command does not draw by itself', () => {
    expect(plotForm(false, byItself, terminal(120), UTF8)).toBeUndefined()
    expect(plotForm(undefined, {byItself: false}, terminal(120), UTF8)).toBeUndefined()
  })

  it('has colours where the terminal has the palette', () => {
    const poor = {...terminal(120), getColorDepth: () => 4}
    expect(plotForm(true, byItself, poor, UTF8)?.colour).toBe(false)
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
