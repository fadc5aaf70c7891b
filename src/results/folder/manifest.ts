import {z} from 'zod'
import {LINE_CHECKSUM} from '../journal/journal-line.js'
import {nullableNumber, type Plan, type StoredExperiment} from '../record.js'
import {type ShardOfRun, shardOfRun} from './shard.js'

export const MANIFEST_SCHEMA = 'rfa.run/2'
/** Read, but written no more: the command as one text. */
export const EARLIER_MANIFEST_SCHEMA = 'rfa.run/1'

/** Where a run was made: what a reader needs to judge its numbers. */
export const machine = z.object({
  cpu: z.string().describe('Model of the processor.'),
  logical_cores: z.int().describe('Processors of the machine.'),
  available_parallelism: z.int().describe('Processors that this process may use.'),
  memory_bytes: z.number().meta({unit: 'bytes', description: 'Memory of the machine.'}),
  platform: z.string().describe('Operating system.'),
  arch: z.string().describe('Architecture of the processor.'),
  node: z.string().describe('Version of Node.'),
  rfa: z.string().describe('Version of rfa.'),
  tfjs: z.string().describe('Version of TensorFlow.js.'),
  instruction_set: z
    .string()
    .nullable()
    .optional()
    .describe('Best vector instruction set that the native addon uses here; `null`: no addon.'),
  fma_peak_gflops: nullableNumber.optional().meta({
    unit: 'GFLOP/s',
    description:
      'Measured float32 multiply-add peak of one thread, in benchmarks; `null`: no addon.',
  }),
  commit: z
    .string()
    .nullable()
    .describe(
      'Short commit hash of rfa, with `+` for changes in its tree; `null`: not a checkout.',
    ),
})
export type Machine = z.infer<typeof machine>

const session = z.object({
  started_at: z.iso.datetime().describe('When the session began, UTC.'),
  argv: z.array(z.string()).describe('Command of the session, word by word.'),
  commit: machine.shape.commit,
  instruction_set: z
    .string()
    .nullable()
    .describe('Best vector instruction set of the native addon in the session; `null`: no addon.'),
  extended: z.boolean().describe('Whether the session added cells to the plan.'),
})

/** Shards of a merged run that were made on machines that are alike. */
const mergedPart = z.object({
  shards: z.array(z.int()).describe('Numbers of the shards.'),
  machine: machine.describe('Machine that made them.'),
})

export interface RunManifest {
  schema: typeof MANIFEST_SCHEMA
  created_at: string
  /** The command that began it, word by word: program, name and arguments as they were typed. */
  argv: string[]
  plan: Plan
  /** Which part of the plan it is. Absent: all of it. */
  shard?: ShardOfRun | undefined
  /** Arrays of the input that nothing reads. Absent: there is none, or an earlier version began the run. */
  unused_arrays?: string[] | undefined
  /** Where it began; of a merged run, its first shard. */
  machine: Machine
  /** Where its shards were made, where it was merged of them. */
  merged?: z.infer<typeof mergedPart>[] | undefined
  /** Checksum of each line of its journal. Absent: a version without checksums began it. */
  line_checksum?: typeof LINE_CHECKSUM | undefined
  /** Those that went on with it in another way than before. */
  sessions?: z.infer<typeof session>[] | undefined
}

/** The command of the plan as it is now: that of the last session that extended it, or the first. */
export function latestCommand({argv, sessions = []}: RunManifest): readonly string[] {
  return sessions.findLast(({extended}) => extended)?.argv ?? argv
}

/** The schema of a manifest with a plan of one of these experiments. */
export function runManifest(
  experiments: readonly Pick<StoredExperiment, 'plan'>[],
): z.ZodType<RunManifest> {
  return z.object({
    schema: z.literal(MANIFEST_SCHEMA).describe('Name and version of this format.'),
    created_at: z.iso.datetime().describe('When the run began, UTC.'),
    argv: z
      .array(z.string())
      .describe(
        'The command that began the run, word by word: program, name and arguments as typed.',
      ),
    plan: anyPlan(experiments).describe('Everything that determines the run.'),
    shard: shardOfRun.optional().describe('Part of the plan in this run; absent: all of it.'),
    unused_arrays: z
      .array(z.string())
      .optional()
      .describe('Arrays in the files of the input that nothing reads; absent: none is known.'),
    machine: machine.describe('Machine of the run; of a merged run, of its first shard.'),
    merged: z
      .array(mergedPart)
      .optional()
      .describe('Machines of the shards of a merged run; absent: it was not merged.'),
    line_checksum: z
      .literal(LINE_CHECKSUM)
      .optional()
      .describe(
        'Checksum that each line of records.jsonl ends with; absent: an earlier version began the run, and its lines have none.',
      ),
    sessions: z
      .array(session)
      .optional()
      .describe(
        'Sessions that continued with a larger plan, at another commit or on another instruction set.',
      ),
  })
}

/** Plans, distinguished by their experiments, so that errors are about the right one. */
export function anyPlan(experiments: readonly Pick<StoredExperiment, 'plan'>[]): z.ZodType<Plan> {
  const [first, ...others] = experiments.map(({plan}) => plan)
  return z.discriminatedUnion('experiment', [first!, ...others])
}
