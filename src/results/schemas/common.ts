import {z} from 'zod'
import {ORTH_SIGNS, PRESET_NAMES} from '../../attention/names.js'

/** A number as files hold it: JSON has no NaN, so what could not be computed is `null`. */
export const nullableNumber = z.number().nullable()

/** Where Q/K/V come from; part of every plan. */
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
    name: z.string(),
    batch: z.number().int().positive(),
    heads: z.number().int().positive(),
    head_dim: z.number().int().positive(),
    value_dim: z.number().int().positive(),
    /** Length of keys and values; `null`: equal to the query length. */
    key_len: z.number().int().positive().nullable(),
  }),
])
export type InputSpec = z.infer<typeof inputSpec>

/** One estimator with everything that changes its result, save the grid axes. */
export const methodSpec = z.object({
  method: z.string(),
  preset: z.enum(PRESET_NAMES),
  /** Options of this estimator that differ from its preset. */
  options: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
})
export type MethodSpec = z.infer<typeof methodSpec>

/** Signs of orthogonal projections; records without it were made with uniform ones. */
export const orthSign = z.enum(ORTH_SIGNS).default('haar')

/** What computed a result; records made before the last two were kept have `null` there. */
export const computedBy = {
  backend: z.string(),
  /** Vector instruction set; `null` where the backend does not know it. */
  instruction_set: z.string().nullable().default(null),
  threads: z.number().int().nullable().default(null),
}
export type ComputedBy = z.infer<z.ZodObject<typeof computedBy>>

/** Whether each operation ran as a fused kernel or as its composite definition. */
export const operationForms = z.record(z.string(), z.enum(['fused', 'composite']))

/** The three ways a cell can end; a record is exactly one of them. */
export function recordSchema<Cell extends z.ZodType, Result extends z.ZodType>(
  schema: string,
  cell: Cell,
  result: Result,
) {
  const common = {
    schema: z.literal(schema),
    /** Hash of the cell and of the code that ran it; resuming skips keys already present. */
    key: z.string(),
    cell,
  }
  return z.discriminatedUnion('status', [
    z.object({...common, status: z.literal('completed'), result}),
    z.object({...common, status: z.literal('skipped'), reason: z.string()}),
    z.object({
      ...common,
      status: z.literal('failed'),
      error: z.object({code: z.string(), message: z.string()}),
    }),
  ])
}
