/** What a sweep answers, in sentences: of its first screen, and of pages. */
import {
  byInterval,
  byOverlap,
  differs,
  endsOf,
  isWithin,
  tiesWith,
} from '../../../../answers/index.js'
import {groupBy, spanOf} from '../../../../report/groups.js'
import {
  errorSpan,
  errorText,
  errorWithInterval,
  plural,
  significant,
} from '../../../../report/numbers.js'
import {capital, listed} from '../../../../report/words.js'
import {LEAST_FOR_FLIPS} from '../../../../stats/index.js'
import {CLOSE, IGNORES, nothingToTell} from '../../../averaging.js'
import {methodLabel, projectionLabel, variantLabel} from '../../../labels.js'
import {logitSizeName} from '../../../logit-scale.js'
import {type CompletedSweep, type ErrorSweepRecord, replicatesOf} from '../../schema.js'
import {isDrawn, leadingError, medianOf} from '../errors/comparison.js'
import {
  averageError,
  byError,
  byStanding,
  errorOf,
  isOfZero,
  methodsOf,
  type Ranking,
  rankingOf,
  standingOf,
  tellsNothing,
} from '../errors/ranking.js'
import {
  axesOf,
  contrastOf,
  type Place,
  type PlaceAxis,
  placeLabel,
  placesOf,
} from '../groups/places.js'
import {tunedSentences} from './tuned.js'
import {whySentences} from './why.js'

/** Errors from which a method is not close to exact attention. */
const FAR = 0.5

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

/** How exact attention is called, or what else estimates are held against. */
function targetName({cell, result}: CompletedSweep): string {
  return cell.target === 'raw' ? 'exact attention' : `its limit, ${result.target_label}`
}

/**
 * The best method, how far it is off, what ties with it, and what averaging V does.
 *
 * @param known - whether it was said before what averaging V is. Default: false
 */
function onePlace(rows: Place, ranking: Ranking, known = false): string[] {
  const {exact, yardstick, broken, unusable, worse, better} = byStanding(rows)
  const estimates = [...broken, ...unusable, ...worse, ...better]
  const average = averageError(rows)
  if (tellsNothing(rows)) return [nothingToTell(average!), ...noneUsable(unusable, broken)]
  if (estimates.length === 0) return [...exactSentence(exact), ...averageSentence(average)]
  const [best] = byError(better)
  if (best) {
    const exactHere = exact.filter(isApproximation)
    return [
      ...exactSentence(exactHere),
      bestSentence(best, {estimates, other: exactHere.length > 0 ? ' other' : ''}),
      ...tunedSentences(rows, ranking),
      ...tieSentence(best, better, ranking),
      ...againstAverage(best, {ranking, average, yardstick: yardstick[0], known}),
    ]
  }
  const [closest] = byError(worse)
  if (closest) {
    const ties = tiesWithAverage(closest, {ranking, average, yardstick: yardstick[0], known})
    const than = ties ? 'not distinguishable from' : 'more than'
    const none = {closest, worse, average, than, what: known ? '' : `, ${IGNORES}`}
    return [noneSentence(none), ...tunedSentences(rows, ranking)]
  }
  return [...noneUsable(unusable, broken), ...averageSentence(average)]
}

/** Why the lowest error of a place is not close to zero. */
function whyOf(rows: Place): string[] {
  const [lowest] = placeAnswers([rows]).flatMap(({lowest}) => lowest ?? [])
  if (!lowest || tellsNothing(rows) || errorOf(lowest) <= CLOSE) return []
  return whySentences(rows, lowest)
}

/** Whether a row is of a method that is no exact form. */
function isApproximation({cell, result}: CompletedSweep): boolean {
  return cell.num_features !== null || result.feature_dim > 0
}

function exactSentence(exact: readonly CompletedSweep[]): string[] {
  if (exact.length === 0) return []
  const names = methodsOf(exact)
  const verb = names.length > 1 ? 'equal' : 'equals'
  return [`${listed(names)} ${verb} ${targetName(exact[0]!)} up to float32 rounding.`]
}

/** @param average - rel L2 of averaging V */
function averageSentence(average: number | undefined): string[] {
  if (average === undefined) return []
  if (average === 0) return ['Averaging V is exact here, as V hardly varies.']
  return [`Averaging V, ${IGNORES}, is ${offBy(errorText(average))}.`]
}

/** `84 % off`, `off by 120x the output`. */
function offBy(error: string): string {
  return error.includes('%') ? `${error} off` : `off by ${error} the output`
}

/** The error of a row with its 95 % interval, or with the range of fewer draws. */
function errorPhrase(row: CompletedSweep): string {
  const {median, low, high, min, max} = leadingError(row)
  if (low !== null || high !== null || min === null || max === null || min === max) {
    return errorWithInterval(median, low, high)
  }
  return `${errorText(median)} (${errorSpan(min, max)} in ${plural(replicatesOf(row), 'draw')})`
}

/** @param of.other - ` other` where some methods are exact, else nothing */
function bestSentence(
  best: CompletedSweep,
  {estimates, other}: {estimates: readonly CompletedSweep[]; other: string},
): string {
  const name = variantLabel(best.cell)
  const target = targetName(best)
  const off = offBy(errorPhrase(best))
  const ends = endsOf(medianOf(best))
  const methods = methodsOf(estimates)
  const lone = estimates.length === 1
  const ofOne = methods.length === 1
  if (isWithin(ends, CLOSE)) {
    return `${name} comes within 5 % of ${target}: it is ${off}.`
  }
  if (ends.low >= FAR) {
    if (lone) return `${name} does not come close to ${target}: it is ${off}.`
    const most = upToFeatures(estimates)
    const subject = ofOne ? `${methods[0]}${most} does not come` : `No${other} method${most} comes`
    return `${subject} close to ${target}: the best${ofOne ? ' variant' : ''}, ${name}, is ${off}.`
  }
  if (lone) return `${name} is ${off} ${target}.`
  return `The best${ofOne ? ' variant' : `${other} method`}, ${name}, is ${off} ${target}.`
}

/** ` with up to M = 256`, where any method has random vectors: no more were tried. */
function upToFeatures(rows: readonly CompletedSweep[]): string {
  const most = Math.max(0, ...rows.map(({cell}) => cell.num_features ?? 0))
  return most === 0 ? '' : ` with up to M=${most}`
}

/** What is not distinguishable from the best, or why nothing is. */
function tieSentence(
  best: CompletedSweep,
  better: readonly CompletedSweep[],
  {basis, compare}: Ranking,
): string[] {
  const others = better.filter(row => row !== best)
  if (others.length === 0) return []
  if (basis === 'few_draws') {
    const few = Math.min(...[best, ...others].filter(isDrawn).map(replicatesOf))
    const verb = few === 1 ? 'is' : 'are'
    return [
      `${plural(few, 'draw')} ${verb} too few to rank them; use --replicates ${LEAST_FOR_FLIPS} or more.`,
    ]
  }
  const ties = tiesWith(best, others, (a, b) => compare(a, b).answer)
  const names = tieNames(best, ties)
  return names.length > 0 ? [`Not distinguishable from it: ${listed(names, 4)}.`] : []
}

/** Other variants of the method, whatever differs, then other methods: `rfa orth M=256`, `rfa iid (M=64, 256)`, `favor-pos`. */
function tieNames(best: CompletedSweep, ties: readonly CompletedSweep[]): string[] {
  const own = methodLabel(best.cell)
  const variants = ties.filter(({cell}) => methodLabel(cell) === own)
  const byDraw = groupBy(variants, ({cell}) => projectionLabel(cell) ?? '').map(rows => {
    const counts = rows.flatMap(({cell}) => cell.num_features ?? []).sort((a, b) => a - b)
    const numbers =
      counts.length > 1 ? `(M=${counts.join(', ')})` : counts.map(one => `M=${one}`)[0]
    return [projectionLabel(rows[0]!.cell), numbers].filter(Boolean).join(' ')
  })
  return [
    ...byDraw.map(name => `${own} ${name}`.trim()),
    ...methodsOf(ties).filter(name => name !== own),
  ]
}

interface Yardstick {
  ranking: Ranking
  /** rel L2 of averaging V. */
  average: number | undefined
  /** Its row, where it was measured. */
  yardstick: CompletedSweep | undefined
  /** Whether it was said before what averaging V is. */
  known: boolean
}

/** How averaging V does, and whether the best row is distinguishable from it. */
function againstAverage(best: CompletedSweep, yardstick: Yardstick): string[] {
  const {average, known} = yardstick
  const what = known ? '' : `, ${IGNORES}`
  if (!average) return averageSentence(average)
  const own = errorText(average)
  if (tiesWithAverage(best, yardstick)) {
    return [`It is not distinguishable from averaging V (${own} off)${what}.`]
  }
  // two digits may hide the difference
  const digits = own === errorText(errorOf(best)) ? 3 : 2
  return [`Averaging V${what}${known ? '' : ','} is ${offBy(errorText(average, digits))}.`]
}

/** Whether a row is not distinguishable from averaging V, as far as there are draws enough to say. */
function tiesWithAverage(row: CompletedSweep, {ranking, average, yardstick}: Yardstick): boolean {
  if (isDrawn(row) && replicatesOf(row) < LEAST_FOR_FLIPS) return false
  if (yardstick) return !differs(ranking.compare(row, yardstick).answer)
  return average !== undefined && !differs(byInterval(endsOf(medianOf(row)), average))
}

interface NoneBetter {
  closest: CompletedSweep
  worse: readonly CompletedSweep[]
  average: number | undefined
  /** How the closest compares with averaging V. */
  than: string
  /** What averaging V is, behind a comma. */
  what: string
}

function noneSentence({closest, worse, average, than, what}: NoneBetter): string {
  const name = variantLabel(closest.cell)
  const off = offBy(errorPhrase(closest))
  const yardstick = average ? `averaging V (${errorText(average)} off)` : 'averaging V'
  return worse.length === 1
    ? `${name} is ${off}, ${than} ${yardstick}${what}.`
    : `No method${upToFeatures(worse)} has a lower error than ${yardstick}${what}; the closest, ${name}, is ${off}.`
}

function noneUsable(
  unusable: readonly CompletedSweep[],
  broken: readonly CompletedSweep[],
): string[] {
  const signs = methodsOf(unusable)
  const ends = methodsOf(broken.filter(row => !isOfZero(row))).filter(name => !signs.includes(name))
  const be = (names: readonly string[]) => (names.length > 1 ? 'are' : 'is')
  return [
    ...(signs.length > 0
      ? [`${listed(signs)} ${be(signs)} unusable: denominators change sign.`]
      : []),
    ...(ends.length > 0 ? [`${listed(ends)} ${be(ends)} broken: outputs are not finite.`] : []),
    ...(broken.some(isOfZero)
      ? ['Exact attention is zero here, so no error relative to it exists.']
      : []),
  ]
}

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
function overPlaces(places: readonly Place[]): string[] {
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
function sizesSentence(places: readonly Place[]): string[] {
  const sizes = places.map(([{result}]) => result.statistics.sum_norm2)
  const [low, high] = spanOf(sizes).map(size => significant(size, 2))
  if (low === high || places[0]![0].cell.target !== 'raw') return []
  return [
    `The size of logits, mean ${logitSizeName(places[0]![0].result)}, goes from ${low} to ${high}.`,
  ]
}
