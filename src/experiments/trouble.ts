/** What first screens say of cells that were skipped or failed. */
import {plural} from '../report/numbers.js'
import {cut, listed} from '../report/words.js'
import type {CellRecord} from '../results/record.js'
import type {MethodSpec} from './axes.js'
import {methodLabel} from './labels.js'

/** Characters of a reason that a screen has room for. */
const MOST_OF_REASON = 90
const MOST_METHODS = 3

/** A sentence for the cells that failed, and one for those that were skipped; nothing where all completed. */
export function troubleSentences(records: readonly CellRecord<MethodSpec>[]): string[] {
  return (['failed', 'skipped'] as const).flatMap(status => {
    const cells = records.filter(record => record.status === status)
    if (cells.length === 0) return []
    const methods = [...new Set(cells.map(({cell}) => methodLabel(cell)))]
    const reasons = [...new Set(cells.flatMap(reasonOf))]
    const why =
      reasons.length === 1
        ? cut(reasons[0]!, MOST_OF_REASON)
        : `${reasons.length} reasons, see --details`
    return [`${plural(cells.length, 'cell')} ${status} (${listed(methods, MOST_METHODS)}): ${why}`]
  })
}

function reasonOf(record: CellRecord): string[] {
  if (record.status === 'completed') return []
  return [record.status === 'skipped' ? record.reason : record.error.message]
}
