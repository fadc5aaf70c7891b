/** What can be said of two of anything: every rule of this folder gives one of these answers, whatever its data are. */
import {holm} from '../stats/index.js'

/** Chance of any false answer among those that are given together. */
export const ALPHA = 0.05

/** What one has, compared with another. `same`: within the margin. */
export const ANSWERS = ['more', 'less', 'same', 'cannot_be_told'] as const
export type Answer = (typeof ANSWERS)[number]

/** What can be said of a question. */
export const REPLIES = ['yes', 'no', 'cannot_be_told'] as const
export type Reply = (typeof REPLIES)[number]

export function differs(answer: Answer): boolean {
  return answer === 'more' || answer === 'less'
}

/** Those that are not distinguishable from the least, whatever they differ by. @param compare - the rule for their data */
export function tiesWith<Item>(
  least: Item,
  items: readonly Item[],
  compare: (a: Item, b: Item) => Answer,
): Item[] {
  return items.filter(item => item !== least && compare(least, item) !== 'less')
}

/** Tests that are judged together, with p-values adjusted for all of them (Holm). */
export function rejections(pValues: readonly number[]): {p: number; rejected: boolean}[] {
  return holm(pValues).map(p => ({p, rejected: p < ALPHA}))
}
