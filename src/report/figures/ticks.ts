/** Where the ticks of an axis stand, and what they say. */
import {significant} from '../numbers.js'
import {spanOf} from './span.js'

/** Decades below which ticks stand at 1, 2 and 5, too. */
const NUMBERED = 2

/** Ticks of a logarithmic axis. */
export interface LogTicks {
  base: 2 | 10
  ticks: number[]
}

/**
 * Powers of two where lengths and numbers of features are, of ten elsewhere.
 *
 * @param values - all that the axis shows, above zero; at least one
 * @param most - as many powers as there is room for
 * @param chosen - those that decide which powers; default: all
 */
export function logTicks(
  values: readonly number[],
  most: number,
  chosen: readonly number[] = values,
): LogTicks {
  const [low, high] = spanOf(values)
  if (chosen.every(value => Number.isInteger(Math.log2(value)))) {
    return {base: 2, ticks: powers(2, low, high, most)}
  }
  const narrow = Math.log10(high / low) < NUMBERED
  return {base: 10, ticks: narrow ? roundTicks(low, high) : powers(10, low, high, most)}
}

/** 1, 2 and 5 times powers of ten; where fewer than two of them are shown, all digits. */
function roundTicks(low: number, high: number): number[] {
  const [from, to] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))]
  const all = Array.from({length: to - from + 1}, (_, i) => 10 ** (from + i))
  const within = (digits: readonly number[]) =>
    all.flatMap(power => digits.map(digit => digit * power)).filter(x => x >= low && x <= high)
  const round = within([1, 2, 5])
  return round.length > 1 ? round : within([1, 2, 3, 4, 5, 6, 7, 8, 9])
}

/** Powers of a base, as many of them as there is room for. */
function powers(base: number, low: number, high: number, most: number): number[] {
  const log = (value: number) => Math.log(value) / Math.log(base)
  const [from, to] = [Math.ceil(log(low) - 1e-9), Math.floor(log(high) + 1e-9)]
  const step = Math.max(1, Math.ceil((to - from + 1) / Math.max(2, most)))
  const count = Math.max(0, Math.floor((to - from) / step) + 1)
  return Array.from({length: count}, (_, i) => base ** (from + i * step))
}

/** A tick has no digits to spare, `10` and not `10.0`, and lengths have all of theirs. */
export function tickText(tick: number): string {
  if (tick !== 0 && Math.abs(tick) < 1e-3) return tick.toExponential()
  const whole = Number.isInteger(tick) && tick < 1e7
  return whole ? String(tick) : String(Number(significant(tick)))
}
