/** A history of runs as `--json` prints it. */
import {z} from 'zod'
import {nullableNumber} from '../results/record.js'
import {comparedRow, comparisonFacts} from './schema.js'

const {quantity, at, unit} = comparedRow.shape

/** A cell in one run, and how it differs from the run before that has it. */
export const historyRow = z.object({
  line: z.int().describe('Number of the line: rows of one cell and quantity share it.'),
  experiment: z.string().describe('Name of the experiment.'),
  quantity,
  at: at.describe('Names and values that distinguish the line from others, as in the tables.'),
  directory: z.string().describe('Folder of the run.'),
  created_at: z.string().describe('When the run began, UTC.'),
  commit: z.string().nullable().describe('Commit of rfa that made it; `null`: unknown.'),
  rfa: z.string().describe('Version of rfa that made it.'),
  key: z.string().describe('Key of the cell, as in its records.'),
  unit,
  value: z.number().describe('The value, or its median.'),
  low: nullableNumber.describe('Lower end of its 95 % interval; `null`: there is none.'),
  high: nullableNumber.describe('Upper end of it.'),
  newest: z
    .boolean()
    .describe('Its run is the newest of its experiment, of times on its machine: limits judge it.'),
  before: z
    .string()
    .nullable()
    .describe('Folder of the run before that has the cell; `null`: there is none.'),
  change: comparedRow
    .nullable()
    .describe('What `rfa compare` says of it against the run before; `null`: not compared.'),
})
export type HistoryRow = z.infer<typeof historyRow>

const historyRun = z.object({
  directory: z.string().describe('Folder of the run.'),
  experiment: z.string().describe('Name of its experiment.'),
  created_at: historyRow.shape.created_at,
  commit: historyRow.shape.commit,
  rfa: historyRow.shape.rfa,
  machine: z.string().describe('Processor, number of processors and system.'),
  measured: z.int().describe('Cells that it measured.'),
})

export const historyFacts = z.object({
  runs: z.array(historyRun).describe('The runs, the newest first.'),
  warnings: z.array(z.string()).describe('What else differs between the runs than the code.'),
  rows: z.array(historyRow).describe('Line by line, the newest run first.'),
  left: comparisonFacts.shape.left.describe(
    'Lines that the newest run has not measured (`a`), and those that it has and that were not compared (`both`).',
  ),
  left_out: z
    .array(
      z.object({
        directory: z.string().describe('The folder.'),
        reason: z.string().describe('Why it has no part in the history.'),
        open: z
          .boolean()
          .describe('It could be a run with a regression; fails with --strict and --fail-on.'),
      }),
    )
    .describe('Folders that were left out.'),
  limits: comparisonFacts.shape.limits,
  strict: comparisonFacts.shape.strict,
  passed: comparisonFacts.shape.passed,
})
export type HistoryFacts = z.infer<typeof historyFacts>
