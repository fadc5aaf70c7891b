import {z} from 'zod'
import {fitSchema} from './fits.js'

/** What the records of a run say together, where its experiment looks for that. */
export const findings = z.object({
  fits: z
    .array(fitSchema)
    .optional()
    .describe('Of a benchmark: growth with length and crossovers, one per variant.'),
})
export type Findings = z.infer<typeof findings>
