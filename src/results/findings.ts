/** What the records of a run say together, as reports print it and `--json` and summaries have it. */
import {z} from 'zod'
import {nullableNumber} from './record.js'

const estimate = z.object({
  value: z.number().describe('The estimate.'),
  low: z.number().describe('Lower end of its 95 % interval.'),
  high: z.number().describe('Upper end of it.'),
})

/** Which of a method and an exact form is faster, over all lengths. */
const CROSSOVER_ANSWERS = ['overtakes', 'faster', 'slower', 'mixed', 'unsettled'] as const
export type CrossoverAnswer = (typeof CROSSOVER_ANSWERS)[number]

const crossover = z.object({
  baseline: z.string().describe('The exact form.'),
  answer: z
    .enum(CROSSOVER_ANSWERS)
    .describe(
      '`overtakes`: faster from `length` on, slower before; `faster`, `slower`: at every measured length; `mixed`: faster at some lengths, but not at the longest; `unsettled`: intervals are too wide to say whether or where.',
    ),
  length: estimate
    .nullable()
    .describe('Length from which the method is faster; `null`: see `answer`.'),
  statement: z.string().describe('The answer in words, after the name of the variant.'),
})

/** How the time of one variant grows with length, and where it overtakes the exact forms. */
const fitSchema = z.object({
  variant: z
    .string()
    .describe('Method, random matrix, redraw policy, M, and B where it varies, in one line.'),
  mode: z.enum(['forward', 'decode', 'layer', 'model']).describe('What was timed.'),
  shape: z
    .object({
      batch: z.int().describe('B.'),
      heads: z.int().describe('H.'),
      kv_heads: z.int().optional().describe('Hkv; absent: H.'),
      head_dim: z.int().describe('D.'),
      value_dim: z.int().describe('Dv.'),
      causal: z.boolean().describe('Query i sees keys 0..i only.'),
    })
    .describe('Sizes of all its records.'),
  keys: z
    .array(z.string())
    .describe('Keys of the underlying records, by length; a decode has one for all its lengths.'),
  lengths: z.array(z.int()).describe('L, lengths that were measured.'),
  slope: estimate
    .nullable()
    .describe('Exponent of time in length over `slope_lengths`; `null`: see `no_slope`.'),
  slope_lengths: z
    .array(z.int())
    .describe(
      'L, the longest lengths: the top two octaves, or the top three lengths if there are fewer.',
    ),
  no_slope: z
    .enum(['one_length', 'unsettled', 'bent', 'decode'])
    .nullable()
    .describe(
      'Why there is no slope: one length only; its interval reaches beyond 0.25; times leave the line by more than their intervals; decodes are reported by tokens. `null`: there is one.',
    ),
  r2: z
    .number()
    .nullable()
    .describe('Share of the variance of log time that the line explains; `null`: no line.'),
  crossovers: z.array(crossover).describe('Comparison with each exact form that was timed.'),
})
export type Fit = z.infer<typeof fitSchema>

/** What a machine was like while it timed. */
export const machineVerdict = z.object({
  verdict: z
    .enum(['quiet', 'disturbed', 'unknown'])
    .describe('`unknown`: the system does not say.'),
  signs: z
    .array(z.enum(['turns', 'processes']))
    .describe(
      'Signs of a disturbance. `turns`: all cells were slower in some turns, the slowest tenth by more than 25 %; `processes`: processes of most cells differ by more than 25 %.',
    ),
  statement: z.string().describe('The verdict as the report prints it.'),
  waiting_share: nullableNumber.describe(
    'Largest share of the timed time that a process of a cell waited for a processor; `null`: unknown.',
  ),
  steal_share: nullableNumber.describe(
    'Largest share that other virtual machines took from a cell; `null`: unknown.',
  ),
  load_before: nullableNumber.describe('Lowest load average before a cell; `null`: unknown.'),
  load_after: nullableNumber.describe('Highest load average after a cell; `null`: unknown.'),
  lowest_mhz: nullableNumber.meta({unit: 'MHz', description: 'Lowest clock; `null`: unknown.'}),
  highest_mhz: nullableNumber.meta({unit: 'MHz', description: 'Highest clock; `null`: unknown.'}),
  turn_spread: nullableNumber.describe(
    'How much slower the slowest tenth of the turns was than the fastest tenth, as a share (median over the cells, turns relative to the usual one); `null`: fewer than six turns.',
  ),
  process_spread: nullableNumber.describe(
    'How much slower the slowest process of a cell was than the fastest, as a share (median over the cells); `null`: one process.',
  ),
  unknown: z.string().nullable().describe('Why some of it is unknown; `null`: nothing is.'),
})
export type MachineVerdict = z.infer<typeof machineVerdict>

/** All of it, where an experiment looks for that. */
export const findings = z.object({
  fits: z
    .array(fitSchema)
    .optional()
    .describe('Benchmarks only: growth with length and crossovers, one per variant.'),
  machine: machineVerdict
    .optional()
    .describe('Benchmarks only: state of the machine during the run; absent: not recorded.'),
})
export type Findings = z.infer<typeof findings>
