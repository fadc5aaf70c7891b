/** Replicates that go on until an interval is narrow enough: what plans say of it, and how many there are next. */
import {z} from 'zod'

/** When replicates end. */
export const untilCi = z.object({
  relative_half_width: z
    .number()
    .positive()
    .describe('Half the width of the 95 % interval over the number that it is of, at most.')
    .meta({flag: 'until-ci'}),
  max_replicates: z
    .number()
    .int()
    .positive()
    .describe('Replicates at which it ends all the same.')
    .meta({flag: 'max-replicates'}),
})
export type UntilCi = z.infer<typeof untilCi>

/** What a plan and a cell say of their replicates. */
export interface Counted {
  /** With a rule, the fewest. */
  replicates: number
  until_ci?: UntilCi | undefined
}

/** Replicates that there are at most. */
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
  /** Each look at the interval is after so many times as many replicates as the one before. */
  factor: number
  /** Asked where more are allowed. */
  isKnown: () => boolean
}

/**
 * How many replicates there are to be next, all before them counted. It depends on the cell and on its replicates alone, so that
 * any process comes to the same.
 *
 * @param done - those so far
 * @returns `undefined` where there are enough
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
