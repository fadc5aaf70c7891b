/** Whether one of two values is lower: one rule for tables, stars, sentences and `rfa compare`. */
import {randomStream} from '../random/index.js'
import {plural} from '../report/numbers.js'
import {holm, type Interval, LEAST_FOR_FLIPS, signFlips} from '../stats/index.js'
import type {ComparedLine} from './comparison.js'

/** Chance of any false `more` or `less` among the tested lines of a comparison. */
export const ALPHA = 0.05

/** What B has, compared with A. `same`: within the margin. */
export const ANSWERS = ['more', 'less', 'same', 'cannot_be_told'] as const
export type Answer = (typeof ANSWERS)[number]

/**
 * p-values of lines, adjusted for all of them: paired replicates together by `signFlips`, the others by Holm. Each
 * is doubled if there are both.
 *
 * @param margin - relative difference that counts as none
 * @returns `NaN` for a line without a test
 */
export function adjustedPValues(
  lines: readonly Pick<ComparedLine, 'pValue' | 'differences'>[],
  margin: number,
): number[] {
  const flipped = signFlips(
    lines.map(({differences = []}) => differences),
    {stream: randomStream(0, 'comparison'), margin: Math.log1p(margin)},
  )
  const others = lines.flatMap(({pValue}, at) => (Number.isNaN(pValue) ? [] : [at]))
  const byHolm = holm(others.map(at => lines[at]!.pValue))
  const families = others.length > 0 && flipped.some(p => !Number.isNaN(p)) ? 2 : 1
  const adjusted = flipped.slice()
  others.forEach((at, place) => {
    adjusted[at] = byHolm[place]!
  })
  return adjusted.map(p => Math.min(1, families * p))
}

/**
 * `same` if the interval lies within the margin; `more` or `less` if the ratio is beyond the margin and significant
 * by its p-value or, without a test, by its interval.
 *
 * @param ratio - with its 95 % interval
 * @param pValue - adjusted; `NaN` where there is no test
 */
export function answerOf(
  {value, low, high}: Interval & {value: number},
  pValue: number,
  margin: number,
): Answer {
  const most = 1 + margin
  if (low >= 1 / most && high <= most) return 'same'
  const differs = Number.isNaN(pValue)
    ? low > most || high < 1 / most
    : pValue <= ALPHA && (value > most || value < 1 / most)
  if (differs) return value > 1 ? 'more' : 'less'
  return 'cannot_be_told'
}

/** Says how many pairs are needed, if these are too few for any small p-value. @param noun - of a pair */
export function fewPairsNote(pairs: number, noun: string): string[] {
  if (pairs >= LEAST_FOR_FLIPS) return []
  const few = pairs === 1 ? `1 ${noun} is` : `${plural(pairs, noun)} are`
  return [`${few} too few to compare pairs; use --replicates ${LEAST_FOR_FLIPS} or more`]
}
