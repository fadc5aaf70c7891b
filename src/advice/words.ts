/** Errors, speed-ups and lengths of advice as people read them. */
import {isSettled} from '../answers/index.js'
import {MISSING, significant, UNSETTLED} from '../report/numbers.js'
import type {Estimate} from '../stats/index.js'
import type {AdviceMetric} from './candidates.js'

/** From here on a relative error is given as a factor: it fills no per cent. */
const FACTOR = 10

/**
 * An error with its interval: rel_l2 in per cent of the output, `2.4 % [2.1, 2.9]`, as a factor from 1000 % on, `116x [63,
 * 443]`; other metrics as numbers.
 */
export function errorText(metric: AdviceMetric, {value, low, high}: Estimate): string {
  if (!Number.isFinite(value)) return MISSING
  const [scale, unit] = metric !== 'rel_l2' ? [1, ''] : value < FACTOR ? [100, ' %'] : [1, 'x']
  const number = (x: number) => (unit === '' ? significant(x) : shortest(scale * x))
  const middle = `${number(value)}${unit}`
  if (Number.isNaN(low) || Number.isNaN(high) || low === high) return middle
  return `${middle} [${number(low)}, ${number(high)}]`
}

/** An error that is known exactly, such as a tolerance. */
export function exactError(metric: AdviceMetric, value: number): string {
  return errorText(metric, {value, low: value, high: value})
}

/** Three significant digits without zeros at the end. */
function shortest(value: number): string {
  return Number.isFinite(value) ? String(Number(significant(value))) : '∞'
}

/**
 * How many times faster: `3.44x [2.92, 4.18]` where the interval is narrow (`isSettled` of benchmarks), the interval alone
 * where it is not, `2.45-107x`, or its upper end where that is slower, `below 0.585x`. Ends that are not known are left out:
 * `over 2.45x`, `about 4.00x`; `?` where the machine was too busy.
 */
export function speedText(gain: Estimate): string {
  const {value, low, high} = gain
  if (!Number.isFinite(value)) return MISSING
  if (low === 0 && !Number.isFinite(high)) return UNSETTLED
  if (low === high) return `${significant(value)}x`
  if (isSettled(gain)) return `${significant(value)}x [${significant(low)}, ${significant(high)}]`
  if (high < 1) return `below ${significant(high)}x`
  if (!Number.isFinite(low)) return `about ${significant(value)}x`
  return Number.isFinite(high)
    ? `${significant(low)}-${significant(high)}x`
    : `over ${significant(low)}x`
}

/** What a speed-up says of a method that no speed is gained by. */
export function notFasterText(gain: Pick<Estimate, 'high'> | undefined): string {
  return gain && gain.high < 1 ? 'slower' : 'not measurably faster'
}

/** Whether a speed-up is known too roughly for a single number. */
export function isUnsettled(gain: Estimate): boolean {
  return Number.isFinite(gain.value) && gain.low !== gain.high && !isSettled(gain)
}

/**
 * A length from which something is faster: `4150 [3800, 4600]` where the interval is narrow, else the interval alone,
 * `406-9000`, without an upper end `406 or more`; `about 4150` without a lower one.
 */
export function lengthText(length: Estimate): string {
  const {value, low, high} = length
  if (low === value && high === value) return significant(value)
  const [from, to] = [significant(low), significant(high)]
  if (isSettled(length)) return `${significant(value)} [${from}, ${to}]`
  if (!Number.isFinite(low)) return `about ${significant(value)}`
  return Number.isFinite(high) ? `${from}-${to}` : `${from} or more`
}
