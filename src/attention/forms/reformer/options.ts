/** Options of Reformer, and the sizes that follow from them. */
import {z} from 'zod'
import {tokenCount} from '../options.js'

export const reformerOptions = z.object({
  rounds: z.int().positive().max(64).default(4).describe('hash rounds, each with other rotations'),
  chunkSize: tokenCount
    .nullable()
    .default(null)
    .describe('tokens per chunk; null: numFeatures. A query sees two chunks a round'),
  buckets: z
    .int()
    .positive()
    .max(2 ** 16)
    .multipleOf(2)
    .nullable()
    .default(null)
    .describe('buckets per round, an even number; null: one per chunk'),
  lookBack: z
    .enum(['previous', 'wrap'])
    .default('previous')
    .describe('wrap: the first chunk of a round sees the last one of the round before'),
  self: z
    .enum(['last', 'too'])
    .default('last')
    .describe('last: a token sees itself only where it sees nothing else; too: like any other'),
  combine: z
    .enum(['log-sum', 'uniform'])
    .default('log-sum')
    .describe('rounds are weighted by their sums of weights, or all alike'),
  duplicates: z
    .enum(['once', 'every-round'])
    .default('once')
    .describe('once: a key that several rounds show counts once; every-round: in each'),
})
export type ReformerOptions = z.output<typeof reformerOptions>

/** Tokens per chunk. */
export function chunkSizeOf(
  {numFeatures}: {numFeatures: number},
  {chunkSize}: ReformerOptions,
): number {
  return chunkSize ?? numFeatures
}

/** Rotations per round, half the number of buckets, for that many tokens. */
export function rotationsOf(tokens: number, chunkSize: number, {buckets}: ReformerOptions): number {
  return buckets === null ? Math.max(1, Math.ceil(tokens / chunkSize / 2)) : buckets / 2
}
