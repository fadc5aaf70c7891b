/** Where the ticks of an axis stand, and what they say. */

import {spanOf} from '../groups.js'
import {significant} from '../numbers.js'
import type {Axis} from './figure.js'

/** Decades below which ticks stand at 1, 2 and 5, too. */
const NUMBERED = 2
/** Fewer ticks than this say little: closer ones take their place. */
const FEW = 3

export interface LogTicks {
  base: 2 | 10
  ticks: number[]
}

/**
 * Powers of two where lengths and numbers of features are, of ten elsewhere.
 *
 * @param values - all that the axis shows, above zero; at least one
 * @param most - number of powers that there is room for
 * @param chosen - values that decide on the base; default: all
 */
export function logTicks(
  values: readonly number[],
  most: number,
  chosen: readonly number[] = values,
): LogTicks {
  const [low, high] = spanOf(values)
  if (chosen.length > 0 && chosen.every(value => Number.isInteger(Math.log2(value)))) {
    return {base: 2, ticks: powers(2, low, high, most)}
  }
  const narrow = Math.log10(high / low) < NUMBERED
  return {base: 10, ticks: narrow ? closeTicks(low, high, most) : powers(10, low, high, most)}
}

/** 1, 2 and 5 times powers of ten, or where these are few round numbers between them. */
function closeTicks(low: number, high: number, most: number): number[] {
  const [from, to] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))]
  const all = Array.from({length: to - from + 1}, (_, i) => 10 ** (from + i))
  const inside = (tick: number) => tick >= low && tick <= high
  const found = all.flatMap(power => [power, 2 * power, 5 * power]).filter(inside)
  return found.length >= FEW || !(high > low) ? found : evenTicks(low, high, most)
}

/** Multiples of 1, 2 or 5 times a power of ten, as far as there is room. */
function evenTicks(low: number, high: number, most: number): number[] {
  const power = 10 ** Math.floor(Math.log10(high - low) - 1)
  const steps = [1, 2, 5, 10, 20, 50].map(factor => factor * power)
  const step = steps.find(one => (high - low) / one <= Math.max(2, most))!
  const first = Math.ceil(low / step - 1e-9)
  const count = Math.floor(high / step + 1e-9) - first + 1
  return Array.from({length: count}, (_, i) => Number(((first + i) * step).toPrecision(12)))
}

/** Powers of a base, as far as there is room. */
function powers(base: number, low: number, high: number, most: number): number[] {
  const log = (value: number) => Math.log(value) / Math.log(base)
  const [from, to] = [Math.ceil(log(low) - 1e-9), Math.floor(log(high) + 1e-9)]
  const step = Math.max(1, Math.ceil((to - from + 1) / Math.max(2, most)))
  const count = Math.max(0, Math.floor((to - from) / step) + 1)
  return Array.from({length: count}, (_, i) => base ** (from + i * step))
}

/** A tick has no digits to spare, `10` and not `10.0`, lengths have all of theirs, and few noughts stand behind a point. */
function tickText(tick: number): string {
  if (Number.isInteger(tick) && Math.abs(tick) < 1e7) return String(tick)
  const text = String(Number(significant(tick)))
  return Math.abs(tick) < 1e-3 ? Number(text).toExponential().replace('e+', 'e') : text
}

/** A tick of an axis, `50 %` of one in per cent. */
export function tickOn({percent}: Pick<Axis, 'percent'>): (tick: number) => string {
  return percent ? tick => `${tickText(Number((100 * tick).toPrecision(12)))} %` : tickText
}

/** From here on a number in per cent is printed as a factor. */
const FACTOR = 10

/** A value as it is printed next to its marker: `84 %` or `116x` on an axis in per cent. */
export function valueOn({percent}: Pick<Axis, 'percent'>, value: number): string {
  if (!percent) return significant(value, 2)
  return value < FACTOR ? `${significant(100 * value, 2)} %` : `${significant(value)}x`
}
