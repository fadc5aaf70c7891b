import {z} from 'zod'
import {fitSchema} from './fits.js'
import {machineVerdict} from './machine-verdict.js'

/** What the records of a run say together, where its experiment looks for that. */
export const findings = z.object({
  fits: z
    .array(fitSchema)
    .optional()
    .describe('Of a benchmark: growth with length and crossovers, one per variant.'),
  machine: machineVerdict
    .optional()
    .describe('Of a benchmark: what the machine was like meanwhile; absent: not recorded.'),
})
export type Findings = z.infer<typeof findings>
