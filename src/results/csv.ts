import {stringify} from 'csv-stringify/sync'
import {RfaError} from '../errors.js'
import {writeAtomic} from '../files.js'
import {type Column, cellValue, columnsOf} from './columns.js'
import {
  type AnyRecord,
  benchCell,
  benchResult,
  ERROR_SWEEP_SCHEMA,
  errorSweepCell,
  errorSweepResult,
  VARIANCE_SCHEMA,
  varianceCell,
  varianceResult,
} from './schemas/index.js'

/** A table: names of the columns, and one list of values per row. */
interface Table {
  header: string[]
  rows: (string | number)[][]
}

/** One line of the table before it is cut into columns. */
type Row = Record<string, unknown>

/**
 * Records as a table: one row per cell, or per cell and projection for variance experiments.
 *
 * Columns follow the schema, not the data: `schema, key, status`, the cell, the result, then `reason`
 * and the error. Nested names are joined by `_` (`mse_median`); what a cell asks for under a name that
 * its result has too is called `requested_<name>`. `null` is an empty field. Lists per head stand in
 * {@link toPerHeadCsv}, single times only in the journal.
 *
 * A text that begins with `=`, `+`, `-`, `@`, a tab or a carriage return has an apostrophe before it, so
 * that no spreadsheet runs it; numbers never have one.
 *
 * @param records - of one experiment; empty gives an empty text
 * @returns CSV with a header, lines ended by `\n`
 * @throws {BAD_OPTION} for records of several experiments
 */
export function toCsv(records: readonly AnyRecord[]): string {
  const schema = onlySchema(records)
  if (schema === undefined) return ''
  if (schema === VARIANCE_SCHEMA) {
    const columns = varianceColumns()
    return textOf(tableOf(columns, records.flatMap(perProjection)))
  }
  const columns =
    schema === ERROR_SWEEP_SCHEMA
      ? recordColumns(columnsOf(errorSweepCell), columnsOf(errorSweepResult))
      : recordColumns(columnsOf(benchCell), columnsOf(benchResult, ['samples_ns']))
  return textOf(tableOf(columns, records as readonly Row[]))
}

/**
 * The heads of an error sweep as a table: one row per completed cell and head.
 *
 * @returns CSV as {@link toCsv}; `undefined` for experiments that do not look at heads
 */
export function toPerHeadCsv(records: readonly AnyRecord[]): string | undefined {
  if (onlySchema(records) !== ERROR_SWEEP_SCHEMA) return undefined
  const heads = columnsOf(errorSweepResult.shape.per_head.element)
  const columns = [
    plain('key'),
    ...cellColumns(columnsOf(errorSweepCell), columnsOf(errorSweepResult)),
    ...heads.map(column => below('head', column)),
  ]
  const rows = records.flatMap(record => {
    const list =
      record.status === 'completed' && 'per_head' in record.result ? record.result.per_head : []
    return list.map(head => ({...record, head}))
  })
  return textOf(tableOf(columns, rows))
}

/**
 * Writes {@link toCsv} and, for an error sweep, {@link toPerHeadCsv} beside it as
 * `<name>_per_head.csv`.
 *
 * @param path - ends in `.csv`
 * @throws {NOT_WRITABLE} when a file cannot be written
 */
export async function writeCsv(path: string, records: readonly AnyRecord[]): Promise<void> {
  const perHead = toPerHeadCsv(records)
  await writeAtomic(path, toCsv(records))
  if (perHead !== undefined) await writeAtomic(path.replace(/\.csv$/, '_per_head.csv'), perHead)
}

/** Columns of a record, given those of its cell and of its result. */
function recordColumns(cell: readonly Column[], result: readonly Column[]): Column[] {
  return [
    ...['schema', 'key', 'status'].map(plain),
    ...cellColumns(cell, result),
    ...result.map(column => below('result', column)),
    plain('reason'),
    {name: 'error_code', path: ['error', 'code'], kind: 'plain'},
    {name: 'error_message', path: ['error', 'message'], kind: 'plain'},
  ]
}

/** Columns of a cell beside those of a result: what is asked for is told from what was used. */
function cellColumns(cell: readonly Column[], result: readonly Column[]): Column[] {
  const measured = new Set(result.map(({name}) => name))
  return cell.map(column => {
    const name = measured.has(column.name) ? `requested_${column.name}` : column.name
    return {...below('cell', column), name}
  })
}

/** As {@link recordColumns}, the projection's own columns in place of the list of projections. */
function varianceColumns(): Column[] {
  const shared = columnsOf(varianceResult)
  const own = columnsOf(varianceResult.shape.per_projection.element)
  return recordColumns(columnsOf(varianceCell), [...shared, ...own])
}

/** A variance record as one row per projection; one row where nothing was measured. */
function perProjection(record: AnyRecord): Row[] {
  if (record.status !== 'completed' || !('per_projection' in record.result)) return [{...record}]
  const {per_projection: list, ...shared} = record.result
  return list.map(own => ({...record, result: {...shared, ...own}}))
}

function plain(name: string): Column {
  return {name, path: [name], kind: 'plain'}
}

/** A column of a part, seen from the whole; it keeps its name. */
function below(part: string, column: Column): Column {
  return {...column, path: [part, ...column.path]}
}

function tableOf(columns: readonly Column[], rows: readonly Row[]): Table {
  return {
    header: columns.map(({name}) => name),
    rows: rows.map(row => columns.map(column => cellValue(column, row))),
  }
}

/**
 * Spreadsheets run texts that begin like a formula, whoever wrote them, and take semicolons and tabs for
 * ends of cells where quotes do not say otherwise.
 */
function textOf({header, rows}: Table): string {
  const safe = {escape_formulas: true, quoted_match: /[;\t]/}
  return stringify([header, ...rows], {record_delimiter: '\n', ...safe})
}

function onlySchema(records: readonly AnyRecord[]): string | undefined {
  const [first, second] = new Set(records.map(({schema}) => schema))
  if (second === undefined) return first
  throw new RfaError(
    'BAD_OPTION',
    `CSV: expected records of one experiment, got ${first} and ${second}`,
  )
}
