import {z} from 'zod'
import {nullableNumber, type Plan, type StoredExperiment} from './record.js'

export const MANIFEST_SCHEMA = 'rfa.run/2'
/** Read, but written no more: the command as one text. */
export const EARLIER_MANIFEST_SCHEMA = 'rfa.run/1'

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
  /** Measured float32 multiply-add peak of one thread, of runs that time; `null` without the addon. */
  fma_peak_gflops: nullableNumber.optional(),
  /** Short commit hash of the tool, `+` appended when its tree has changes; `null` outside a checkout. */
  commit: z.string().nullable(),
})
export type Machine = z.infer<typeof machine>

/** `manifest.json` of a run. */
export interface RunManifest {
  schema: typeof MANIFEST_SCHEMA
  created_at: string
  /** The command, word by word: program, name and arguments as they were typed. */
  argv: string[]
  plan: Plan
  machine: Machine
}

/** The schema of a manifest whose plan is one of these experiments'. */
export function runManifest(
  experiments: readonly Pick<StoredExperiment, 'plan'>[],
): z.ZodType<RunManifest> {
  return z.object({
    schema: z.literal(MANIFEST_SCHEMA),
    created_at: z.iso.datetime(),
    argv: z.array(z.string()),
    plan: anyPlan(experiments),
    machine,
  })
}

/** Plans told apart by their experiments, so that a fault is told of the one that is meant. */
export function anyPlan(experiments: readonly Pick<StoredExperiment, 'plan'>[]): z.ZodType<Plan> {
  const plans = experiments.map(({plan}) => plan as unknown as z.ZodObject)
  return z.discriminatedUnion('experiment', plans as [z.ZodObject]) as unknown as z.ZodType<Plan>
}
