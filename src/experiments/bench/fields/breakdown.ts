import {z} from 'zod'
import {nullableNumber} from '../../../results/record.js'

const ns = (description: string) => ({unit: 'ns', description})

/** Parts of a forward in their order. */
export const PARTS = ['draw', 'repeat', 'features', 'contraction', 'guard'] as const

/** What one part of a forward takes by itself. */
const breakdownPart = z.object({
  part: z
    .enum(PARTS)
    .describe(
      '`draw`: drawing the projection; `repeat`: keys and values of fewer heads than queries repeated; `features`: the feature map of queries and keys; `contraction`: keys with values, queries with that; `guard`: the denominator made safe, and the division. In the log domain the division is part of the contraction, and bidirectional features are norms of keys alone.',
    ),
  in_whole: z
    .boolean()
    .describe('Whether every timed forward has this part; projections may be drawn once before.'),
  median_ns: z
    .number()
    .meta(ns('Geometric mean over the processes of the medians of its timed runs.')),
  median_low_ns: nullableNumber.meta(
    ns('Lower end of its 95 % interval, by the processes; `null`: one process.'),
  ),
  median_high_ns: nullableNumber.meta(ns('Upper end of that interval; `null`: as above.')),
  share: nullableNumber.describe(
    'Its time as a share of the whole forward, turn by turn: median of each process, geometric mean of all.',
  ),
  share_low: nullableNumber.describe(
    'Lower end of a 95 % interval of the share; `null`: one process.',
  ),
  share_high: nullableNumber.describe('Upper end of that interval.'),
  samples_ns: z.array(z.number()).meta(ns('Every timed run, in order.')),
  turn_runs: z.array(z.int()).describe('Number of runs in each turn.'),
})
export type BreakdownPart = z.infer<typeof breakdownPart>

/** A part as a line of a table: single times stand in the journal. */
export const partRow = breakdownPart.omit({samples_ns: true, turn_runs: true})

export const breakdown = z.object({
  parts: z
    .array(breakdownPart)
    .describe(
      'Parts, timed separately with the same kernels as the whole, in the same turns; a fused kernel does several in one.',
    ),
  sum_over_whole: nullableNumber.describe(
    'Sum of the shares of the parts that every forward has; not 1 where kernels are fused. `null`: no parts.',
  ),
  sum_over_whole_low: nullableNumber.describe('Lower end of a 95 % interval of it.'),
  sum_over_whole_high: nullableNumber.describe('Upper end of that interval.'),
  none: z.string().nullable().describe('Why there are no parts; `null`: there are.'),
})
export type Breakdown = z.infer<typeof breakdown>
