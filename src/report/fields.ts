/** The data dictionary: columns of the tables that runs save, as tables. */
import {z} from 'zod'
import type {Column} from '../results/tables/columns.js'
import type {TableFormat} from '../results/tables/tables.js'
import {type Block, type ColumnSpec, heading, table, text} from './document.js'

/** The columns of one table, as `--json` prints them. */
export const tableFactsSchema = z.object({
  experiment: z
    .string()
    .describe('Name of the experiment; `claims`, `compare`, `history`: of that command.'),
  file: z
    .string()
    .describe(
      'Name of the table in its folder; ID.csv, FILE.csv: named after the figure, by --output.',
    ),
  columns: z
    .array(
      z.object({
        name: z.string().describe('Name of the column.'),
        type: z.string().describe('What its values are.'),
        unit: z.string().nullable().describe('Of its numbers; `null`: they have none.'),
        meaning: z.string().describe('What it says.'),
      }),
    )
    .describe(
      'Columns in order; records.csv and its neighbours have those in which some row has a value.',
    ),
  flag: z.string().optional().describe('Flag that asks for it; absent: it is written anyway.'),
})
export type TableFacts = z.infer<typeof tableFactsSchema>

/** What tables know of an experiment. */
interface Tabled {
  name: string
  tables: readonly TableFormat[]
}

export function tableFacts({name, tables}: Tabled): TableFacts[] {
  return tables.map(({suffix, flag, columns}) =>
    factsOfTable(name, {file: `records${suffix}.csv`, flag, columns: columns()}),
  )
}

export interface TableColumns {
  file: string
  /** That asks for it, without dashes. */
  flag?: string | undefined
  columns: readonly Column[]
}

/** The columns of one table. @param name - of the experiment, or of the command */
export function factsOfTable(name: string, {file, flag, columns}: TableColumns): TableFacts {
  return {
    ...(flag && {flag: `--${flag}`}),
    experiment: name,
    file,
    columns: columns.map(({name, type, unit = null, meaning}) => ({name, type, unit, meaning})),
  }
}

type ColumnFacts = TableFacts['columns'][number]

const COLUMNS: readonly ColumnSpec<ColumnFacts>[] = [
  {title: 'column', align: 'left', cell: ({name}) => name},
  {
    title: 'unit or type',
    flexible: true,
    cell: ({type, unit}) => (unit === null ? type : `${unit}, ${type}`),
  },
  {title: 'meaning', flexible: true, cell: ({meaning}) => meaning},
]

/** One table per file. */
export function fieldsReport(tables: readonly TableFacts[]): Block[] {
  return [
    ...tables.flatMap(({experiment, file, flag, columns}) => [
      heading(1, `${experiment}: ${file}${flag ? `, with ${flag}` : ''}`),
      table(COLUMNS, columns),
    ]),
    text(
      'A column that is empty in every row of a run is left out of records.csv and its neighbours. Empty fields are null: not known, or without meaning there. records.jsonl, claims.json and figure.json have the same by nested names; schemas/ has the JSON Schemas.',
    ),
  ]
}
