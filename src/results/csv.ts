import {stringify} from 'csv-stringify/sync'
import {RfaError} from '../errors.js'
import {writeAtomic} from '../files.js'
import {cellValue} from './columns.js'
import type {CellRecord} from './record.js'
import type {TableFormat} from './tables.js'

/**
 * Records as a table in CSV.
 *
 * A text that begins with `=`, `+`, `-`, `@`, a tab or a carriage return has an apostrophe before it, so
 * that no spreadsheet runs it; numbers never have one.
 *
 * @param records - of the experiment whose table it is; empty gives an empty text
 * @returns CSV with a header, lines ended by `\n`
 * @throws {BAD_OPTION} for records of several experiments
 */
export function toCsv(records: readonly CellRecord[], table: TableFormat): string {
  if (onlySchema(records) === undefined) return ''
  const columns = table.columns()
  const header = columns.map(({name}) => name)
  const rows = records.flatMap(record => table.rows(record))
  return textOf([header, ...rows.map(row => columns.map(column => cellValue(column, row)))])
}

/**
 * Writes the tables of an experiment: the first as `path`, others beside it with their own suffix.
 *
 * @param path - ends in `.csv`
 * @throws {NOT_WRITABLE} when a file cannot be written
 */
export async function writeCsv(
  path: string,
  records: readonly CellRecord[],
  tables: readonly TableFormat[],
): Promise<void> {
  const files = tables.map(table => ({
    name: path.replace(/\.csv$/, `${table.suffix}.csv`),
    text: toCsv(records, table),
  }))
  for (const {name, text} of files) await writeAtomic(name, text)
}

/**
 * Spreadsheets run texts that begin like a formula, whoever wrote them, and take semicolons and tabs for
 * ends of cells where quotes do not say otherwise.
 */
function textOf(lines: (string | number)[][]): string {
  return stringify(lines, {
    record_delimiter: '\n',
    escape_formulas: true,
    quoted_match: /[;\t]/,
  })
}

function onlySchema(records: readonly CellRecord[]): string | undefined {
  const [first, second] = new Set(records.map(({schema}) => schema))
  if (second === undefined) return first
  throw new RfaError(
    'BAD_OPTION',
    `CSV: expected records of one experiment, got ${first} and ${second}`,
  )
}
