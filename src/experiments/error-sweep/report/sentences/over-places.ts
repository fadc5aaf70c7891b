/** What a sweep answers over several places, in sentences: from where to where the lowest error goes. */
import {endsOf, isWithin} from '../../../../answers/index.js'
import {spanOf} from '../../../../report/groups.js'
import {errorText, significant} from '../../../../report/numbers.js'
import {CLOSE, IGNORES} from '../../../averaging.js'
import {variantLabel} from '../../../labels.js'
import {logitSizeName} from '../../../logit-scale.js'
import type {CompletedSweep} from '../../schema.js'
import {medianOf} from '../errors/comparison.js'
import {
  averageError,
  byError,
  byStanding,
  errorOf,
  standingOf,
  tellsNothing,
} from '../errors/ranking.js'
import {axesOf, type Place, placeLabel} from '../groups/places.js'
import {exactSentence, FAR, offBy, upToFeatures} from './one-place.js'

/** The lowest error of a place. */
export interface PlaceAnswer {
  place: Place
  /** Its row; `undefined` where nothing is usable. */
  lowest: CompletedSweep | undefined
  /** rel L2 of averaging V. */
  average: number | undefined
}

/** The lowest error of each place, above that of averaging V where none is below. */
export function placeAnswers(places: readonly Place[]): PlaceAnswer[] {
  return places.map(place => {
    const {better, worse} = byStanding(place)
    const [lowest] = byError(better.length > 0 ? better : worse)
    return {place, lowest, average: averageError(place)}
  })
}

/** Over several places: from where to where the lowest error goes, and what averaging V does. */
export function overPlaces(places: readonly Place[]): string[] {
  const axes = axesOf(places)
  const all = placeAnswers(places)
  const count = `${places.length} ${axes.length === 1 ? axes[0]!.plural : 'settings'}`
  const standings = places.flat().map(standingOf)
  const averages = averageSpan(all)
  if (standings.every(standing => standing === 'exact' || standing === 'yardstick')) {
    return [...exactSentence(places.flatMap(rows => byStanding(rows).exact)), ...averages]
  }
  const alike = all.filter(({place}) => tellsNothing(place))
  const told = all.filter(({place}) => !tellsNothing(place))
  const first = alikeSentence(alike.length, {count, places: all.length})
  if (told.length === 0) return [...first, ...averages]
  const most = upToFeatures(told.flatMap(({place}) => place))
  const below = told.filter(({lowest}) => lowest && standingOf(lowest) === 'better')
  if (below.length === 0) {
    const of = alike.length > 0 ? `the other ${told.length}` : `the ${count}`
    const none = `No method${most} has a lower error than averaging V for any of ${of}.`
    return [...first, none, ...averages]
  }
  const sorted = below.toSorted((a, b) => errorOf(a.lowest!) - errorOf(b.lowest!))
  const rest = told.length - below.length
  return [
    ...first,
    spanSentence(sorted, {count, rest: places.length - below.length, most}, place =>
      placeLabel(place, axes),
    ),
    ...(rest > 0
      ? [`For ${rest} of the ${count} no method${most} has a lower error than averaging V.`]
      : []),
    ...averages,
    ...sizesSentence(places),
  ]
}

/** Places that tell nothing, said first. */
function alikeSentence(alike: number, {count, places}: {count: string; places: number}): string[] {
  if (alike === 0) return []
  const where = alike === places ? `None of the ${count} can` : `${alike} of the ${count} cannot`
  return [`${where} tell methods apart: averaging V is within 5 % there, too.`]
}

/** @param sorted - places where a method is better than averaging V, from the lowest error to the highest */
function spanSentence(
  sorted: readonly PlaceAnswer[],
  {count, rest, most}: {count: string; rest: number; most: string},
  named: (place: Place) => string,
): string {
  const rows = sorted.map(({lowest}) => lowest!)
  const ends = rows.map(row => endsOf(medianOf(row)))
  const errors = rows.map(row => errorText(errorOf(row)))
  const one = (at: number) => {
    const place = named(sorted.at(at)!.place)
    return `${errors.at(at)} (${place}: ${variantLabel(rows.at(at)!.cell)})`
  }
  const target = rows[0]!.cell.target === 'raw' ? 'exact attention' : 'what methods converge to'
  const span = errors[0] === errors.at(-1) ? `is ${one(0)}` : `goes from ${one(0)} to ${one(-1)}`
  if (rest === 0 && ends.every(one => isWithin(one, CLOSE))) {
    return `For all ${count} a method comes within 5 % of ${target}: the lowest error ${span}.`
  }
  if (ends.every(({low}) => low >= FAR)) {
    const where = rest === 0 ? `for any of the ${count}` : 'for the others'
    return `No method${most} comes close to ${target} ${where}: the lowest error ${span}.`
  }
  return `The lowest error against ${target} ${span}.`
}

function averageSpan(all: readonly PlaceAnswer[]): string[] {
  const errors = all.flatMap(({average}) => average ?? [])
  if (errors.length === 0) return []
  const [low, high] = spanOf(errors)
  const [least, most] = [low, high].map(error => errorText(error)) as [string, string]
  const off = least === most ? most : `${least} to ${most}`
  return [`Averaging V, ${IGNORES}, is ${offBy(off)}.`]
}

/** How large logits are, where that differs. */
export function sizesSentence(places: readonly Place[]): string[] {
  const sizes = places.map(([{result}]) => result.statistics.sum_norm2)
  const [low, high] = spanOf(sizes).map(size => significant(size, 2))
  if (low === high || places[0]![0].cell.target !== 'raw') return []
  return [
    `The size of logits, mean ${logitSizeName(places[0]![0].result)}, goes from ${low} to ${high}.`,
  ]
}
