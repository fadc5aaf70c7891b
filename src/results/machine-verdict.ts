/** What a machine was like while it timed, as reports print it and `--json` and summaries have it. */
import {z} from 'zod'
import {nullableNumber} from './record.js'

export const machineVerdict = z.object({
  verdict: z.enum(['quiet', 'disturbed', 'unknown']).describe('`unknown`: nothing here tells.'),
  signs: z
    .array(z.enum(['waiting', 'stolen', 'clock', 'turns', 'load']))
    .describe(
      'Of a disturbance: processes waited for a processor for more than 5 % of the timed time; the host gave more than 2 % to others; the clock changed by more than 10 %; all cells were slower in some turns, the slowest tenth by more than 25 % than the fastest; where waiting is unknown, others computed beforehand.',
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
  unknown: z.string().nullable().describe('Why some of it is not known; `null`: all is.'),
})
export type MachineVerdict = z.infer<typeof machineVerdict>
