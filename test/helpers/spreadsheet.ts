/** What a spreadsheet would do with a table. */
import {parse} from 'csv-parse/sync'

/** Cells of a table in CSV that a spreadsheet would run: texts that begin like a formula. Numbers may begin by a sign. */
export function formulasOf(csv: string): string[] {
  const cells: string[] = parse(csv, {relax_column_count: true}).flat()
  return cells.filter(cell => /^[=+\-@\t\r]/.test(cell) && !/^[+-]?[\d.]+(e[+-]?\d+)?$/i.test(cell))
}
