/** What a sweep answers, in sentences: of its first screen, and of pages. */
import {byOverlap, differs, endsOf} from '../../../../answers/index.js'
import {significant} from '../../../../report/numbers.js'
import {capital} from '../../../../report/words.js'
import {CLOSE} from '../../../averaging.js'
import {logitSizeName} from '../../../logit-scale.js'
import type {CompletedSweep, ErrorSweepRecord} from '../../schema.js'
import {medianOf} from '../errors/comparison.js'
import {errorOf, type Ranking, rankingOf, tellsNothing} from '../errors/ranking.js'
import {contrastOf, type Place, type PlaceAxis, placesOf} from '../groups/places.js'
import {onePlace} from './one-place.js'
import {overPlaces, placeAnswers, sizesSentence} from './over-places.js'
import {whySentences} from './why.js'

/** The sentences of the first screen, the answer first. */
export function errorSweepHighlights(records: readonly ErrorSweepRecord[]): string[] {
  return answerSentences(placesOf(records.filter(record => record.status === 'completed')))
}

/** The same of places. @param rankings - of each of them, where they are known */
export function answerSentences(places: readonly Place[], rankings?: readonly Ranking[]): string[] {
  const [first, ...others] = places
  if (!first) return []
  if (others.length === 0) {
    const ranking = rankings?.[0] ?? rankingOf(first)
    return [...onePlace(first, ranking), ...whyOf(first)]
  }
  const contrast = contrastOf(places)
  if (!contrast) return overPlaces(places)
  return sideBySide(places, rankings ?? places.map(rankingOf), contrast)
}

/** Two places, each with its answer, and how large logits are where that differs. */
function sideBySide(
  places: readonly Place[],
  rankings: readonly Ranking[],
  {preposition, name}: NonNullable<PlaceAxis['contrast']>,
): string[] {
  const answers = places.map((rows, at) => {
    const [answer, ...rest] = onePlace(rows, rankings[at]!, at > 0)
    return [`${capital(preposition)} ${name(rows[0])}, ${withinSentence(answer!)}`, ...rest]
  })
  return [...answers.flat(), ...(sizeDecides(places) ?? sizesSentence(places))]
}

/** Where nothing but the factor on q and k differs, and the lowest errors do beyond their intervals; `undefined` elsewhere. */
function sizeDecides(places: readonly Place[]): string[] | undefined {
  const [a, b] = places.map(([first]) => first) as [CompletedSweep, CompletedSweep]
  const [own, other] = placeAnswers(places).map(({lowest}) => lowest && endsOf(medianOf(lowest)))
  const differ = own && other && differs(byOverlap(own, other))
  if (a.cell.scale === b.cell.scale || a.cell.target !== 'raw' || !differ) return undefined
  const [size, changed] = [a, b].map(({result}) => significant(result.statistics.sum_norm2, 2))
  return [`The size of logits decides: mean ${logitSizeName(a.result)} is ${size} and ${changed}.`]
}

/** A sentence behind a comma: `The best` and `No method` are no names. */
function withinSentence(sentence: string): string {
  return /^(The|No|Averaging|This|Exact) /.test(sentence)
    ? `${sentence[0]!.toLowerCase()}${sentence.slice(1)}`
    : sentence
}

/** Why the lowest error of a place is not close to zero. */
function whyOf(rows: Place): string[] {
  const [lowest] = placeAnswers([rows]).flatMap(({lowest}) => lowest ?? [])
  if (!lowest || tellsNothing(rows) || errorOf(lowest) <= CLOSE) return []
  return whySentences(rows, lowest)
}
