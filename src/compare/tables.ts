/** A comparison as CSV: its lines, then what was not compared. */
import {z} from 'zod'
import {columnsOf} from '../results/columns.js'
import {plainCsv} from '../results/csv.js'
import {type ComparisonFacts, comparedRow, leftRow} from './schema.js'

/** A line, or what was not compared: fields of the other kind are empty. */
const line = z.object({
  ...comparedRow.shape,
  where: leftRow.shape.where.describe('Of what was not compared, in which of the two it is.'),
  reason: leftRow.shape.reason,
})

/** All lines, and all that is left, a row each. */
export function comparisonCsv({rows, left}: ComparisonFacts): string {
  return plainCsv(columnsOf(line), [...rows, ...left])
}
