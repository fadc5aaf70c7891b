import {z} from 'zod'
import {GENERATOR_NAMES} from './generators/index.js'
import type {InputStatistics} from './statistics.js'

/** Where Q/K/V come from; part of plans and cells. */
export const inputSpec = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('file'),
    /** One file holding all arrays, or three `.npy` files in the order query, key, value. */
    paths: z.array(z.string()).min(1).max(3),
    names: z.object({query: z.string(), key: z.string(), value: z.string()}),
    /** SHA-256 of the files' bytes: a run is not resumed on other data. Absent: not pinned. */
    digest: z.string().optional(),
  }),
  z.object({
    kind: z.literal('generator'),
    name: z.enum(GENERATOR_NAMES),
    batch: z.number().int().positive(),
    heads: z.number().int().positive(),
    head_dim: z.number().int().positive(),
    value_dim: z.number().int().positive(),
    /** Length of keys and values; `null`: equal to the query length. */
    key_len: z.number().int().positive().nullable(),
  }),
])
export type InputSpec = z.infer<typeof inputSpec>

/** Norms and entropy of one head, or averaged over heads, as records have them. */
export const inputStatistics: z.ZodType<InputStatistics> = z.object({
  query_norm2: z.number(),
  key_norm2: z.number(),
  sum_norm2: z.number(),
  difference_norm2: z.number(),
  entropy_nats: z.number(),
  max_entropy_nats: z.number(),
})
