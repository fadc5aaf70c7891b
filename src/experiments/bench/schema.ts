import {z} from 'zod'
import {
  backendChoice,
  type CellRecord,
  type Completed,
  computedBy,
  nullableNumber,
  operationForms,
  seed,
} from '../../results/record.js'
import {
  causalField,
  drawAxes,
  drawPoint,
  featureDim,
  methodAxes,
  methodSpec,
  sizeFields,
} from '../axes.js'
import {
  device,
  engineFacts,
  engineOfCell,
  engineOfPlan,
  layerNumbers,
  pretrainedModel,
} from '../pretrained.js'
import {breakdown} from './fields/breakdown.js'
import {conditions} from './fields/conditions.js'
import {areGrouped, kvHeadsField} from './fields/grouped.js'
import {oneOrMore} from './fields/one-or-more.js'
import {PEER_NAMES} from './fields/peers.js'
import {decodeMark} from './fields/token-marks.js'

/** What else than forward passes can be timed. */
export const BENCH_MODES = ['decode', 'layer', 'model'] as const

const mode = z
  .enum(BENCH_MODES)
  .optional()
  .describe(
    'What is timed: `decode`: the recurrent form, one token after the other from the first to L; `layer`: forward passes of a transformer layer with the method as its attention and width d = H D; `model`: forward passes of a whole pretrained model; absent: forward passes of the attention alone.',
  )

/** How long and how often a forward, or a decode, is timed. */
const timingProtocol = z.object({
  processes: z
    .int()
    .positive()
    .optional()
    .describe(
      'Fresh processes that share the timed runs; absent: one, which does not show differences between processes.',
    ),
  warmup_runs: z
    .int()
    .nonnegative()
    .describe('Runs of each process before the clock starts.')
    .meta({flag: 'warmup'}),
  min_runs: z.int().positive().describe('Fewest timed runs.'),
  max_runs: z.int().positive().describe('Most timed runs.'),
  min_time_ns: z.number().nonnegative().meta({
    unit: 'ns',
    description: 'Timed runs continue for at least this long, within min_runs and max_runs.',
    flag: 'min-time',
  }),
})
export type TimingProtocol = z.infer<typeof timingProtocol>

const model = pretrainedModel
  .optional()
  .describe(
    'Pretrained model that is timed as a whole, forward or token by token; absent: attention alone, or a layer, of generated arrays.',
  )

const exchanged = layerNumbers
  .min(1)
  .optional()
  .describe(
    'Layers of the model that have the method as their attention, counted from 0; the others keep their own; absent: there is no model.',
  )

const redraw = z
  .string()
  .default('fixed')
  .describe(
    'When projections are drawn anew: `fixed`, `call`, `every:CALLS` or `pool:SIZE`. What is drawn once is drawn before the clock starts, the rest inside the timed region.',
  )

const timing = timingProtocol.describe('How long and how often a run is timed.')
const threads = z
  .int()
  .positive()
  .nullable()
  .describe('Threads that were asked for; `null`: the choice of the backend.')

const breakdownField = z
  .literal(true)
  .optional()
  .describe('Parts of each forward are timed, too; absent: they are not.')

/** `auto` is one of the others: together with them it would compute the same twice. */
function isOneOrNamed(backend: z.infer<typeof backendChoice> | readonly string[]): boolean {
  return typeof backend === 'string' || backend.length === 1 || !backend.includes('auto')
}

const fieldsOfPlan = z.object({
  experiment: z.literal('bench').describe('Name of the experiment.'),
  mode,
  model,
  layers: exchanged,
  engine: engineOfPlan,
  device,
  ...methodAxes,
  ...drawAxes,
  redraw,
  seq_lens: z
    .array(z.int().positive())
    .min(1)
    .describe(
      'L, tokens of queries and keys, of each length in turn; in mode `decode` one run to the longest passes the others.',
    )
    .meta({flag: 'seq-len'}),
  ...sizeFields,
  batch: oneOrMore(sizeFields.batch),
  kv_heads: kvHeadsField,
  causal: causalField,
  timing,
  breakdown: breakdownField,
  order: z
    .enum(['listed', 'random'])
    .describe('Cells run as listed, or shuffled by the seed so that drift hits all alike.'),
  seed,
  backend: oneOrMore(backendChoice).refine(isOneOrNamed, {
    message: 'expected auto alone, or names of backends',
  }),
  peers: z
    .array(z.enum(PEER_NAMES))
    .min(1)
    .optional()
    .describe(
      'Other implementations, each timed with the methods that it has, in the same run; absent: none.',
    ),
  threads,
})

export const benchPlan = fieldsOfPlan
  .refine(areGrouped, {path: ['kv_heads'], message: 'expected a divisor of heads'})
  .refine(({mode, engine}) => !engine || mode === 'model', {
    path: ['engine'],
    message: 'expected mode model with an engine: forward passes of whole models alone are timed',
  })
  .refine(({mode, peers}) => !(mode && peers), {
    path: ['peers'],
    message: 'expected no peers with a mode: their forward passes alone are timed',
  })
  .refine(
    ({model, layers, mode}) => (model ? mode && mode !== 'layer' && layers : mode !== 'model'),
    {
      path: ['model'],
      message: 'expected model and layers with mode model or decode, and a model with mode model',
    },
  )
export type BenchPlan = z.infer<typeof benchPlan>

const {num_features, ...matrix} = drawPoint
const ns = (description: string) => ({unit: 'ns', description})

/** One method at one length, timed in separate processes. */
export const benchCell = z.object({
  mode,
  model,
  layers: exchanged,
  engine: engineOfCell,
  device,
  ...methodSpec.shape,
  ...matrix,
  redraw,
  num_features,
  seq_len: z.int().positive().describe('L, tokens of queries and keys.'),
  lengths: z
    .array(z.int().positive())
    .optional()
    .describe(
      'Numbers of tokens at which a decode is measured, the last one L; absent: a forward.',
    ),
  ...sizeFields,
  kv_heads: kvHeadsField,
  causal: causalField,
  timing,
  breakdown: breakdownField,
  seed,
  backend: backendChoice,
  peer: z
    .string()
    .optional()
    .describe(
      'Other implementation that is timed in place of the method, and which of its forms, if it is not the ordinary one; no backend computes it, and `backend` then is `auto`. Absent: the method itself.',
    ),
  threads,
})
export type BenchCell = z.infer<typeof benchCell>

const count = (description: string) => z.int().describe(description)

/** Runs outside of Tukey's fences, by side and distance. */
const outlierCounts = z.object({
  low_severe: count('Runs more than 3 interquartile ranges below the first quartile.'),
  low_mild: count('Runs 1.5 to 3 interquartile ranges below it.'),
  high_mild: count('Runs 1.5 to 3 interquartile ranges above the third quartile.'),
  high_severe: count('Runs more than 3 interquartile ranges above it.'),
})
export type OutlierCounts = z.infer<typeof outlierCounts>

export const benchResult = z.object({
  feature_dim: featureDim,
  ...computedBy,
  backend: z.string().describe('Backend that computed, or the peer that was timed.'),
  peer: z
    .object({
      version: z.string().describe('Its version.'),
      python: z.string().describe('Version of the Python that it ran in.'),
    })
    .optional()
    .describe('Facts that the peer reports; absent: a backend computed.'),
  threads: z.int().describe('Threads that the backend, or the peer, computed with.'),
  operations: operationForms,
  engine: engineFacts,
  model_kind: z.string().optional().describe('Architecture of the model; absent: there is none.'),
  model_layers: z.int().optional().describe('Layers of the model.'),
  gate: z
    .object({
      max_abs_error: z
        .number()
        .describe('Largest difference of an output entry in the check of accuracy.'),
      bound: z.number().describe('Largest difference that passes that check.'),
      rows: z.int().describe('Queries that were compared in it.'),
    })
    .nullable()
    .describe(
      'Accuracy on a short prefix, of exact forms against the float64 definition, of estimators against their composite, the causal one for a decode, peers like the method that they replace, a model of Transformers against the one that rfa swap runs; no time is reported unless it passed. `null`: the process that checks it was interrupted.',
    ),
  runs: z.int().describe('Timed runs: forwards, or decodes up to L.'),
  median_ns: z
    .number()
    .meta(ns('Geometric mean of the medians of the processes; of one process, its median.')),
  median_low_ns: nullableNumber
    .default(null)
    .meta(
      ns(
        'Lower end of its 95 % interval: t on the logarithms of the medians of the processes; `null`: one process.',
      ),
    ),
  median_high_ns: nullableNumber
    .default(null)
    .meta(ns('Upper end of that interval; `null`: one process.')),
  q1_ns: nullableNumber.meta(
    ns('First quartile of the timed runs; `null`: fewer than four of them.'),
  ),
  q3_ns: nullableNumber.meta(
    ns('Third quartile of the timed runs; `null`: fewer than four of them.'),
  ),
  min_ns: z.number().meta(ns('Fastest timed run.')),
  mean_ns: z.number().meta(ns('Mean of the timed runs.')),
  outliers: z.int().describe('Runs beyond 1.5 interquartile ranges; kept in the statistics.'),
  severe_outliers: z
    .int()
    .nullable()
    .default(null)
    .describe('Runs beyond 3 interquartile ranges; `null`: not recorded.'),
  outlier_counts: outlierCounts
    .nullable()
    .default(null)
    .describe('Outliers by side and distance; `null`: not recorded.'),
  waited_ns: nullableNumber
    .default(null)
    .meta(
      ns(
        'Time in which the thread that waited longest could have computed but others were on all processors, around the timed runs, less what waking a thread takes on an idle machine; `null`: unknown, or not recorded.',
      ),
    ),
  conditions: conditions
    .nullable()
    .default(null)
    .describe('Other load of the machine during the runs; `null`: not recorded.'),
  projection_ns: nullableNumber.meta(
    ns('Drawing the projections (with a pool, all of it) once, outside the timed region.'),
  ),
  work_flops: z.number().meta({
    unit: 'FLOP',
    description:
      'Floating-point operations of a timed run, counted (a multiply-add counts two); 0: an attention in Python, where they are not.',
  }),
  fma_peak_gflops: nullableNumber.default(null).meta({
    unit: 'GFLOP/s',
    description:
      'Multiply-add peak of one thread, measured before and after the timed runs; `null`: no addon.',
  }),
  live_bytes: nullableNumber.meta({
    unit: 'bytes',
    description:
      'Most bytes of tensors that a call holds at once, without inputs and output, counted; of a decode its state after the last token; `null`: a peer, or a forward of a whole model, where it is not counted.',
  }),
  peak_rss_over_baseline_bytes: nullableNumber.meta({
    unit: 'bytes',
    description:
      'Growth of the resident memory of the process from before it has inputs to its peak; `null`: unknown, as of a peer, which computes several cells in one process. Memory that was freed before is used again without growth: it may be less than inputs, output and call hold.',
  }),
  samples_ns: z.array(z.number()).meta(ns('Every timed run, in order.')),
  run_waits_ns: z
    .array(z.number())
    .default([])
    .meta(
      ns(
        'Time of each timed run in which it waited for a processor, as of `waited_ns`; 0 of runs that are too short to look at each (below 1 ms). Empty: no run waited, or not recorded.',
      ),
    ),
  turn_runs: z
    .array(z.int())
    .default([])
    .describe(
      'Number of runs in each turn: between turns, other cells compute. Empty: not recorded.',
    ),
  process_turns: z
    .array(z.int())
    .default([])
    .describe('Number of turns of each process. Empty: one process took all.'),
  breakdown: breakdown
    .optional()
    .describe('Where the time of a forward goes; absent: not asked for.'),
  first_token_ns: z
    .number()
    .optional()
    .meta(
      ns(
        'First token of a decode, on which falls what is made ready, median of the runs; the clock of a run starts behind it; absent: a forward.',
      ),
    ),
  marks: z
    .array(decodeMark)
    .optional()
    .describe('A decode by the tokens so far: 2, 4, 8, ... and `lengths`; absent: a forward.'),
})
export type BenchResult = z.infer<typeof benchResult>

export type BenchRecord = CellRecord<BenchCell, BenchResult>
export type TimedRecord = Completed<BenchCell, BenchResult>
