/** What every plan and every record says, whichever experiment it is of. */
import {z} from 'zod'
import {BACKEND_CHOICES, BACKEND_NAMES, type BackendChoice} from '../backends/index.js'
import type {LayerChoice} from '../inputs/layers.js'
import type {InputSpec, LayerFiles} from '../inputs/spec.js'
import type {PluginRecord} from '../plugins/record.js'
import type {TunedSpec} from '../tuned/index.js'

/** A number as files hold it: JSON has no NaN, so what could not be computed is `null`. */
export const nullableNumber = z.number().nullable()

export const backendChoice = z
  .enum(BACKEND_CHOICES)
  .describe('Requested backend; `auto`: the first that works.')

export const seed = z.int().nonnegative().describe('Seed of all random numbers.')

/** What computed a result; records made before one of the last three was kept have `null` there. */
export const computedBy = {
  backend: z.enum(BACKEND_NAMES).describe('Backend that computed.'),
  instruction_set: z
    .string()
    .nullable()
    .default(null)
    .describe('Vector instruction set; `null`: the backend does not know it.'),
  threads: z.int().nullable().default(null).describe('Threads of the process that computed.'),
  processes: z
    .int()
    .nullable()
    .default(null)
    .describe('Processes of the run that computed at the same time; 1 for a benchmark.'),
}
/** Of a benchmark the backend may be a peer instead. */
export type ComputedBy = Omit<z.infer<z.ZodObject<typeof computedBy>>, 'backend'> & {
  backend: string
}

/** Whether each operation ran as a fused kernel or as its composite definition. */
export const operationForms = z
  .record(z.string(), z.enum(['fused', 'composite']))
  .describe('Whether a fused kernel or the composite definition ran, by operation.')

/** What storage, runner and commands know of a plan. */
export interface Plan {
  experiment: string
  seed: number
  /** What computes it; a benchmark may compare several. */
  backend: BackendChoice | BackendChoice[]
  /** Threads of the backend, where they are part of what is measured. */
  threads?: number | null
  /** Other implementations to time in addition. */
  peers?: string[] | undefined
  /** Estimators, of which some may run with learned parameters. */
  methods?: readonly {method: string; tuned?: TunedSpec | undefined}[]
  /** Where its queries, keys and values come from, if it has any. */
  input?: InputSpec
  /** Which layers of a file of several; `all` until the file is looked into. */
  layers?: LayerChoice | undefined
  /** The files of each layer, where layers lie in several files and these were read. */
  layer_files?: LayerFiles[] | undefined
  /** Whether a query sees the keys up to its own place only, where that is part of it. */
  causal?: boolean
  /** beta of all logits, where it is not left to the file. */
  logit_scale?: number | undefined
  causal_align?: 'start' | 'end' | undefined
  /** Modules that estimators of it come from, if they are not built in. */
  plugins?: PluginRecord[] | undefined
}

/** The schema of a plan: its field `experiment` distinguishes it from plans of other experiments. */
export type PlanSchema<P extends Plan = Plan> = z.ZodType<P> & z.core.$ZodTypeDiscriminable

/** One finished cell: exactly one of the three ways in which it can end. */
export type CellRecord<Cell = object, Result = ComputedBy> = {
  /** Name and version of its format, e.g. `rfa.bench/1`. */
  schema: string
  /** Hash of the cell and of the code that ran it; resuming skips keys already present. */
  key: string
  cell: Cell
} & (
  | {
      status: 'completed'
      result: Result
      interrupted?: true | undefined
      /** Place of its line, if lists of its result were left out; never written to a file. */
      place?: JournalPlace
    }
  | {status: 'skipped'; reason: string}
  | {status: 'failed'; error: CellError}
)

/** Where a journal has the line of a record. */
export interface JournalPlace {
  /** Of the journal. */
  path: string
  /** Of the line, from 1. */
  number: number
  /** Of its first byte. */
  start: number
  /** Without the newline. */
  bytes: number
}

type End = {status: CellRecord['status']; interrupted?: boolean | undefined}

/** Whether a record stands for its cell: those that failed or were interrupted run again. */
export function isWhole({status, interrupted}: End): boolean {
  return status === 'skipped' || (status === 'completed' && !interrupted)
}

/** Those of cells that have ended, in whichever way: that were not interrupted. */
export function endedRecords<Item extends End>(records: readonly Item[]): Item[] {
  return records.filter(({interrupted}) => !interrupted)
}

/**
 * Whether a record takes the place of an earlier one of its cell. Only cells without a whole one run again, so what is not
 * whole takes the place of no whole one: a line that stands in a journal twice changes nothing.
 */
export function isSuperseded(earlier: End | undefined, later: End): boolean {
  return earlier === undefined || isWhole(later) || !isWhole(earlier)
}

export interface CellError {
  code: string
  message: string
}

export type Completed<Cell, Result> = Extract<CellRecord<Cell, Result>, {status: 'completed'}>

/** Fields of all records other than cell and result. */
export const recordFields = z.object({
  schema: z.string().describe('Name and version of the format of this record.'),
  key: z
    .string()
    .describe('Hash of the cell and its format; names the cell in all files of a run.'),
  status: z
    .enum(['completed', 'skipped', 'failed'])
    .describe('How the cell ended; only a completed one has numbers.'),
  reason: z.string().describe('Why the cell was skipped.'),
  interrupted: z
    .literal(true)
    .describe(
      'The cell was interrupted before it was fully measured; a resumed run measures it again.',
    ),
  error: z
    .object({
      code: z.string().describe('Kind of error.'),
      message: z.string().describe('What was expected, and what it got.'),
    })
    .describe('Why the cell failed.'),
}).shape

export function recordSchema<Cell extends z.ZodType, Result extends z.ZodType>(
  schema: string,
  cell: Cell,
  result: Result,
) {
  const {status, reason, error, key, interrupted} = recordFields
  const shared = {
    schema: z.literal(schema).describe(recordFields.schema.description!),
    key,
    cell: cell.describe('The request: one point of the grid.'),
  }
  const ended = <Status extends string>(how: Status) => z.literal(how).describe(status.description!)
  return z.discriminatedUnion('status', [
    z.object({
      ...shared,
      status: ended('completed'),
      result: result.describe('The measurements, and what computed them.'),
      interrupted: interrupted.optional(),
    }),
    z.object({...shared, status: ended('skipped'), reason}),
    z.object({...shared, status: ended('failed'), error}),
  ])
}

/** What storage knows of an experiment with runs that it keeps. */
export interface StoredExperiment {
  name: string
  /** Format of its records, e.g. `rfa.bench/1`. */
  schema: string
  plan: PlanSchema
  record: z.ZodType<CellRecord>
  /**
   * `fresh`: one process per cell, one at a time, since the process itself is measured; runs are comparable on one
   * machine only. `shared`: processes run one cell after the other, one process per thread.
   */
  isolation: 'fresh' | 'shared'
  /** Lists of its results that reports leave in a large journal, and read when they need them. Default: none */
  heavyLists?: readonly string[] | undefined
  /** Returns a function that converts a record of an earlier format to the present one, and keeps anything else. */
  earlier?(): Promise<(value: unknown) => unknown>
}

/** The schema of a record of any of these experiments. */
export function anyRecord(
  experiments: readonly Pick<StoredExperiment, 'record'>[],
): z.ZodType<CellRecord> {
  return z.union(experiments.map(({record}) => record))
}
