/** Answers to the questions of a variance experiment, decided from intervals of all rows that ask one. */
import {boundOn, byDistance} from '../../../answers/index.js'
import {groupBy, spanOf} from '../../../report/groups.js'
import {plural, significant} from '../../../report/numbers.js'
import type {Verdict} from '../../../results/verdict.js'
import {Z95} from '../../../stats/index.js'
import {methodLabel, projectionLabel} from '../../labels.js'
import {isIndependent} from '../measure/exact.js'
import {rowsText} from '../pair-text.js'
import {
  type CompletedVariance,
  mostDraws,
  type VarianceRecord,
  type VarianceResult,
} from '../schema.js'

/** One projection of one cell. */
export interface Row {
  /** Method, budget, norm and angle. */
  cell: CompletedVariance['cell']
  /** Closed forms of that pair of vectors. */
  result: VarianceResult
  /** What this projection measured. */
  own: VarianceResult['per_projection'][number]
}

/** A row with what it says on one question. */
export interface Seen extends Row {
  /** The ratio that is asked about, or |z|. */
  value: number
  /** How many standard errors it is from what would be true, with its sign. */
  z: number
}

type Question = Exclude<Verdict['question'], 'errs_less'>

/** The verdicts on a run: on bias one of all rows, on variances one per method, on projections one per method and projection. */
export function varianceVerdicts(records: readonly VarianceRecord[]): Verdict[] {
  const rows = rowsOf(records)
  if (rows.length === 0) return []
  const bounded = rows.filter(({own}) => own.theorem_bound !== null)
  return [
    judge('unbiased', rows, boundOf(rows, bias)),
    ...onTheory(rows),
    ...onProjections(rows),
    ...byMethod(bounded).map(group =>
      judge('keeps_theorem_bound', group, boundOf(bounded, overBound)),
    ),
  ].map(({verdict}) => verdict)
}

/** What a run says of one method. */
export interface MethodJudgement {
  method: string
  unbiased: Judgement
  /** Absent where no closed form is known. */
  theory: Judgement | undefined
  /** One for each random matrix, compared with i.i.d. rows. */
  projections: readonly Judgement[]
  /** Rows that were not measured on bias: their tails are too heavy. */
  heavy: readonly Row[]
}

/** The judgements method by method; bounds hold for all methods together. */
export function judgeMethods(records: readonly VarianceRecord[]): MethodJudgement[] {
  const rows = rowsOf(records)
  const bound = boundOf(rows, bias)
  const [theory, projections] = [onTheory(rows), onProjections(rows)]
  return byMethod(rows).map(group => {
    const method = methodLabel(group[0]!.cell)
    const own = ({verdict}: Judgement) => verdict.method === method
    const unbiased = judge('unbiased', group, bound)
    return {
      ...{method, unbiased, heavy: unbiased.left},
      theory: theory.find(own),
      projections: projections.filter(own),
    }
  })
}

function byMethod(rows: readonly Row[]): Row[][] {
  return groupBy(rows, ({cell}) => methodLabel(cell))
}

/** Measured variances against closed forms, method by method. */
function onTheory(rows: readonly Row[]): Judgement[] {
  const known = rows.filter(row => exactVariance(row) !== null)
  const bound = boundOf(known, overTheory)
  return byMethod(known).map(group => judge('variance_as_theory', group, bound))
}

/** Random matrices against i.i.d. rows, by method and matrix. */
function onProjections(rows: readonly Row[]): Judgement[] {
  const compared = rows.filter(({cell, own}) => {
    return !isIndependent(own.projection) && cell.projections.includes('iid')
  })
  const bound = boundOf(compared, overIid)
  return groupBy(compared, ({cell, own}) => `${methodLabel(cell)} ${drawLabel(cell, own)}`).map(
    group => judge('varies_less_than_iid', group, bound),
  )
}

/** The bound on |z| of means: reports mark rows beyond it. */
export function biasBound(records: readonly VarianceRecord[]): number {
  return boundOf(rowsOf(records), bias)
}

/** The rows of those that completed. */
export function rowsOf(records: readonly VarianceRecord[]): Row[] {
  const completed = records.filter(record => record.status === 'completed')
  return completed.flatMap(({cell, result}) =>
    result.per_projection.map(own => ({cell, result, own})),
  )
}

/** The closed form; of i.i.d. rows earlier records have it in one place alone. */
function exactVariance({own, result}: Row): number | null {
  return own.exact_variance ?? (isIndependent(own.projection) ? result.closed_form_variance : null)
}

function drawLabel(cell: Row['cell'], own: Row['own']): string {
  const {projection, all_directions: all} = own
  if (all) return rowsText(own)
  return projectionLabel({...cell, projection: projection as 'orth'}) ?? projection
}

/** What a row says on a question; nothing where it was not measured. */
type Reading = (row: Row) => Seen[]

const bias: Reading = row => {
  const {bias_z} = row.own
  return bias_z === null ? [] : [{...row, value: Math.abs(bias_z), z: bias_z}]
}

const overTheory: Reading = row => over(row, exactVariance(row))

const overBound: Reading = row => over(row, row.own.theorem_bound)

/** The measured variance over what it should be, or stay below. */
function over(row: Row, expected: number | null): Seen[] {
  const {variance, variance_relative_standard_error: error, variance_low} = row.own
  if (!expected || variance === null || error === null || variance_low === null) return []
  const value = variance / expected
  return [{...row, value, z: Math.log(value) / error}]
}

const overIid: Reading = row => {
  const {ratio_to_iid: value, ratio_low: low, ratio_high: high} = row.own
  if (value === null || low === null || high === null) return []
  const error = Math.log(high / low) / (2 * Z95)
  return [{...row, value, z: value === 1 ? 0 : Math.log(value) / error}]
}

const READINGS: Readonly<Record<Question, Reading>> = {
  unbiased: bias,
  variance_as_theory: overTheory,
  varies_less_than_iid: overIid,
  keeps_theorem_bound: overBound,
}

/** What rows are held to. */
const ASKED = {
  unbiased: 'equal',
  variance_as_theory: 'equal',
  varies_less_than_iid: 'below',
  keeps_theorem_bound: 'at_most',
} as const

/** Bonferroni's, over all rows that were measured on a question. */
function boundOf(rows: readonly Row[], reading: Reading): number {
  return boundOn(rows.flatMap(reading).length)
}

/** A verdict with the rows that it rests on. */
export interface Judgement {
  verdict: Verdict
  seen: readonly Seen[]
  /** Not measured. */
  left: readonly Row[]
}

/** The verdict of some rows. @param bound - of all rows of the question */
function judge(question: Question, rows: readonly Row[], bound: number): Judgement {
  const seen = rows.flatMap(READINGS[question])
  const values = seen.map(({value}) => value)
  const measured = new Set(seen.map(({own}) => own))
  const flat = rows.filter(isFlat)
  const left = rows.filter(row => !measured.has(row.own) && !isFlat(row))
  const [{cell, own}] = rows as [Row]
  const [low, high] = spanOf(values)
  const facts = {
    question,
    method: question === 'unbiased' ? null : methodLabel(cell),
    projection: question === 'varies_less_than_iid' ? drawLabel(cell, own) : null,
    answer: byDistance(
      ASKED[question],
      seen.map(({z}) => z),
      bound,
    ),
    bound: seen.length > 0 ? bound : null,
    measured: seen.length,
    beyond: seen.filter(({z}) => Math.abs(z) > bound).length,
    low: values.length > 0 ? low : null,
    high: values.length > 0 ? high : null,
    not_measured: left.length,
    needed_replicates: neededBy(left),
    without_variance: flat.length,
  }
  const statement = statementOf(facts, {seen, left, replicates: mostDraws(cell)})
  return {verdict: {...facts, statement}, seen, left}
}

/** Rows that do not vary but for rounding: those are seen, and withheld all the same. */
function isFlat({own}: Row): boolean {
  return own.withheld !== null && own.variance !== null
}

function neededBy(rows: readonly Row[]): number | null {
  const needs = rows.flatMap(({own}) => own.needed_replicates ?? [])
  return needs.length > 0 ? spanOf(needs)[0] : null
}

type Facts = Omit<Verdict, 'statement'>

/** The rows of a verdict: those that were measured, and those that could not be. */
interface Evidence {
  seen: readonly Seen[]
  left: readonly Row[]
  replicates: number
}

const WORDS = {yes: 'yes', no: 'no', cannot_be_told: 'inconclusive'} as const
const BOUND_WORDS = {...WORDS, yes: 'holds', no: 'violated'} as const

/** The verdict as a sentence: question, answer, what it rests on, and what was left out. */
function statementOf(facts: Facts, rows: Evidence): string {
  const {method, projection, answer, measured} = facts
  const asked = {
    unbiased: 'Unbiased',
    variance_as_theory: `${method}, variance as theory says`,
    varies_less_than_iid: `${method}, ${projection} rows vary less than iid ones`,
    keeps_theorem_bound: `${method}, bound of Theorem 2 on orth rows`,
  }[facts.question as Question]
  const draws = answer === 'cannot_be_told' ? ` at ${rows.replicates} draws` : ''
  const none = rows.left.length === 0 ? 'no row varies' : 'no row was measured'
  const word = (facts.question === 'keeps_theorem_bound' ? BOUND_WORDS : WORDS)[answer]
  const told = measured === 0 ? none : evidence(facts, rows.seen)
  return `${[`${asked}: ${word}${draws}, ${told}`, ...leftOut(facts, rows)].join('; ')}.`
}

/** What measured rows say. */
function evidence(facts: Facts, seen: readonly Seen[]): string {
  const {question, bound, measured, beyond, low, high} = facts
  const rule = `bound ${significant(bound)}, 5 % for all of them together`
  if (question === 'unbiased') {
    const of = `${plural(measured, 'measured row')} (${rule})`
    if (beyond === 0) return `largest |z| ${significant(high)} of ${of}`
    const are = beyond === 1 ? 'is' : 'are'
    return `${beyond} of ${of} ${are} beyond, marked *; largest |z| ${significant(high)}`
  }
  const range = [...new Set([significant(low), significant(high)])].join(' to ')
  const outside = seen.filter(({z}) => Math.abs(z) > Z95).length
  if (question === 'variance_as_theory') {
    return `measured over closed form ${range}, 95 % intervals cover it in ${measured - outside} of ${plural(measured, 'measured row')}`
  }
  if (question === 'keeps_theorem_bound') {
    const below = seen.filter(({z}) => z < -Z95).length
    return `measured over bound ${range}, 95 % intervals are below it in ${below} of ${plural(measured, 'measured row')}`
  }
  return `${range} of the variance of iid ones (95 % intervals exclude 1 in ${outside} of ${plural(measured, 'measured pair')})`
}

/** Rows that say nothing, and why. */
function leftOut({without_variance}: Facts, {left}: Evidence): string[] {
  const reasons = groupBy(left, ({own}) => own.withheld ?? '')
  return [
    ...reasons.map(group => {
      const need = neededBy(group)
      const takes = need === null ? '' : `, the first needs ${significant(need)}`
      const why = group[0]!.own.withheld ?? 'iid rows of their pair were not'
      return `${group.length} not measured (${why}${takes})`
    }),
    ...(without_variance > 0 ? [`${without_variance} without variance`] : []),
  ]
}
