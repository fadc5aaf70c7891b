/** The data dictionary: columns of the tables that runs save, as tables. */
import {z} from 'zod'
import type {TableFormat} from '../results/tables.js'
import {type Block, type ColumnSpec, heading, table, text} from './document.js'

/** The columns of one table, as `--json` prints them. */
export const tableFactsSchema = z.object({
  experiment: z.string().describe('Name of the experiment.'),
  file: z.string().describe('Name of the table in the folder of a run.'),
  columns: z
    .array(
      z.object({
        name: z.string().describe('Name of the column.'),
        type: z.string().describe('What its values are.'),
        unit: z.string().nullable().describe('Of its numbers; `null`: they have none.'),
        meaning: z.string().describe('What it says.'),
      }),
    )
    .describe('Columns in order; a run has those of them in which some row has a value.'),
  flag: z.string().optional().describe('Flag that asks for it; absent: a run has it anyway.'),
})
export type TableFacts = z.infer<typeof tableFactsSchema>

/** What tables are told of an experiment. */
interface Tabled {
  name: string
  tables: readonly TableFormat[]
}

/** The columns of all tables of an experiment. */
export function tableFacts({name, tables}: Tabled): TableFacts[] {
  return tables.map(({suffix, flag, columns}) => ({
    ...(flag && {flag: `--${flag}`}),
    experiment: name,
    file: `records${suffix}.csv`,
    columns: columns().map(({name, type, unit, meaning}) => ({
      name,
      type,
      unit: unit ?? null,
      meaning,
    })),
  }))
}

type ColumnFacts = TableFacts['columns'][number]

const COLUMNS: readonly ColumnSpec<ColumnFacts>[] = [
  {title: 'column', align: 'left', cell: ({name}) => name},
  {
    title: 'unit or type',
    align: 'left',
    flexible: true,
    cell: ({type, unit}) => (unit === null ? type : `${unit}, ${type}`),
  },
  {title: 'meaning', align: 'left', flexible: true, cell: ({meaning}) => meaning},
]

/** One table per file. */
export function fieldsReport(tables: readonly TableFacts[]): Block[] {
  return [
    ...tables.flatMap(({experiment, file, flag, columns}) => [
      heading(1, `${experiment}: ${file}${flag ? `, with ${flag}` : ''}`),
      table(COLUMNS, columns),
    ]),
    text(
      'A column that is empty in every row of a run is left out of its file. Empty fields are null: not known, or without meaning there. records.jsonl has the same by nested names; schemas/ has the JSON Schemas.',
    ),
  ]
}
