/** Tables of records in Apache Parquet: the columns of their CSV, with types. */
import type {BasicType, ColumnSource} from 'hyparquet-writer'
import {parquetWriteBuffer} from 'hyparquet-writer'
import {writeAtomic} from '../../files.js'
import type {CellRecord} from '../record.js'
import {type Column, cellValue} from './columns.js'
import {filledTable, type Row, type TableFormat, tablesWithRows} from './tables.js'

/** Types of columns that are not text. */
const TYPES: Readonly<Record<string, BasicType>> = {
  number: 'DOUBLE',
  integer: 'INT64',
  'true | false': 'BOOLEAN',
}

/**
 * Writes the tables of an experiment: the first as `path`, others that have rows next to it with a suffix. Types of columns
 * follow the schemas, never the data: a column has the same one in every run. What is missing is null.
 *
 * @param path - ends in `.parquet`
 * @throws {BAD_OPTION} for records of several experiments
 * @throws {NOT_WRITABLE} when a file cannot be written
 */
export async function writeParquet(
  path: string,
  records: readonly CellRecord[],
  tables: readonly TableFormat[],
): Promise<void> {
  for (const table of tablesWithRows(records, tables)) {
    const {columns, rows} = filledTable(records, table)
    const columnData = columns.map(column => columnOf(column, rows))
    const name = path.replace(/\.parquet$/, `${table.suffix}.parquet`)
    await writeAtomic(name, new Uint8Array(parquetWriteBuffer({columnData})))
  }
}

function columnOf(column: Column, rows: readonly Row[]): ColumnSource {
  const type = column.kind === 'plain' ? (TYPES[column.type] ?? 'STRING') : 'STRING'
  const data = rows.map(row => typedValue(cellValue(column, row), type))
  return {name: column.name, type, data, nullable: true}
}

function typedValue(value: string | number, type: BasicType) {
  if (value === '') return null
  switch (type) {
    case 'DOUBLE':
      return Number(value)
    case 'INT64':
      return BigInt(value)
    case 'BOOLEAN':
      return value === 'true'
    default:
      return String(value)
  }
}
