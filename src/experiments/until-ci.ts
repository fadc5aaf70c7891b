/** Replicates until an interval is narrow enough: the rule of a plan, and the next number of replicates. */
import {z} from 'zod'

export const untilCi = z.object({
  relative_half_width: z
    .number()
    .positive()
    .describe('Largest half-width of the 95 % interval, relative to its number.')
    .meta({flag: 'until-ci'}),
  max_replicates: z
    .int()
    .positive()
    .describe('Largest number of replicates.')
    .meta({flag: 'max-replicates'}),
})
export type UntilCi = z.infer<typeof untilCi>

/** What a plan and a cell say of their replicates. */
export interface Counted {
  /** With a rule, the fewest. */
  replicates: number
  until_ci?: UntilCi | undefined
}

export function mostReplicates({replicates, until_ci: until}: Counted): number {
  return until?.max_replicates ?? replicates
}

/** Whether half the width of an interval is at most the wanted share of a number. */
export function isNarrow(
  value: number,
  {low, high}: {low: number; high: number},
  {relative_half_width: wanted}: UntilCi,
): boolean {
  return (high - low) / 2 <= wanted * value
}

/** How replicates grow, and when they are enough. */
interface Growth {
  /** Factor on the number of replicates from one look at the interval to the next. */
  factor: number
  /** Asked where more are allowed. */
  isKnown: () => boolean
}

/**
 * The next number of replicates, earlier ones included. It depends only on the cell and its replicates, so every
 * process gets the same.
 *
 * @param done - those so far
 * @returns `undefined` when there are enough
 */
export function nextReplicates(
  {replicates, until_ci: until}: Counted,
  done: number,
  {factor, isKnown}: Growth,
): number | undefined {
  if (done === 0) return until ? Math.min(replicates, until.max_replicates) : replicates
  if (!until || done >= until.max_replicates || isKnown()) return undefined
  return Math.min(Math.ceil(done * factor), until.max_replicates)
}
