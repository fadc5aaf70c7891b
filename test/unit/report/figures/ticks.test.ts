import {parseHTML} from 'linkedom'
import {describe, expect, it} from 'vitest'
import {axisOptions} from '../../../../src/report/figures/axes.js'
import {drawFigure} from '../../../../src/report/figures/draw.js'
import {logTicks} from '../../../../src/report/figures/ticks.js'
import {FIGURE} from '../../../helpers/figures.js'

/** Whether a number is a whole power of a base; powers of ten below 1 are none to the last bit. */
const isPower = (base: number, value: number) => {
  const exponent = Math.round(Math.log(value) / Math.log(base))
  return Math.abs(value / base ** exponent - 1) < 1e-12
}

describe('ticks of a logarithmic axis', () => {
  const twos = [16, 64, 256, 4096]

  it.each([
    [2, twos],
    [2, [0.25, 0.5, 1, 2]],
    [2, [128]],
    [10, [1e-3, 0.02, 5]],
    [10, [16, 64, 100, 4096]],
    [10, [1, 10, 100, 1000]],
  ])('are of base %i over %j, and powers of it', (base, values) => {
    const found = logTicks(values, 20)
    expect(found.base).toBe(base)
    expect(found.ticks.length).toBeGreaterThan(0)
    expect(found.ticks.filter(tick => !isPower(base, tick))).toEqual([])
    const [low, high] = [Math.min(...values), Math.max(...values)]
    expect(found.ticks.filter(tick => tick < low * (1 - 1e-9) || tick > high * (1 + 1e-9))).toEqual(
      [],
    )
  })

  it('are each power where there is room, and the same number of powers apart where there is not', () => {
    expect(logTicks(twos, 20).ticks).toEqual([16, 32, 64, 128, 256, 512, 1024, 2048, 4096])
    const {base, ticks} = logTicks(twos, 4)
    const steps = ticks.slice(1).map((tick, at) => Math.log(tick / ticks[at]!) / Math.log(base))
    expect(new Set(steps.map(Math.round)).size).toBe(1)
    expect(ticks.length).toBeLessThanOrEqual(5)
  })

  it('go by the values that are chosen, and not by ends of intervals', () => {
    expect(logTicks([14.3, ...twos, 5000], 20, twos)).toEqual({
      base: 2,
      ticks: [16, 32, 64, 128, 256, 512, 1024, 2048, 4096],
    })
  })
})

describe('an axis', () => {
  const room = {ticks: 20, letters: 10}

  it.each([
    [16, 64, 256],
    [1, 10, 1000],
  ])('declares the base that its ticks are powers of: %j', (...values) => {
    const options = axisOptions({label: 'M', scale: 'log'}, values, {...room, chosen: values})
    if (!('base' in options)) throw new Error('no logarithmic axis')
    expect(options.type).toBe('log')
    expect(options.ticks.filter(tick => !isPower(options.base, tick))).toEqual([])
    // of numbers that are powers of both, such as 1, the others decide
    expect(options.ticks.some(tick => !isPower(12 - options.base, tick))).toBe(true)
  })

  it('of powers of two has its ticks as far apart as their logarithms', () => {
    const {document} = parseHTML(`<html><body>${drawFigure(FIGURE).svg}</body></html>`)
    const ticks = [...document.querySelectorAll('[aria-label="x-axis tick label"] text')].map(
      tick => ({
        at: Number(/translate\(([\d.]+)/.exec(tick.getAttribute('transform')!)![1]),
        value: Number(tick.textContent),
      }),
    )
    expect(ticks.map(({value}) => value)).toEqual([16, 32, 64, 128, 256])
    const steps = ticks.slice(1).map(({at}, place) => at - ticks[place]!.at)
    // transforms have three decimals or more
    for (const step of steps) expect(Math.abs(step - steps[0]!)).toBeLessThan(2e-3)
  })
})
