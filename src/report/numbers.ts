/** Numbers as people read them: three significant digits, units that keep them short. */

/** What stands for a number that could not be computed. */
export const MISSING = '-'

/** From here on only the power of ten is of any use. */
const HUGE = 1e9

/**
 * Three significant digits, e.g. `0.0123`, `1.23e-7`, `12300`.
 *
 * Plain notation from 1e-4 up to 1e9, exponents beyond (`1.23e12`). `null` and what is not finite give `-`.
 */
export function significant(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return MISSING
  if (value === 0) return '0'
  const rounded = Number(value.toPrecision(digits))
  const size = Math.abs(rounded)
  if (size < 1e-4 || size >= HUGE) return rounded.toExponential(digits - 1).replace('e+', 'e')
  return size < 10 ** digits ? rounded.toPrecision(digits) : String(rounded)
}

/**
 * A number within a sentence: two significant digits, thousands apart (`1,900,000`), from 1e9 on the power of ten
 * nearest to it (`1e41`), or `10^2.0e60`.
 *
 * @param log10 - its decimal logarithm: it may be more than a double can hold
 */
export function roundNumber(log10: number): string {
  const rounded = Number((10 ** log10).toPrecision(2))
  if (log10 >= HUGE) return `10^${significant(log10, 2)}`
  if (rounded >= HUGE) return `1e${Math.round(log10)}`
  return rounded < 1000 ? significant(rounded, 2) : rounded.toLocaleString('en-US')
}

/** A value with its interval, `0.123 [0.110, 0.140]`; the value alone where the interval is a point, or not known. */
export function withInterval(
  value: number | null,
  low: number | null,
  high: number | null,
  digits = 3,
): string {
  const middle = significant(value, digits)
  if (low === null || high === null || low === high) return middle
  if (Number.isNaN(low) || Number.isNaN(high)) return middle
  return `${middle} [${significant(low, digits)}, ${significant(high, digits)}]`
}

/** From here on an error relative to the output is a factor. */
const AS_FACTOR = 10

/**
 * An error relative to the output, as people read it: `84 %`, `3.2 %`, `102 %`, from 1000 % on as a factor, `120x`.
 *
 * @param value - 0.84 is 84 %; `null` and what is not finite give `-`
 * @param digits - significant ones; from 100 % on percents have one more. Default: 2
 */
export function errorText(value: number | null, digits = 2): string {
  if (value === null || !Number.isFinite(value)) return MISSING
  const asFactor = value >= AS_FACTOR
  return `${errorDigits(value, asFactor, digits)}${asFactor ? 'x' : ' %'}`
}

function errorDigits(value: number, asFactor: boolean, digits: number): string {
  if (asFactor) return significant(value, digits)
  return significant(100 * value, value >= 1 ? digits + 1 : digits)
}

/** An error by the ends of its interval, `90-94 %`, or `94 %` where both read the same. */
export function errorSpan(low: number, high: number): string {
  const asFactor = high >= AS_FACTOR
  const least = errorDigits(low, asFactor, 2)
  const most = errorText(high)
  return errorText(low) === most ? most : `${least}-${most}`
}

/**
 * An error with its interval, `84 % [81, 87]`; with a third digit where the ends read the same with two, `84.0 % [83.9, 84.1]`;
 * alone where the interval is a point, or not known.
 */
export function errorWithInterval(
  value: number | null,
  low: number | null,
  high: number | null,
): string {
  if (value === null || low === null || high === null || low === high) return errorText(value)
  const asFactor = value >= AS_FACTOR
  const ends = (digits: number) => [low, high].map(end => errorDigits(end, asFactor, digits))
  const digits = new Set(ends(2)).size > 1 ? 2 : 3
  return `${errorText(value, digits)} [${ends(digits).join(', ')}]`
}

/** A value with its standard error, `0.0256 ± 0.00031`; the value alone where it has no error. */
export function withError(value: number | null, standardError: number): string {
  const middle = significant(value)
  if (middle === MISSING || standardError === 0) return middle
  return `${middle} ± ${significant(standardError, 2)}`
}

/**
 * A number with the distance to the farther end of its interval, in per cent: `2.31 ms ±8%`. Beyond a factor of 2 the interval
 * stands there, `2.31 ms [0.9 ms, 6.2 ms]`; without an interval the number alone.
 *
 * @param format - of the number and of both ends
 */
export function withReach(
  {value, low, high}: Estimated,
  format: (value: number) => string,
): string {
  const factor = Math.max(high / value, value / low)
  if (Number.isNaN(factor)) return format(value)
  const reach = 100 * (factor - 1)
  if (reach > 100) return `${format(value)} [${format(low)}, ${format(high)}]`
  return `${format(value)} ±${reach < 0.5 ? '<1' : Math.round(reach)}%`
}

/** A number with the ends of its interval, `NaN` without one. */
type Estimated = Record<'value' | 'low' | 'high', number>

/** A duration given in ns, in the largest unit that leaves at least one whole digit: `12.3 us`. */
export function nanoseconds(value: number | null): string {
  if (value === null || !Number.isFinite(value)) return MISSING
  return scaled(value, SHORT_TIMES)
}

const SHORT_TIMES = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'us'],
  [1, 'ns'],
] as const
const LONG_TIMES = [
  [86_400e9, 'days'],
  [3600e9, 'h'],
  [60e9, 'min'],
] as const

/** A year in ns: a plan that takes longer will not be waited for, and the digits of a rough figure say no more. */
const YEAR = 365 * 86_400e9

/** A predicted time given in ns, in the units in which people wait: `12.3 s`, `45.0 min`, `3.10 h`, `12.0 days`. */
export function waitingTime(value: number | null, digits = 3): string {
  if (value === null || Number.isNaN(value)) return MISSING
  if (value > YEAR) return 'longer than a year'
  return scaled(value, value < 99.95e9 ? SHORT_TIMES : LONG_TIMES, digits)
}

/** From here on no machine has so much memory, in bytes. */
const BEYOND_MEMORY = 2 ** 60

/** Predicted memory in bytes: as {@link bytes}, as long as some machine might have it. */
export function neededMemory(value: number | null): string {
  if (value === null || Number.isNaN(value)) return MISSING
  return value >= BEYOND_MEMORY ? 'more than any machine has' : bytes(value)
}

/** A size in bytes with binary units: `12.3 MiB`. */
export function bytes(value: number | null): string {
  if (value === null || !Number.isFinite(value)) return MISSING
  return scaled(value, [
    [2 ** 50, 'PiB'],
    [2 ** 40, 'TiB'],
    [2 ** 30, 'GiB'],
    [2 ** 20, 'MiB'],
    [2 ** 10, 'KiB'],
    [1, 'B'],
  ])
}

/** A share in percent: `0`, `1.25`, `100`. */
export function percent(value: number | null): string {
  if (value === 100) return '100'
  return significant(value)
}

/** A share as a percentage in a sentence: `0.7 %`, `51 %`. */
export function percentText(share: number): string {
  const value = 100 * share
  return `${value.toFixed(value < 10 ? 1 : 0)} %`
}

/** How often `one` fits into `other`: `2.31x`. */
export function ratio(value: number | null): string {
  const shown = significant(value)
  return shown === MISSING ? shown : `${shown}x`
}

/** `1 cell`, `3 cells`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** The value in the largest unit of which it holds at least one, after rounding. */
function scaled(value: number, units: readonly (readonly [number, string])[], digits = 3): string {
  const holds = (size: number) => Math.abs(Number((value / size).toPrecision(digits))) >= 1
  const [factor, unit] = units.find(([size]) => holds(size)) ?? units.at(-1)!
  return `${significant(value / factor, digits)} ${unit}`
}

/** Two significant digits of a factor, more next to 1, where two would hide on which side it is. */
function factor(value: number): string {
  if (value < 0.9 || value >= 1.195) return significant(value, 2)
  const off = Math.abs(value - 1)
  return value.toFixed(off > 5e-4 && off < 0.005 ? 3 : 2)
}

/** Follows a number with an interval that is too wide to rely on, or stands in place of an unknown one. */
export const UNSETTLED = '?'

/** A ratio in a sentence or on a first screen, with its interval if it has one: `2.2x [2.1, 2.3]`; `?` where that has no end. */
export function ratioWithInterval({value, low, high}: Estimated): string {
  if (high === Infinity) return UNSETTLED
  const middle = `${factor(value)}x`
  return Number.isNaN(low) ? middle : `${middle} [${factor(low)}, ${factor(high)}]`
}

/** The same where there is little room: `2.1-2.3x`, or `2.2x` without an interval. */
export function ratioRange({value, low, high}: Estimated): string {
  if (high === Infinity) return UNSETTLED
  const [from, to] = Number.isNaN(low) ? [value, value] : [low, high]
  const ends = [...new Set([factor(from), factor(to)])]
  return `${ends.join('-')}x`
}
