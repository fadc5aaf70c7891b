/** Measured rows as text. */
import {table} from '../../src/report/document.js'
import {significant} from '../../src/report/numbers.js'
import {renderTerminal} from '../../src/report/terminal.js'

/** Values by the titles of their columns. */
export type Row = Readonly<Record<string, string | number | null>>

/** A table with the columns of all rows. */
export function rowsText(rows: readonly Row[]): string {
  const titles = [...new Set(rows.flatMap(row => Object.keys(row)))]
  const columns = titles.map((title, at) => ({
    ...{title, align: at === 0 ? ('left' as const) : ('right' as const)},
    cell: (row: Row) => cellText(row[title] ?? null),
  }))
  return renderTerminal([table(columns, rows)], {width: 160, colour: false})
}

function cellText(value: string | number | null): string {
  if (typeof value === 'string') return value
  return value === null ? '' : Number.isInteger(value) ? String(value) : significant(value)
}
