/**
 * Lists and ranges of numbers as flags take them.
 *
 * ```
 * list  = item {"," item}
 * item  = value | value ".." value step
 * step  = ("x" | "*") value        multiply: 256..16kx2 is 256, 512, ..., 16384
 *       | "+" value                add:      64..512+64 is 64, 128, ..., 512
 * value = digits with an optional fraction, exponent, and suffix k = 1024
 * ```
 *
 * Advice is written with `x`: to zsh and fish a `*` is a pattern of file names, and one that matches none is an error.
 *
 * The upper end belongs to the range when a step lands on it. A range without a step is refused
 * rather than guessed: doubling and counting by one are both common elsewhere.
 */
import {isThreadCount, MAX_THREADS} from '../../backends/threads.js'
import {describe, expected} from '../../errors.js'

export interface NumberRule {
  /** Noun phrase for messages, e.g. "a positive integer". */
  what: string
  integer: boolean
  accepts(value: number): boolean
}

export const POSITIVE_INTEGER: NumberRule = {
  what: 'a positive integer',
  integer: true,
  accepts: value => value > 0,
}
export const COUNT: NumberRule = {
  what: 'an integer of at least 0',
  integer: true,
  accepts: value => value >= 0,
}
/** Draws of a statistical check: of more, the random numbers of one call fill the memory. */
export const CHECK_DRAWS: NumberRule = {
  what: 'an integer from 100 to 100000',
  integer: true,
  accepts: value => value >= 100 && value <= 100_000,
}
export const THREADS: NumberRule = {
  what: `an integer from 1 to ${MAX_THREADS}`,
  integer: true,
  accepts: isThreadCount,
}
export const POSITIVE_NUMBER: NumberRule = {
  what: 'a positive number',
  integer: false,
  accepts: value => value > 0,
}
/** What queries and keys are multiplied by: much more, and float32 could hold no product. */
export const SCALE: NumberRule = {
  what: 'a positive number of at most 1e36',
  integer: false,
  accepts: value => value > 0 && value <= 1e36,
}
/** A time to measure for. */
export const SECONDS: NumberRule = {
  what: 'seconds from 0 to 1e9',
  integer: false,
  accepts: value => value >= 0 && value <= 1e9,
}
export const NON_NEGATIVE_NUMBER: NumberRule = {
  what: 'a number of at least 0',
  integer: false,
  accepts: value => value >= 0,
}
/** A part of something, written as such or in per cent. */
const SHARE: NumberRule = {
  what: 'a share of at most 1, such as 0.05 or 5%',
  integer: false,
  accepts: value => value > 0 && value <= 1,
}
export const ANGLE: NumberRule = {
  what: 'an angle from 0 to 180 degrees',
  integer: false,
  accepts: value => value >= 0 && value <= 180,
}

/** Most values that one list may hold: a longer one is a slip of the keyboard. */
export const MAX_VALUES = 10_000

/** Steps that land within this relative distance of the upper end count as landing on it. */
const LANDING = 1e-9

const VALUE = String.raw`[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?k?`
const SINGLE = new RegExp(`^${VALUE}$`, 'i')
const RANGE = new RegExp(`^(${VALUE})\\.\\.(${VALUE})(?:([*x+])(${VALUE}))?$`, 'i')

/** Reads one item of a list: a value or a range. @throws {BAD_RANGE} */
export function parseNumberItem(text: string, where: string, rule: NumberRule): number[] {
  const item = text.trim()
  const range = RANGE.exec(item)
  if (range) return expandRange(item, range, where, rule)
  if (SINGLE.test(item)) return [checked(numberOf(item), item, where, rule)]
  const wanted = `${rule.what}, a list a,b or a range such as 64..512x2 or 64..512+64`
  throw expected('BAD_RANGE', where, wanted, describe(item))
}

/** Reads exactly one value. @throws {BAD_RANGE} */
export function parseNumber(text: string, where: string, rule: NumberRule): number {
  const item = text.trim()
  if (!SINGLE.test(item)) throw expected('BAD_RANGE', where, rule.what, describe(item))
  return checked(numberOf(item), item, where, rule)
}

/** Reads a {@link SHARE}: `0.05` or `5%`. @throws {BAD_RANGE} */
export function parseShare(text: string, where: string): number {
  const percent = /^(.*)%\s*$/.exec(text)?.[1]
  if (percent === undefined) return parseNumber(text, where, SHARE)
  return parseNumber(percent, where, {...SHARE, accepts: value => SHARE.accepts(value / 100)}) / 100
}

/** Joins the items of a list, dropping repeated values. @throws {BAD_RANGE} beyond {@link MAX_VALUES} */
export function mergeValues(items: readonly (readonly number[])[], where: string): number[] {
  const values = new Set<number>()
  for (const item of items) {
    for (const value of item) values.add(value)
    if (values.size > MAX_VALUES) throw tooMany(where, 'the whole list')
  }
  return [...values]
}

/** For a range that ends below its beginning. @param turned - the range as it was meant */
export function reversedRange(where: string, item: string, turned: string) {
  const what = 'the upper end of a range to be at least the lower one'
  return expected('BAD_RANGE', where, what, describe(item), `write ${turned}`)
}

/** All values of one range. @throws {BAD_RANGE} */
function expandRange(item: string, range: RegExpExecArray, where: string, rule: NumberRule) {
  const [, lowText = '', highText = '', operator, stepText = ''] = range
  const low = checked(numberOf(lowText), lowText, where, rule)
  const high = checked(numberOf(highText), highText, where, rule)
  if (high < low) {
    const step = `${operator === '+' ? '+' : 'x'}${stepText || '2'}`
    throw reversedRange(where, item, `${highText}..${lowText}${step}`)
  }
  if (!operator) {
    const remedy = `write ${item}x2 to double or ${item}+${lowText} to add`
    throw expected('BAD_RANGE', where, 'a step after the range', describe(item), remedy)
  }
  const step = numberOf(stepText)
  // no sum builds up, so no rounding does
  const next = (index: number) => tidy(operator === '+' ? low + index * step : low * step ** index)
  if (!(next(1) > low)) {
    const remedy = `write ${lowText}..${highText}x2 to double or ${lowText}..${highText}+${lowText} to add`
    throw expected('BAD_RANGE', where, 'a step that leads upwards', describe(item), remedy)
  }
  return walk(next, high, item, where, rule)
}

/** Values from the first one up, as long as they do not pass the upper end. */
function walk(
  nth: (index: number) => number,
  high: number,
  item: string,
  where: string,
  rule: NumberRule,
): number[] {
  const values: number[] = []
  for (let index = 0; nth(index) <= high * (1 + LANDING); index++) {
    if (index >= MAX_VALUES) throw tooMany(where, describe(item))
    values.push(checked(nth(index), item, where, rule))
  }
  return values
}

/** Twelve digits hide what binary fractions add to decimal steps: 0.1 + 2 * 0.1 is 0.3. */
function tidy(value: number): number {
  return Number(value.toPrecision(12))
}

/** A single value; `k` is 1024, as lengths are powers of two. */
function numberOf(text: string): number {
  const thousands = /k$/i.test(text)
  return Number(thousands ? text.slice(0, -1) : text) * (thousands ? 1024 : 1)
}

/** The value if the rule accepts it. @throws {BAD_RANGE} */
function checked(value: number, item: string, where: string, rule: NumberRule): number {
  const fits = rule.accepts(value) && (!rule.integer || Number.isInteger(value))
  const limit = rule.integer ? Number.MAX_SAFE_INTEGER : Number.MAX_VALUE
  if (fits && value <= limit) return value
  if (value > limit && rule.accepts(value)) throw tooLarge(item, where, rule)
  const shown = item === String(value) ? item : `${item} (${value})`
  throw expected('BAD_RANGE', where, rule.what, shown)
}

/** Numbers are doubles: beyond some size they are not exact, or none at all. */
function tooLarge(item: string, where: string, {what, integer}: NumberRule) {
  const limit = integer ? `${Number.MAX_SAFE_INTEGER} (2^53 - 1)` : `${Number.MAX_VALUE}`
  return expected('BAD_RANGE', where, `${what}, at most ${limit}`, item)
}

function tooMany(where: string, got: string) {
  return expected('BAD_RANGE', where, `at most ${MAX_VALUES} values`, `more in ${got}`)
}
