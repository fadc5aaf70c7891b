/** Limits of regressions, as `--fail-on` takes them, and how lines are judged by them. */
import {byInterval, isWithin} from '../answers/index.js'
import {describe, expected} from '../errors.js'
import type {ComparedLine, QuantityName} from '../experiments/comparison.js'
import {QUANTITIES} from '../experiments/comparison.js'

/** How much more of a quantity B may have. */
export interface Limit {
  quantity: QuantityName
  /** In percent. */
  percent: number
}

/** What a limit says of a line: beyond it for certain, within it for certain, or not to be judged. */
export const JUDGEMENTS = ['regression', 'within', 'cannot_be_told'] as const
export type Judgement = (typeof JUDGEMENTS)[number]

const FORM = /^\s*([a-z]+)\s*:\s*(\d+(?:\.\d+)?)\s*%\s*$/

/** Reads one limit, `time:10%`. @throws {USAGE} for anything else */
export function parseLimit(text: string, where: string): Limit {
  const [, name, percent] = FORM.exec(text) ?? []
  const quantity = QUANTITIES.find(one => one === name)
  if (quantity !== undefined && percent !== undefined) return {quantity, percent: Number(percent)}
  const what = `NAME:PERCENT, NAME one of ${QUANTITIES.join(', ')}`
  throw expected('USAGE', where, what, describe(text), ...remedyFor(text))
}

function remedyFor(text: string): string[] {
  const [, name, number] = /^\s*([a-z]+)\s*(?:[:=]\s*(\d+(?:\.\d+)?)?\s*%?\s*)?$/.exec(text) ?? []
  const known = QUANTITIES.find(quantity => quantity === name) ?? 'time'
  return [`write ${known}:${number ?? 10}%`]
}

/** @throws {USAGE} where a quantity has two limits */
export function checkLimits(limits: readonly Limit[], where: string): readonly Limit[] {
  const names = limits.map(({quantity}) => quantity)
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice === undefined) return limits
  throw expected('USAGE', where, `one limit of ${twice}`, 'several', 'leave all but one out')
}

/**
 * Judges a ratio by a limit: a regression where the lower end of its interval exceeds `1 + limit`, within where the upper end
 * does not, and not judged where the limit lies in the interval, or there is none.
 */
export function judged({ratio}: Pick<ComparedLine, 'ratio'>, {percent}: Limit): Judgement {
  const most = 1 + percent / 100
  if (byInterval(ratio, most) === 'more') return 'regression'
  return isWithin(ratio, most) ? 'within' : 'cannot_be_told'
}
