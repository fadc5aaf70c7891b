/** A comparison as CSV: its lines, then what was not compared. */
import {z} from 'zod'
import {type Column, columnsOf} from '../results/columns.js'
import {plainCsv} from '../results/csv.js'
import {type ComparisonFacts, comparedRow, leftRow} from './schema.js'

/** A line, or what was not compared: fields of the other kind are empty. */
const line = z.object({
  ...comparedRow.shape,
  where: leftRow.shape.where.describe('Of what was not compared, in which of the two it is.'),
  reason: leftRow.shape.reason,
})

/** The columns of {@link comparisonCsv}. */
export function comparisonColumns(): Column[] {
  return columnsOf(line)
}

/** All lines, and all that is left, a row each. */
export function comparisonCsv({rows, left}: Pick<ComparisonFacts, 'rows' | 'left'>): string {
  return plainCsv(comparisonColumns(), [...rows, ...left])
}
