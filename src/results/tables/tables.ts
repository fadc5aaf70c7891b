/** Tables of records: their columns follow the schemas of cell and result, never the data. */
import {z} from 'zod'
import {RfaError} from '../../errors.js'
import {type CellRecord, recordFields} from '../record.js'
import {type Column, cellValue, columnsOf} from './columns.js'

/** One line of a table before it is cut into columns. */
export type Row = Record<string, unknown>

/** Tables that a run has on request alone, by their flags. */
export type RequestedTable = 'samples'

/** A table of an experiment's records. */
export interface TableFormat {
  /** After the name of the file, e.g. `_per_head`; empty for the first table. */
  suffix: string
  /** Flag that asks for it. Default: a run has it anyway. */
  flag?: RequestedTable
  columns(): Column[]
  /** The lines of one record. */
  rows(record: CellRecord): Row[]
}

/** The tables of an experiment that a file is written for: the first, and others that have rows. */
export function tablesWithRows(
  records: readonly CellRecord[],
  tables: readonly TableFormat[],
): TableFormat[] {
  return tables.filter(
    table => table.suffix === '' || records.some(record => table.rows(record).length > 0),
  )
}

/**
 * Rows of a table, and the columns in which some row has a value; all columns where there are no rows.
 *
 * @throws {BAD_OPTION} for records of several experiments
 */
export function filledTable(
  records: readonly CellRecord[],
  table: TableFormat,
): {columns: readonly Column[]; rows: Row[]} {
  const [first, second] = new Set(records.map(({schema}) => schema))
  if (second !== undefined) {
    const got = `${first} and ${second}`
    throw new RfaError('BAD_OPTION', `tables: expected records of one experiment, got ${got}`)
  }
  const columns = table.columns()
  const rows = records.flatMap(record => table.rows(record))
  if (rows.length === 0) return {columns, rows}
  return {columns: columns.filter(column => rows.some(row => cellValue(column, row) !== '')), rows}
}

export interface TableSchemas {
  cell: z.ZodObject
  result: z.ZodObject
  /** Paths of the result, joined by `.`, that are left out: the journal has them. */
  omit?: readonly string[]
  /**
   * Names of the cell that show a field of the result, if there is one: the value used, where the cell may leave it
   * open. That field has no other column.
   */
  used?: Readonly<Record<string, string>>
}

/**
 * One row per cell: `schema, key, status`, the cell, the result, then `reason` and the error. Nested names are
 * joined by `_` (`mse_median`); what a cell asks for under a name that its result has too is called
 * `requested_<name>`. `null` is an empty field, lists of objects are left out.
 */
export function recordTable(schemas: TableSchemas): TableFormat {
  return {
    suffix: '',
    columns: () => recordColumns(schemas, resultColumns(schemas)),
    rows: record => [record as Row],
  }
}

/**
 * As {@link recordTable}, with a row for each item of a list of the result and its columns in place of the list;
 * one row where nothing was measured.
 *
 * @param list - name of the list
 */
export function itemTable(schemas: TableSchemas, list: string): TableFormat {
  return {
    suffix: '',
    columns: () =>
      recordColumns(schemas, [
        ...resultColumns(schemas),
        ...columnsOf(itemSchema(schemas.result, list)),
      ]),
    rows(record) {
      if (record.status !== 'completed') return [{...record}]
      const {[list]: items, ...shared}: Row = record.result
      return (items as Row[]).map(item => ({...record, result: {...shared, ...item}}))
    },
  }
}

/**
 * A further table: the items of a list of the result, one row each, after the key and the cell.
 *
 * @param list - name of the list
 */
export function listTable(schemas: TableSchemas, list: string): TableFormat {
  const rowsOf = (result: Row) => (result[list] ?? []) as Row[]
  return rowTable(schemas, list, itemSchema(schemas.result, list), rowsOf)
}

/**
 * A further table of rows made from a result: their columns after the key and the cell.
 *
 * @param name - of the table
 * @param row - what a row is like
 */
export function rowTable(
  schemas: TableSchemas,
  name: string,
  row: z.ZodType,
  rowsOf: (result: Row) => readonly Row[],
): TableFormat {
  return {
    suffix: `_${name}`,
    columns: () => [
      plain('key'),
      ...cellColumns(schemas, resultColumns(schemas)),
      ...columnsOf(row).map(column => below('item', column)),
    ],
    rows(record) {
      if (record.status !== 'completed') return []
      return rowsOf(record.result).map(item => ({...record, item}))
    },
  }
}

/**
 * A table of rows made from a result, after the key of their cell only: with many rows the cell in each would be
 * most of the file. Its flag asks for it.
 */
export function requestedTable(
  name: RequestedTable,
  row: z.ZodType,
  rowsOf: (result: Row) => readonly Row[],
): TableFormat {
  return {
    suffix: `_${name}`,
    flag: name,
    columns: () => [plain('key'), ...columnsOf(row).map(column => below('item', column))],
    rows({key, ...record}) {
      if (record.status !== 'completed') return []
      return rowsOf(record.result).map(item => ({key, item}))
    },
  }
}

/** What the items of a list are like, whether earlier records lack it or not. */
function itemSchema(result: z.ZodObject, list: string): z.ZodType {
  let field = result.shape[list]
  while (field instanceof z.ZodDefault || field instanceof z.ZodNullable) {
    field = field.unwrap() as typeof field
  }
  return (field as z.ZodArray<z.ZodObject>).element
}

/** Columns of a result, without those that stand in columns of the cell. */
function resultColumns({result, omit = [], used = {}}: TableSchemas): Column[] {
  return columnsOf(result, [...omit, ...Object.values(used)])
}

/** Columns of a record. @param result - those of its result */
function recordColumns(schemas: TableSchemas, result: readonly Column[]): Column[] {
  return [
    ...['schema', 'key', 'status'].map(plain),
    ...cellColumns(schemas, result),
    ...result.map(column => below('result', column)),
    plain('reason'),
    plain('error_code'),
    plain('error_message'),
  ]
}

/** Columns of a cell next to a result, distinguishing the value asked for from the value used. */
function cellColumns(schemas: TableSchemas, result: readonly Column[]): Column[] {
  const {cell, used = {}} = schemas
  const measured = new Set(result.map(({name}) => name))
  return columnsOf(cell).map(column => {
    const asked = below('cell', column)
    const field = used[column.name]
    if (field !== undefined) return {...usedColumn(schemas, asked, field), otherwise: asked.path}
    return measured.has(column.name) ? {...asked, name: `requested_${column.name}`} : asked
  })
}

/** A column of the cell that shows what was used. @param field - name in the result */
function usedColumn({result}: TableSchemas, {name}: Column, field: string): Column {
  const measured = columnsOf(result).find(column => column.name === field)!
  return {...below('result', measured), name}
}

/** Columns of what all records say, by their names. */
const COMMON = new Map(columnsOf(z.object(recordFields)).map(column => [column.name, column]))

function plain(name: string): Column {
  return COMMON.get(name)!
}

/** A column of a part, seen from the whole; it keeps its name. */
function below(part: string, column: Column): Column {
  return {...column, path: [part, ...column.path]}
}
