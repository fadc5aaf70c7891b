import {stringify} from 'csv-stringify/sync'
import {writeAtomic} from '../../files.js'
import type {CellRecord} from '../record.js'
import {type Column, cellValue} from './columns.js'
import {filledTable, type TableFormat, tablesWithRows} from './tables.js'

/**
 * Records as a table in CSV.
 *
 * Columns keep the order of the schema. One that is empty in every row is left out, so that columns say something: which
 * are there depends on the records, and what is missing is empty throughout.
 *
 * A text that begins with `=`, `+`, `-`, `@`, a tab or a carriage return has an apostrophe before it, so
 * that no spreadsheet runs it; numbers never have one.
 *
 * @param records - of the experiment of the table; an empty list gives an empty text
 * @returns CSV with a header, lines ended by `\n`
 * @throws {BAD_OPTION} for records of several experiments
 */
export function toCsv(records: readonly CellRecord[], table: TableFormat): string {
  const {columns, rows} = filledTable(records, table)
  return records.length === 0 ? '' : plainCsv(columns, rows)
}

/**
 * Writes the tables of an experiment: the first as `path`, others that have rows next to it with a suffix.
 *
 * @param path - ends in `.csv`
 * @throws {NOT_WRITABLE} when a file cannot be written
 */
export async function writeCsv(
  path: string,
  records: readonly CellRecord[],
  tables: readonly TableFormat[],
): Promise<void> {
  const files = tablesWithRows(records, tables).map(table => ({
    name: path.replace(/\.csv$/, `${table.suffix}.csv`),
    text: toCsv(records, table),
  }))
  for (const {name, text} of files) await writeAtomic(name, text)
}

/**
 * Rows as a table in CSV, with the texts of {@link toCsv}; all columns are there, whatever the rows say.
 *
 * @param rows - values by the paths of the columns
 */
export function plainCsv(columns: readonly Column[], rows: readonly unknown[]): string {
  const header = columns.map(({name}) => name)
  return linesCsv([header, ...rows.map(row => columns.map(column => cellValue(column, row)))])
}

/**
 * Lines as CSV. Spreadsheets run texts that begin like a formula, whoever wrote them, and take semicolons and tabs for
 * ends of cells, carriage returns for ends of lines, where quotes do not say otherwise.
 */
export function linesCsv(lines: readonly (readonly (string | number)[])[]): string {
  return stringify([...lines], {
    record_delimiter: '\n',
    escape_formulas: true,
    quoted_match: /[;\t\r]/,
  })
}
