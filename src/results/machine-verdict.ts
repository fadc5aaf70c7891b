/** What a machine was like while it timed, as reports print it and `--json` and summaries have it. */
import {z} from 'zod'
import {nullableNumber} from './record.js'

export const machineVerdict = z.object({
  verdict: z.enum(['quiet', 'disturbed', 'unknown']).describe('`unknown`: nothing here tells.'),
  signs: z
    .array(z.enum(['turns', 'processes']))
    .describe(
      'Of a disturbance: all cells were slower in some turns, the slowest tenth by more than 25 % than the fastest; processes of most cells differ by more than 25 %.',
    ),
  statement: z.string().describe('The verdict as the report prints it.'),
  waiting_share: nullableNumber.describe(
    'Most of the timed time that a process of a cell waited for a processor, as a share; `null`: unknown.',
  ),
  steal_share: nullableNumber.describe('Most that was stolen from a cell; `null`: unknown.'),
  load_before: nullableNumber.describe('Lowest load average before a cell; `null`: unknown.'),
  load_after: nullableNumber.describe('Highest load average behind a cell; `null`: unknown.'),
  lowest_mhz: nullableNumber.meta({unit: 'MHz', description: 'Lowest clock; `null`: unknown.'}),
  highest_mhz: nullableNumber.meta({unit: 'MHz', description: 'Highest clock; `null`: unknown.'}),
  turn_spread: nullableNumber.describe(
    'By what share of it the slowest tenth of the turns was slower than the fastest tenth, by the median over the cells of the time of a turn over that of the usual one; `null`: fewer than six turns.',
  ),
  process_spread: nullableNumber.describe(
    'By what share of it the slowest process of a cell was slower than the fastest, median over the cells; `null`: one process.',
  ),
  unknown: z.string().nullable().describe('Why some of it is not known; `null`: all is.'),
})
export type MachineVerdict = z.infer<typeof machineVerdict>
