/** Why errors of a sweep are high, in a sentence of its first screen. */
import {spanOf} from '../../../../report/groups.js'
import {errorWithInterval, roundNumber, significant} from '../../../../report/numbers.js'
import {logitSizeName} from '../../../logit-scale.js'
import {headsOf} from '../../heavy-lists.js'
import type {CompletedSweep} from '../../schema.js'
import {byError} from '../errors/ranking.js'
import {atLargestFeatures, rowLabel} from '../groups/sections.js'

/** Mean |x+y|^2 from which logits are called large: exp(5) = 148 draws for one kernel entry; and from which no trained model has them. */
const [LARGE, HUGE] = [5, 1000]

/**
 * Why errors are high: how large logits are, and what theory says 5 % would take, or the error that is left, if it was asked.
 *
 * @param rows - of one place @param best - the row of the lowest error
 */
export function whySentences(rows: readonly CompletedSweep[], best: CompletedSweep): string[] {
  if (best.cell.target !== 'raw') return []
  const {sum_norm2: size} = best.result.statistics
  const mean = `mean ${logitSizeName(best.result)} = ${significant(size, 2)}`
  if (size >= HUGE) return [`Logits are huge (${mean}): is their scale right?`]
  const predicted = predictedText(rows, best)
  const asked = !rows.some(({result}) => result.prediction_unknown === 'not_asked')
  if (predicted === undefined && (asked || size < LARGE)) return []
  const large = size < LARGE ? [] : [`Logits are large (${mean}${byHead(best)})`]
  const why = predicted ?? '`predictions` says which M an error of 5 % would take'
  return [`${[...large, why].join(': ')}.`]
}

/** From where to where the size of logits goes, where heads differ. */
function byHead(row: CompletedSweep): string {
  const sizes = headsOf(row).map(({statistics}) => statistics.sum_norm2)
  const [low, high] = spanOf(sizes).map(size => significant(size, 2))
  return sizes.length < 2 || low === high ? '' : `, by head ${low} to ${high}`
}

/**
 * What theory says of the best row, or of the row of the lowest error that it says something of: not of the one that needs least, as
 * the least of several noisy numbers is too low.
 */
function predictedText(rows: readonly CompletedSweep[], best: CompletedSweep): string | undefined {
  const able = byError(atLargestFeatures(rows)).filter(
    ({result}) => result.num_features_for_5_percent !== null || result.last_rel_l2 !== null,
  )
  const row = able.find(one => rowLabel(one) === rowLabel(best)) ?? able[0]
  return row && (neededText(row) ?? leftText(row))
}

/** `favor-pos orth would need about 10,000 random vectors (M) for 5 % [7,500, 13,000]`. */
function neededText(row: CompletedSweep): string | undefined {
  const need = row.result.num_features_for_5_percent
  if (need === null) return undefined
  return `${rowLabel(row)} would need about ${neededRange(row.result)} random vectors (M) for 5 %`
}

/** The M for 5 % with its interval: `10,000 [7,500, 13,000]`, without an upper end `10,000 [7,500, ?]`. */
export function neededRange(
  result: Pick<
    CompletedSweep['result'],
    | 'num_features_for_5_percent'
    | 'num_features_for_5_percent_low'
    | 'num_features_for_5_percent_high'
  >,
): string {
  const {num_features_for_5_percent: need} = result
  const [low, high] = [
    result.num_features_for_5_percent_low,
    result.num_features_for_5_percent_high,
  ].map(end => (end === null ? '?' : roundNumber(Math.log10(end))))
  const middle = roundNumber(Math.log10(need ?? Number.POSITIVE_INFINITY))
  return low === '?' ? middle : `${middle} [${low}, ${high}]`
}

/** `favor-pos orth with M=4,096 would still be 63 % [48, 83] off; exact attention of 256 tokens is cheaper`. */
function leftText(row: CompletedSweep): string | undefined {
  const {last_num_features: count, last_rel_l2, last_rel_l2_low, last_rel_l2_high} = row.result
  if (count === null || last_rel_l2 === null) return undefined
  const error = errorWithInterval(last_rel_l2, last_rel_l2_low, last_rel_l2_high)
  const left = `${rowLabel(row)} with M=${count.toLocaleString('en-US')} would still be ${error} off`
  const {key_len: keys} = row.result
  // M products for each query and each key are more than one for each pair
  return count < keys ? left : `${left}; exact attention of ${keys} tokens is cheaper`
}
