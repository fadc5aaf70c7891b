import {z} from 'zod'
import {GENERATOR_NAMES} from './generators/index.js'
import {LAYOUTS} from './layout.js'
import type {InputStatistics} from './statistics.js'

const KIND = 'Where queries, keys and values come from: `file` or `generator`.'

/** Where Q/K/V come from; part of plans and cells. */
export const inputSpec = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('file').describe(KIND),
    paths: z
      .array(z.string())
      .min(1)
      .describe(
        'One file with all arrays, several of them, or three `.npy` in the order query, key, value.',
      ),
    names: z
      .object({
        query: z.string().describe('Name of the array of queries, [B, H, L, D].'),
        key: z.string().describe('Name of the array of keys, [B, H, S, D].'),
        value: z.string().describe('Name of the array of values, [B, H, S, Dv].'),
        key_mask: z
          .string()
          .optional()
          .describe(
            'Name of the array of keys that take part, [B, S]; absent: `key_mask`, if any.',
          ),
      })
      .describe('Names of arrays in the file.'),
    layout: z
      .enum(LAYOUTS)
      .optional()
      .describe(
        '`blhd`: the axes of arrays in the file are [B, L, H, D]; absent: as the file says, else [B, H, L, D].',
      ),
    digest: z
      .string()
      .optional()
      .describe("SHA-256 of the files' bytes: a run cannot be resumed with other data."),
  }),
  z.object({
    kind: z.literal('generator').describe(KIND),
    name: z.enum(GENERATOR_NAMES).describe('Generator of queries, keys and values.'),
    batch: z.int().positive().describe('B, number of sequences.'),
    heads: z.int().positive().describe('H, number of heads.'),
    head_dim: z.int().positive().describe('D, entries of a query or key.'),
    value_dim: z.int().positive().describe('Dv, entries of a value.'),
    key_len: z
      .int()
      .positive()
      .nullable()
      .describe('S, number of keys and values; `null`: the number of queries.'),
  }),
])
export type InputSpec = z.infer<typeof inputSpec>

/** Files of one layer, where layers lie in several files. */
export const layerFiles = z.object({
  layer: z.int().nonnegative().describe('Number of the layer.'),
  paths: z.array(z.string()).min(1).describe('Its files; several: sequences of one batch.'),
  layout: z.enum(LAYOUTS).optional().describe('As in `input`.'),
  digest: z.string().optional().describe("SHA-256 of these files' bytes."),
})
export type LayerFiles = z.infer<typeof layerFiles>

/** Norms and entropy of one head, or averaged over heads, as records have them. */
export const inputStatistics: z.ZodType<InputStatistics> = z.object({
  query_norm2: z.number().describe('E|x|^2 of canonical queries x = q D^(-1/4).'),
  key_norm2: z.number().describe('E|y|^2 of canonical keys y = k D^(-1/4).'),
  sum_norm2: z.number().describe('E|x+y|^2 over all pairs in view.'),
  difference_norm2: z.number().describe('E|x-y|^2 over all pairs in view.'),
  entropy_nats: z
    .number()
    .meta({unit: 'nats', description: 'Mean entropy of the rows of exact attention.'}),
  max_entropy_nats: z.number().meta({
    unit: 'nats',
    description: 'Largest entropy that these rows can have: mean of ln(keys in view).',
  }),
})
