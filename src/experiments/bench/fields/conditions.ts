import {z} from 'zod'
import {nullableNumber} from '../../../results/record.js'

/** What else the machine did from before the first timed run of a cell to behind the last one. */
export const conditions = z.object({
  load_before: nullableNumber.describe(
    'Load average of the last minute before the cell, including other cells of the run; `null`: see `unknown`.',
  ),
  load_after: nullableNumber.describe('Load average of the last minute after the cell.'),
  steal_share: nullableNumber.describe(
    'Share of the wanted processor time that the host gave to other machines; `null`: see `unknown`.',
  ),
  lowest_mhz: nullableNumber.meta({
    unit: 'MHz',
    description:
      'Lowest clock of the fastest processor, measured between turns; `null`: see `unknown`.',
  }),
  highest_mhz: nullableNumber.meta({unit: 'MHz', description: 'Highest clock of it.'}),
  unknown: z.string().nullable().describe('Why some of it is unknown; `null`: nothing is.'),
})
export type Conditions = z.infer<typeof conditions>
