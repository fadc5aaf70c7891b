/** Methods with learned parameters, held against themselves without. */
import {errorText, withInterval} from '../../../../report/numbers.js'
import {listed} from '../../../../report/words.js'
import {methodLabel, variantLabel} from '../../../labels.js'
import type {CompletedSweep} from '../../schema.js'
import {errorOf, type Ranking} from '../errors/ranking.js'

/** Rows with learned parameters, each with the row of the same draws and M without. */
export function tunedPairs(
  rows: readonly CompletedSweep[],
): [tuned: CompletedSweep, plain: CompletedSweep][] {
  return rows.flatMap((row): [CompletedSweep, CompletedSweep][] => {
    if (!row.cell.tuned) return []
    const label = plainLabel(row)
    const plain = rows.find(({cell}) => !cell.tuned && variantLabel(cell) === label)
    return plain ? [[row, plain]] : []
  })
}

function plainLabel({cell: {tuned: _, ...cell}}: CompletedSweep): string {
  return variantLabel(cell)
}

/** What learned parameters do to the error. @param rows - of one place */
export function tunedSentences(rows: readonly CompletedSweep[], {compare}: Ranking): string[] {
  return tunedPairs(rows).map(([tuned, plain]) => {
    const {answer, ratio} = compare(tuned, plain)
    const name = plainLabel(tuned)
    const [before, after] = [plain, tuned].map(row => errorText(errorOf(row)))
    const change = `from ${before} to ${after}`
    const factor = Number.isNaN(ratio.low)
      ? ''
      : `, ${withInterval(ratio.value, ratio.low, ratio.high)} times what it was`
    if (answer === 'less') return `Tuning lowers the error of ${name} ${change}${factor}.`
    if (answer === 'more') return `Tuning raises the error of ${name} ${change}${factor}.`
    return `Tuning takes the error of ${name} ${change}, which is not distinguishable.`
  })
}

/** Why methods with learned parameters have no predictions. */
export function tunedNotes(rows: readonly CompletedSweep[]): string[] {
  const names = [...new Set(rows.flatMap(({cell}) => (cell.tuned ? methodLabel(cell) : [])))]
  if (names.length === 0) return []
  return [`nothing is predicted for ${listed(names)}: theory does not know learned parameters`]
}
