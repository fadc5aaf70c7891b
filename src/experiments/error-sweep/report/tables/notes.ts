/** All that reports of a sweep note and warn of: inputs, tables, features that methods would need, and replicates. */
import {layoutWarning} from '../../../../inputs/attention-input.js'
import {groupBy, spanOf} from '../../../../report/groups.js'
import {plural, roundNumber, significant} from '../../../../report/numbers.js'
import {firstOf} from '../../../../report/words.js'
import {fewPairsNote} from '../../../few-pairs.js'
import {methodLabel, projectionLabel, variantLabel} from '../../../labels.js'
import {UNKNOWN_BECAUSE} from '../../curve.js'
import {headsOf, replicateMetricsOf} from '../../heavy-lists.js'
import {
  type CompletedSweep,
  LEAST_FOR_ERRORS,
  type MeansUnknown,
  type PrecisionMetric,
  replicatesOf,
} from '../../schema.js'
import {isDrawn} from '../errors/comparison.js'
import {featuresOf, rowLabel, withMostFeatures} from '../groups/sections.js'
import {tunedNotes} from '../sentences/tuned.js'
import {neededRange} from '../sentences/why.js'
import {rowNotes} from './row-columns.js'

/**
 * Above the tables of a section: axes that look exchanged, and keys that are hidden.
 *
 * @param record - any of the section
 */
export function inputNotes({cell, result}: CompletedSweep): string[] {
  return [...exchangedAxes({cell, result}), ...hidden(result)]
}

/** Only of whole files: how many tokens there are beyond those that were asked for is not recorded. */
function exchangedAxes({cell, result}: Pick<CompletedSweep, 'cell' | 'result'>): string[] {
  const {input, seq_len} = cell
  if (input.kind !== 'file' || seq_len !== null) return []
  const {heads, query_len: queryLen, key_len: keyLen} = result
  const warning = layoutWarning({heads, queryLen, keyLen}, input.layout)
  return warning === undefined ? [] : [warning]
}

/** What a key mask leaves out of errors: padding where keys and queries are the same tokens. */
function hidden(result: CompletedSweep['result']): string[] {
  const {batch, query_len, key_len, hidden_keys, judged_queries} = result
  if (hidden_keys === 0) return []
  const share = `${hidden_keys} of ${batch * key_len}`
  return judged_queries === null || judged_queries === batch * query_len
    ? [`${share} keys are masked and are ignored`]
    : [`${share} tokens are padding and are ignored, as keys and as queries`]
}

/** Below a table of errors: what is left out or noise in it. @param rows - of one layer */
export function tableNotes(rows: readonly CompletedSweep[]): string[] {
  return [...unknownNotes(rows), ...splitNotes(rows), ...rowNotes(rows), ...tunedNotes(rows)]
}

/** Variants, those of one method at one M by their projections: `favor-pos iid, orth M=256`. */
function namesOf(rows: readonly CompletedSweep[]): string[] {
  return groupBy(rows, ({cell}) => `${methodLabel(cell)} ${cell.num_features}`).map(variants => {
    const {cell} = variants[0]!
    const projections = variants.flatMap(variant => projectionLabel(variant.cell) ?? [])
    const features = cell.num_features === null ? [] : [`M=${cell.num_features}`]
    return [methodLabel(cell), projections.join(', '), ...features].filter(Boolean).join(' ')
  })
}

/** Why means are left out; the legend explains few replicates. */
const UNKNOWN_REASONS: Partial<Record<MeansUnknown, string>> = {
  not_finite: 'an estimate is not finite',
  sign_changes: 'denominators change sign, so single errors have no limit',
  one_draw: 'one draw makes more than half of the squared error',
  not_recorded: 'an earlier version kept no standard errors',
}

/** Most variants without means, and most rows with noise for bias^2, in one sentence. */
const [MOST_UNKNOWN, MOST_NOISY] = [40, 6]

/** Rows without means, by the reason for it. */
function unknownNotes(rows: readonly CompletedSweep[]): string[] {
  const several = rows.filter(row => replicatesOf(row) >= LEAST_FOR_ERRORS)
  return groupBy(several, ({result}) => result.means_unknown ?? '').flatMap(group => {
    const {means_unknown: unknown} = group[0]!.result
    const reason = unknown && UNKNOWN_REASONS[unknown]
    if (!reason) return []
    const names = firstOf(namesOf(group), MOST_UNKNOWN)
    return [`no means for ${names}: ${reason}`]
  })
}

/** Standard errors from which a bias is seen: 5 % false alarms of a one-sided normal test; measured, 0.1 to 3 %. */
const SEEN = 1.645
/** Standard errors more, so that a bias of that size is seen nine times in ten. */
const POWER = 1.282
/** The share of the mean squared error that a bias^2 worth telling has. */
const SHARE = 0.1

/** One sentence on the rows in which bias^2 is noise. */
function splitNotes(rows: readonly CompletedSweep[]): string[] {
  const names = groupBy(rows, ({cell}) => methodLabel(cell))
    .flat()
    .flatMap(row => {
      const needed = splitReplicates(row)
      if (needed === undefined) return []
      const count = Number(needed.toPrecision(2)).toLocaleString('en-US')
      return [`${variantLabel(row.cell)} about ${count}`]
    })
  if (names.length === 0) return []
  return [
    `bias^2 is within its noise; replicates that would show a bias^2 of 10 % of the mean MSE: ${firstOf(names, MOST_NOISY)}`,
  ]
}

/**
 * Replicates with which a bias^2 of a tenth of the mean squared error is seen nine times in ten, where bias^2 is within
 * its noise and there are fewer; else `undefined`. The noise of bias^2 falls like 1 / R as long as no bias is seen.
 */
export function splitReplicates(row: CompletedSweep): number | undefined {
  const {bias_squared: bias, bias_squared_standard_error: error, mse} = row.result
  const replicates = replicatesOf(row)
  if (bias === null || !error || !mse.mean || replicates < 2 || bias > SEEN * error)
    return undefined
  const needed = Math.ceil((replicates * error * (SEEN + POWER)) / (SHARE * mse.mean))
  return needed > replicates ? needed : undefined
}

interface HeadNeed {
  head: number
  /** Decimal logarithm of the features that it needs; infinite where a record says no more than that they are too many. */
  log10: number
}

/** What features are wanted for. */
const WANTED = 'an error of 5 %'

/**
 * Below the tables of a section: warns for each method that needs more features than any cell had for an error of 5 % in all heads
 * together, where the error is predicted, or says that it is not known, and why.
 *
 * @param records - completed cells of one input, length and scale
 * @returns one sentence per method, naming its worst and its best head
 */
export function featureNotes(records: readonly CompletedSweep[]): string[] {
  const overflowing = records.find(({result}) => result.prediction_unknown === 'overflow')
  if (overflowing) return [overflowWarning(overflowing)]
  return groupBy(records, ({cell}) => methodLabel(cell)).flatMap(group => {
    const predicted = group.filter(isPredicted)
    const needs = predicted.length > 0 ? errorWarning(predicted) : []
    return [...roundingWarning(group), ...needs]
  })
}

/** Where float32 rounding decides on outputs, a sentence for each method. */
export function roundingNotes(records: readonly CompletedSweep[]): string[] {
  return groupBy(records, ({cell}) => methodLabel(cell)).flatMap(roundingWarning)
}

/** Deviation of sums of weights from 1 at which rounding is no detail any more. */
const MOST_ROUNDING = 0.01

/**
 * Warns where float32 rounding decides on outputs: weights that nothing is added to sum to 1 but for rounding, which grows as
 * their signed terms cancel.
 */
function roundingWarning(records: readonly CompletedSweep[]): string[] {
  const deviations = records
    .filter(sumsToOne)
    .map(({result}) => result.row_sum_deviation.median ?? 0)
  const largest = Math.max(0, ...deviations)
  if (largest <= MOST_ROUNDING) return []
  const {cell} = records[0]!
  const sums = `sums of weights, which are 1 but for rounding, are off by ${significant(largest)}`
  return [
    `${methodLabel(cell)}: float32 rounding decides on these outputs, and another backend has others (${sums}); try smaller queries and keys (\`scales\`), or favor-pos, where nothing cancels`,
  ]
}

/** Whether the weights of a method are of both signs and divided by their sum as it is. */
function sumsToOne({cell, result}: CompletedSweep): boolean {
  const {negative_denominators_pct: negative, guarded_pct: guarded} = result
  const isPlain = cell.preset === 'exact' && !('normalizerEpsilon' in cell.options)
  return isPlain && (negative.max ?? 0) > 0 && guarded.max === 0
}

/** Whether theory has an error for it, known or not. */
function isPredicted({result}: CompletedSweep): boolean {
  return (
    result.predicted_rel_l2 !== null || ![null, 'not_asked'].includes(result.prediction_unknown)
  )
}

/** The factor that brings the mean |x+y|^2 of inputs down to one is named by its power of ten. */
function overflowWarning({cell, result: {statistics}}: CompletedSweep): string {
  const power = Math.floor(Math.log10(cell.scale) - Math.log10(statistics.sum_norm2) / 2)
  return [
    `logits overflow float32: the mean of |x+y|^2 is ${significant(statistics.sum_norm2)},`,
    `and float32 has only every other integer above 2^24. No error is predicted; try --scales 1e${power}`,
  ].join(' ')
}

function errorWarning(records: readonly CompletedSweep[]): string[] {
  const record = withMostFeatures(records)
  const {predicted_rel_l2, num_features_for_5_percent: need, rel_l2} = record.result
  const budget = featuresOf(record)
  const predicted = predicted_rel_l2 === null ? [] : [`predicted ${significant(predicted_rel_l2)}`]
  const errors = [`at M=${budget} rel L2 is ${significant(rel_l2.median)}`, ...predicted].join(', ')
  const unknown = record.result.prediction_unknown
  if (unknown) {
    const method = methodLabel(record.cell)
    const what =
      unknown === 'tokens'
        ? `no M is predicted to bring ${method} to ${WANTED}`
        : `${method}: the M for ${WANTED} is not known`
    return [`${what} (${UNKNOWN_BECAUSE[unknown]}); ${errors}`]
  }
  const overall = log10Of(need)
  if (overall <= Math.log10(budget)) return []
  // heads are named where all are known: the worst one may be the one that is not
  const all = headsOf(record)
  const heads = all.every(({prediction_unknown}) => !prediction_unknown) ? all : []
  const inTurn = inOrder(
    heads.map(({head, num_features_for_5_percent: own}) => ({head, log10: log10Of(own)})),
  )
  return [`${needs(record, inTurn)}; ${errors}`]
}

function log10Of(need: number | null): number {
  return need === null ? Number.POSITIVE_INFINITY : Math.log10(need)
}

/** @param heads - from the one that needs least to the one that needs most */
function needs(row: CompletedSweep, heads: readonly HeadNeed[]): string {
  const {num_features_for_5_percent: need, feature_dim} = row.result
  const count = need === null ? TOO_MANY : `about ${neededRange(row.result)}`
  const noun = feature_dim > 0 ? 'features' : 'proposals'
  return `${rowLabel(row)} needs ${count} ${noun}${extremes(heads)} for ${WANTED}`
}

/** The heads that need most and least, in brackets, where there are two. */
function extremes(heads: readonly HeadNeed[]): string {
  const [best, worst] = [heads[0], heads.at(-1)]
  if (!best || !worst || best.head === worst.head) return ''
  return ` (most in head ${worst.head}: ${count(worst.log10)}; least in head ${best.head}: ${count(best.log10)})`
}

/** From the one that needs least to the one that needs most. */
function inOrder(heads: readonly HeadNeed[]): HeadNeed[] {
  return heads.toSorted((a, b) => (a.log10 === b.log10 ? a.head - b.head : a.log10 - b.log10))
}

/** What is beyond predictions. */
const TOO_MANY = 'more than 16 million'

/** `about 25,000`. */
function count(log10: number): string {
  return log10 === Number.POSITIVE_INFINITY ? TOO_MANY : `about ${roundNumber(log10)}`
}

/** In the place of paired differences: how many draws they take. @param variants - of one table, at their largest M */
export function fewDrawsNotes(variants: readonly CompletedSweep[]): string[] {
  const drawn = variants.filter(row => isDrawn(row) && replicateMetricsOf(row) !== null)
  if (variants.length < 2 || drawn.length === 0) return []
  const [, most] = spanOf(drawn.map(replicatesOf))
  return fewPairsNote(most, 'draw')
}

/** Metrics as tables call them. */
const PRECISION_NAMES: Record<PrecisionMetric, string> = {
  rel_l2: 'rel L2',
  rel_l1: 'rel L1',
  mse: 'MSE',
  max_abs: 'largest error',
  token_mean_rel_l2: 'error of the token mean',
  projected_rel_l2: 'error after W_O',
  residual_error: 'error of the residual stream',
}

/** At the end: what was left out because the plan has no predictions. */
export function predictionNotes(records: readonly CompletedSweep[]): string[] {
  const left = records.filter(({result}) => result.prediction_unknown === 'not_asked')
  if (left.length === 0) return []
  const rows = left.length === records.length ? '' : ` of ${plural(left.length, 'row')}`
  return [`predictions${rows} were not asked for: the same command with \`predictions\` has them`]
}

/** At the end: how far replicates went where a precision was asked for, rows of one end and count together. */
export function precisionNotes(records: readonly CompletedSweep[]): string[] {
  const groups = groupBy(
    records.filter(({cell}) => cell.until_ci),
    ({cell, result}) => JSON.stringify([cell.until_ci, result.stopped_by]),
  )
  return groups.map(group => {
    const {cell, result} = group[0]!
    const {metric, relative_half_width: width} = cell.until_ci!
    const range = [...new Set(spanOf(group.map(replicatesOf)))].join(' to ')
    const reached = result.stopped_by === 'precision' ? 'within' : 'still wider than'
    return `the 95 % interval of the median ${PRECISION_NAMES[metric]} is ${reached} ±${significant(100 * width, 2)} % in ${plural(group.length, 'row')} (${range} replicates)`
  })
}
