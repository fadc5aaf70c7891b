import {z} from 'zod'
import {benchPlan} from '../../experiments/bench/schema.js'
import {errorSweepPlan} from '../../experiments/error-sweep/schema.js'
import {variancePlan} from '../../experiments/variance/schema.js'
import {nullableNumber} from './common.js'

export const MANIFEST_SCHEMA = 'rfa.run/1'

/** Any plan, told apart by `experiment`. */
export const anyPlan = z.discriminatedUnion('experiment', [errorSweepPlan, benchPlan, variancePlan])
export type AnyPlan = z.infer<typeof anyPlan>

/** Where a run was made: what a reader needs to judge its numbers. */
export const machine = z.object({
  cpu: z.string(),
  logical_cores: z.number().int(),
  available_parallelism: z.number().int(),
  memory_bytes: z.number(),
  platform: z.string(),
  arch: z.string(),
  node: z.string(),
  rfa: z.string(),
  tfjs: z.string(),
  /** Best vector instruction set that the native addon uses here; `null` without the addon. */
  instruction_set: z.string().nullable().optional(),
  /** Measured float32 multiply-add peak of one thread; `null` without the addon. */
  fma_peak_gflops: nullableNumber.optional(),
  /** Short commit hash of the tool, `+` appended when its tree has changes; `null` outside a checkout. */
  commit: z.string().nullable(),
})
export type Machine = z.infer<typeof machine>

/** `manifest.json` of a run. */
export const runManifest = z.object({
  schema: z.literal(MANIFEST_SCHEMA),
  created_at: z.iso.datetime(),
  command: z.string(),
  plan: anyPlan,
  machine,
})
export type RunManifest = z.infer<typeof runManifest>
