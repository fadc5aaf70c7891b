/** From values of an axis to places on a canvas. */
import type {Axis} from '../figures/figure.js'
import {logTicks, tickOn} from '../figures/ticks.js'
import {spanOf} from '../groups.js'
import {significant} from '../numbers.js'

export interface Scale {
  /** Share of the way from its smallest to its largest value. */
  share(value: number): number
  ticks: readonly {at: number; text: string}[]
}

/**
 * The scale of an axis.
 *
 * @param values - all that it shows; at least one
 * @param most - ticks that there is room for
 * @param chosen - values that decide on the base of ticks; default: all
 */
export function scaleOf(
  axis: Axis,
  values: readonly number[],
  most: number,
  chosen: readonly number[] = values,
): Scale {
  const log = axis.scale === 'log'
  const text = tickOn(axis)
  const [low, high] = widened(...spanOf(values), log)
  const place = log ? Math.log : (value: number) => value
  const share = (value: number) => (place(value) - place(low)) / (place(high) - place(low))
  const within = (log ? logTicks(values, most, chosen).ticks : [low, high]).filter(
    tick => share(tick) >= 0 && share(tick) <= 1,
  )
  // less than a step from tick to tick: its ends say how far it goes
  const numbers = within.length > 1 ? within.map(at => ({at, text: text(at)})) : ends(low, high)
  return {share, ticks: numbers}
}

/** A single value stands in the middle. */
function widened(low: number, high: number, log: boolean): [number, number] {
  if (low < high) return [low, high]
  return log ? [low / 2, low * 2] : [low - 1, low + 1]
}

function ends(low: number, high: number) {
  return [low, high].map(at => ({at, text: significant(at)}))
}
