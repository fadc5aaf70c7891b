/** A part of the cells of a plan, so that several machines share a run. */
import {z} from 'zod'

export interface Shard {
  /** From 1 to `count`. */
  index: number
  /** Parts that the plan is dealt to. */
  count: number
}

/** Most parts of a plan. */
export const MOST_SHARDS = 100_000

/** What a manifest says of a run that is a part of its plan. */
export const shardOfRun = z.object({
  index: z.int().positive().describe('Number of the part, from 1 to `count`.'),
  count: z.int().positive().describe('Number of parts of the plan.'),
  cells: z.int().nonnegative().describe('Cells of this part.'),
})
export type ShardOfRun = z.infer<typeof shardOfRun>

/** As the flag takes it: `3/8`. */
export function shardText({index, count}: Shard): string {
  return `${index}/${count}`
}
