import {describe, expect, it} from 'vitest'
import {METHOD_NAMES, PROJECTION_NAMES} from '../../../../src/attention/names.js'
import {COLOURS, lookOf, styleOf} from '../../../../src/report/figures/style.js'

/** WCAG 2: relative luminance of `#rrggbb`. */
function luminance(colour: string): number {
  const [r, g, b] = [1, 3, 5].map(at => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!
}

describe('the look of a series', () => {
  it('is another one for every method, by colour and marker', () => {
    const looks = METHOD_NAMES.map(name => {
      const {colour, marker} = styleOf(name, null)
      return `${colour} ${marker}`
    })
    expect(new Set(looks).size).toBe(METHOD_NAMES.length)
  })

  it('has another colour for each of the methods that are usually compared', () => {
    const usual = [
      'softmax-online',
      'favor-pos',
      'rfa',
      'elu',
      'favor-trig',
      'lara',
      'ra',
      'favor-hyp',
    ]
    expect(new Set(usual.map(name => styleOf(name, null).colour)).size).toBe(usual.length)
  })

  it('tells the exact forms apart by the dash', () => {
    const [matrix, online] = ['softmax', 'softmax-online'].map(name => styleOf(name, null))
    expect(matrix!.colour).toBe(online!.colour)
    expect(matrix!.dash).not.toBe(online!.dash)
  })

  it('is that of a place where lines of one method differ', () => {
    const series = {label: 'x', method: 'rfa', projection: null, points: []}
    expect(lookOf(series)).toEqual(styleOf('rfa', null))
    const looks = [1, 2, 3].map(colour => lookOf({...series, colour}))
    expect(looks.map(({colour}) => colour)).toEqual([1, 2, 3])
    expect(new Set(looks.map(({marker}) => marker)).size).toBe(3)
  })

  it('is the same with and without plug-ins, whose methods have one by their name', () => {
    expect(styleOf('mine', 'iid')).toEqual(styleOf('mine', 'iid'))
    expect(styleOf('mine', 'iid').colour).toBeLessThan(COLOURS.length)
  })

  it('tells projections apart by the dash, orthogonal ones solid', () => {
    expect(styleOf('rfa', 'orth').dash).toBeUndefined()
    expect(styleOf('rfa', null).dash).toBeUndefined()
    const [orth, ...others] = ['orth', 'iid', 'simplex', 'sobol'].map(
      name => styleOf('rfa', name).dash,
    )
    expect(new Set(others).size).toBe(3)
    expect(others).not.toContain(orth)
    for (const name of PROJECTION_NAMES) {
      if (name !== 'orth') expect(styleOf('rfa', name).dash).toBeDefined()
    }
  })

  it.each(COLOURS)('%s can be seen on white and on black', colour => {
    const own = luminance(colour)
    expect(1.05 / (own + 0.05)).toBeGreaterThan(1.9)
    expect((own + 0.05) / 0.05).toBeGreaterThan(3)
  })
})
