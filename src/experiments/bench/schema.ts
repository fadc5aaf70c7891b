import {z} from 'zod'
import {
  backendChoice,
  type CellRecord,
  type Completed,
  computedBy,
  nullableNumber,
  operationForms,
} from '../../results/record.js'
import {recordTable} from '../../results/tables.js'
import {drawAxes, drawPoint, methodSpec} from '../axes.js'
import {defineExperiment} from '../experiment.js'

/** How long and how often a forward is timed. */
export const timingProtocol = z.object({
  warmup_runs: z.number().int().nonnegative(),
  min_runs: z.number().int().positive(),
  max_runs: z.number().int().positive(),
  /** Timed runs go on until this much time was measured, within min_runs and max_runs. */
  min_time_ns: z.number().nonnegative(),
})
export type TimingProtocol = z.infer<typeof timingProtocol>

/**
 * When projections are drawn anew: `fixed`, `call`, `every:CALLS` or `pool:SIZE`. What is drawn once is
 * drawn before the clock starts, the rest inside the timed region.
 */
const redraw = z.string().default('fixed')

/** Everything that determines a benchmark. */
export const benchPlan = z.object({
  experiment: z.literal('bench'),
  methods: z.array(methodSpec).min(1),
  ...drawAxes,
  redraw,
  seq_lens: z.array(z.number().int().positive()).min(1),
  batch: z.number().int().positive(),
  heads: z.number().int().positive(),
  head_dim: z.number().int().positive(),
  value_dim: z.number().int().positive(),
  causal: z.boolean(),
  timing: timingProtocol,
  /** Cells run in this order: as listed, or shuffled by the seed so that drift hits all alike. */
  order: z.enum(['listed', 'random']),
  seed: z.number().int().nonnegative(),
  backend: backendChoice,
  threads: z.number().int().positive().nullable(),
})
export type BenchPlan = z.infer<typeof benchPlan>

const {num_features, ...matrix} = drawPoint

/** One method at one length, timed in a process of its own. */
export const benchCell = z.object({
  ...methodSpec.shape,
  ...matrix,
  redraw,
  num_features,
  seq_len: z.number().int().positive(),
  batch: z.number().int(),
  heads: z.number().int(),
  head_dim: z.number().int(),
  value_dim: z.number().int(),
  causal: z.boolean(),
  timing: timingProtocol,
  seed: z.number().int(),
  backend: backendChoice,
  threads: z.number().int().nullable(),
})
export type BenchCell = z.infer<typeof benchCell>

export const benchResult = z.object({
  feature_dim: z.number().int(),
  ...computedBy,
  threads: z.number().int(),
  operations: operationForms,
  /** Accuracy on a short prefix, of exact forms against the float64 definition, of estimators against their composite; no time is reported unless it passed. */
  gate: z.object({max_abs_error: z.number(), bound: z.number(), rows: z.number().int()}),
  runs: z.number().int(),
  median_ns: z.number(),
  q1_ns: z.number(),
  q3_ns: z.number(),
  min_ns: z.number(),
  mean_ns: z.number(),
  /** Runs beyond 1.5 interquartile ranges; kept in the statistics. */
  outliers: z.number().int(),
  /** Drawing the projections (with a pool, all of it) once, outside the timed region. */
  projection_ns: nullableNumber,
  /** Floating-point operations of a forward, counted (a multiply-add counts two). */
  work_flops: z.number(),
  /** Multiply-add peak of one thread, measured before and after the timed runs; `null` without the addon. */
  fma_peak_gflops: nullableNumber.default(null),
  /** The most bytes of tensors that a call holds on this backend beside inputs and output, counted. */
  live_bytes: z.number(),
  /** Peak resident memory over that of an idle process with the same backend; `null` where unknown. */
  peak_rss_over_baseline_bytes: nullableNumber,
  samples_ns: z.array(z.number()),
})
export type BenchResult = z.infer<typeof benchResult>

export type BenchRecord = CellRecord<BenchCell, BenchResult>
/** A record with times. */
export type TimedRecord = Completed<BenchCell, BenchResult>

/** Time and memory of forward passes, each method at each length in a process of its own. */
export default defineExperiment({
  name: 'bench',
  title: 'a benchmark',
  version: 1,
  plan: benchPlan,
  cell: benchCell,
  result: benchResult,
  isolation: 'fresh',
  // single times stand in the journal
  tables: [recordTable({cell: benchCell, result: benchResult, omit: ['samples_ns']})],
  cells: async plan => (await import('./grid.js')).benchCells(plan),
  jobs: async plan => (await import('./grid.js')).benchJobs(plan),
  load: () => Promise.all([import('./grid.js'), import('./cell.js')]),
  run: async (cell, context) => (await import('./cell.js')).runBenchCell(cell, context),
  report: async records => (await import('./report.js')).benchReport(records),
})
