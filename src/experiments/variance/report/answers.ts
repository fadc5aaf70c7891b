/** What a variance experiment found, in sentences: those of the first screen and of pages. */
import {groupBy, spanOf} from '../../../report/groups.js'
import {plural, ratioRange, roundNumber, significant} from '../../../report/numbers.js'
import {listed} from '../../../report/words.js'
import type {Verdict} from '../../../results/verdict.js'
import {methodLabel} from '../../labels.js'
import {pairText, rowsText} from '../pair-text.js'
import {mostDraws} from '../schema.js'
import type {Judgement, MethodJudgement, Row, Seen} from './verdicts.js'

/** Sentences, the most telling first. @param methods - what each of them was judged to be */
export function varianceAnswers(methods: readonly MethodJudgement[]): string[] {
  if (methods.length === 0) return []
  return [
    `${[biasClause(methods), ...theoryClause(methods)].join(', and ')}.`,
    ...projectionSentences(methods),
    ...deviationSentence(methods),
    ...theorySentence(methods),
    ...tailSentence(methods),
  ]
}

type Answer = Verdict['answer']

function withAnswer(all: readonly [string, Judgement][], answer: Answer): string[] {
  return all.filter(([, {verdict}]) => verdict.answer === answer).map(([method]) => method)
}

function biasClause(methods: readonly MethodJudgement[]): string {
  const all = methods.map(({method, unbiased}): [string, Judgement] => [method, unbiased])
  const biased = withAnswer(all, 'no')
  if (biased.length > 0) return `${listed(biased)} ${biased.length === 1 ? 'is' : 'are'} biased`
  const open = withAnswer(all, 'cannot_be_told')
  if (open.length === 0) return 'No bias was found'
  if (open.length === all.length) return 'Bias could not be measured'
  return `No bias was found (not measured: ${listed(open)})`
}

function theoryClause(methods: readonly MethodJudgement[]): string[] {
  const all = methods.flatMap(({method, theory}): [string, Judgement][] =>
    theory ? [[method, theory]] : [],
  )
  const off = withAnswer(all, 'no')
  if (off.length > 0) return [`variances of ${listed(off)} differ from theory`]
  const measured = withAnswer(all, 'yes')
  if (measured.length === 0) return []
  return ['measured variances agree with theory']
}

/** What random matrices do to variances, those that do the same to the same methods together. */
function projectionSentences(methods: readonly MethodJudgement[]): string[] {
  const all = methods.flatMap(({method, projections}) =>
    projections.map(judgement => ({
      method,
      name: judgement.verdict.projection ?? '',
      effect: effectOf(judgement),
    })),
  )
  const effects = groupBy(all, ({name, effect}) => `${name} ${effect}`).map(group => ({
    name: group[0]!.name,
    effect: group[0]!.effect,
    of: ownersText(
      group.map(({method}) => method),
      methods.length,
    ),
  }))
  return EFFECTS.flatMap(effect => {
    const own = effects.filter(one => one.effect === effect)
    return groupBy(own, ({of}) => of).map(group => {
      const rows = `${listed(group.map(({name}) => name))} rows`
      return `${sentenceOf(effect, rows, group[0]!.of)}.`
    })
  })
}

const EFFECTS = ['lower', 'raise', 'raise some', 'inconclusive', 'not measured'] as const
type Effect = (typeof EFFECTS)[number]

/** What a random matrix does to the variance of a method, compared with i.i.d. rows. */
export function effectOf({verdict: {answer, measured, low}}: Judgement): Effect {
  if (measured === 0) return 'not measured'
  if (answer === 'yes') return 'lower'
  if (answer === 'cannot_be_told') return 'inconclusive'
  return (low ?? 0) > 1 ? 'raise' : 'raise some'
}

function sentenceOf(effect: Effect, rows: string, of: string): string {
  switch (effect) {
    case 'lower':
      return `Compared with iid rows, ${rows} lower the variance of ${of}`
    case 'raise':
      return `Compared with iid rows, ${rows} raise the variance of ${of}`
    case 'raise some':
      return `Compared with iid rows, ${rows} raise the variance of ${of} for some pairs`
    case 'inconclusive':
      return `Whether ${rows} lower the variance of ${of} is inconclusive`
    case 'not measured':
      return `Too few draws to compare ${rows} with iid rows for ${of}`
  }
}

function ownersText(names: readonly string[], all: number): string {
  if (names.length < all || all < 3) return listed(names, 4)
  return `all ${all} methods`
}

/** The mean that is farthest from its expectation. */
function deviationSentence(methods: readonly MethodJudgement[]): string[] {
  const seen = methods.flatMap(({unbiased}) => unbiased.seen)
  const worst = farthest(seen)
  if (!worst) return []
  const bound = Math.max(...methods.flatMap(({unbiased}) => unbiased.verdict.bound ?? []))
  const text = `Largest deviation of a mean: ${significant(worst.value, 2)} standard errors (${placeText(worst)})`
  return [`${text}; up to ${significant(bound, 2)} are allowed for ${plural(seen.length, 'row')}.`]
}

/** The variance that is farthest from its closed form, where some is too far. */
function theorySentence(methods: readonly MethodJudgement[]): string[] {
  const off = methods.flatMap(({theory}) => (theory?.verdict.answer === 'no' ? theory.seen : []))
  const worst = farthest(off)
  if (!worst) return []
  return [
    `Largest deviation from theory: ${significant(worst.value, 2)}x the predicted variance, ${significant(Math.abs(worst.z), 2)} standard errors off (${placeText(worst)}).`,
  ]
}

function farthest(seen: readonly Seen[]): Seen | undefined {
  return seen.toSorted((a, b) => Math.abs(b.z) - Math.abs(a.z))[0]
}

function placeText({cell, own}: Row): string {
  return `${methodLabel(cell)} ${rowsText(own)}, ${pairText(cell)}`
}

/** Rows with tails that so many draws do not reach, and what they would take. */
function tailSentence(methods: readonly MethodJudgement[]): string[] {
  const heavy = methods.flatMap(own => own.heavy)
  if (heavy.length === 0) return []
  const draws = Math.max(...heavy.map(({cell}) => mostDraws(cell)))
  const needs = heavy.flatMap(row => {
    const need = row.own.needed_replicates
    return need === null ? [] : [{row, need}]
  })
  const never = heavy.length - needs.length
  const start = `${draws.toLocaleString('en-US')} draws are too few for ${plural(heavy.length, 'heavy-tailed row')}`
  if (needs.length === 0) return [`${start}; no number of draws is enough.`]
  const [, most] = spanOf(needs.map(({need}) => need))
  const last = needs.find(({need}) => need === most)!.row
  const others = never > 0 ? `, for ${never} no number is enough` : ''
  return [`${start}: ${placeText(last)} needs ${roundNumber(Math.log10(most))}${others}.`]
}

/** The ratio to i.i.d. rows: of one pair with its interval in the given form, of several their span. */
export function ratioText({seen}: Judgement, form: typeof ratioRange): string {
  if (seen.length === 0) return ''
  if (seen.length === 1) {
    const {ratio_low: low, ratio_high: high} = seen[0]!.own
    const {value} = seen[0]!
    return form({value, low: low ?? Number.NaN, high: high ?? Number.NaN})
  }
  const [low, high] = spanOf(seen.map(({value}) => value))
  return ratioRange({value: low, low, high})
}
