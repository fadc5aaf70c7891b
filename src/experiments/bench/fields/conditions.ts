import {z} from 'zod'
import {nullableNumber} from '../../../results/record.js'

/** What else the machine did from before the first timed run of a cell to behind the last one. */
export const conditions = z.object({
  load_before: nullableNumber.describe(
    'Load average of the last minute before it, with what other cells of the run computed; `null`: see `unknown`.',
  ),
  load_after: nullableNumber.describe('The same behind it.'),
  steal_share: nullableNumber.describe(
    'Share of the time in which processors were wanted that the host gave to other machines; `null`: see `unknown`.',
  ),
  lowest_mhz: nullableNumber.meta({
    unit: 'MHz',
    description:
      'Lowest clock of the fastest processor, looked at between turns; `null`: see `unknown`.',
  }),
  highest_mhz: nullableNumber.meta({unit: 'MHz', description: 'Highest clock of it.'}),
  unknown: z.string().nullable().describe('Why some of it is not known; `null`: all is.'),
})
export type Conditions = z.infer<typeof conditions>
