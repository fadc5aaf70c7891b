/** Why errors of a sweep are high, in a sentence of its first screen. */
import {spanOf} from '../../../report/groups.js'
import {roundNumber, significant} from '../../../report/numbers.js'
import {listed} from '../../../report/words.js'
import {methodLabel} from '../../labels.js'
import {logitSizeName} from '../../logit-scale.js'
import {headsOf} from '../heavy-lists.js'
import type {CompletedSweep} from '../schema.js'
import {isPredicted} from './notes.js'
import {atLargestFeatures} from './sections.js'
import {methodsOf} from './standing.js'

/** Mean |x+y|^2 from which logits are called large: exp(5) = 148 draws for one kernel entry. */
const LARGE = 5

/**
 * Why errors are high: how large logits are, and what theory says 5 % would take.
 *
 * @param rows - of one place @param best - the row of the lowest error
 */
export function whySentences(rows: readonly CompletedSweep[], best: CompletedSweep): string[] {
  if (best.cell.target !== 'raw') return []
  const need = neededText(atLargestFeatures(rows))
  const {sum_norm2: size} = best.result.statistics
  if (!need) return []
  if (size < LARGE) return [`${need}.`]
  return [
    `Logits are large (mean ${logitSizeName(best.result)} = ${significant(size, 2)}${byHead(best)}): ${need}.`,
  ]
}

/** From where to where the size of logits goes, where heads differ. */
function byHead(row: CompletedSweep): string {
  const sizes = headsOf(row).map(({statistics}) => statistics.sum_norm2)
  const [low, high] = spanOf(sizes).map(size => significant(size, 2))
  return sizes.length < 2 || low === high ? '' : `, by head ${low} to ${high}`
}

/** What theory says of random vectors for 5 %, of the method that needs least; or how many show a kernel entry at all. */
function neededText(variants: readonly CompletedSweep[]): string | undefined {
  const predicted = variants.filter(({result}) => result.predicted_rel_l2 !== null)
  const least = leastBy(predicted, ({result}) => result.num_features_for_5_percent)
  if (least) {
    const {row, value} = least
    return `${methodLabel(row.cell)} would need about ${roundNumber(Math.log10(value))} random vectors (M) for 5 %`
  }
  const beyond = predicted.filter(({result}) => result.prediction_unknown === null)
  if (beyond.length > 0) {
    return `${listed(methodsOf(beyond), 3)} would need over 16 million random vectors (M) for 5 %`
  }
  const entry = leastBy(
    variants.filter(isPredicted),
    ({result}) => result.needed_num_features_log10,
  )
  if (!entry || entry.value <= Math.log10(entry.row.cell.num_features ?? 1)) return undefined
  const count = `about ${roundNumber(entry.value)} random vectors (M)`
  return `${methodLabel(entry.row.cell)} needs ${count} before each head's kernel exceeds its noise`
}

/** The row for which a number is smallest, of those that have one. */
function leastBy(
  rows: readonly CompletedSweep[],
  of: (row: CompletedSweep) => number | null,
): {row: CompletedSweep; value: number} | undefined {
  const able = rows.flatMap(row => {
    const value = of(row)
    return value === null ? [] : [{row, value}]
  })
  return able.toSorted((a, b) => a.value - b.value)[0]
}
