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
      '`overtakes`: faster from `length` on, slower before; `faster`, `slower`: at every length measured, so that they cross at none of these; `mixed`: faster at some, not at the longest; `unsettled`: intervals are too wide to say, or to say where.',
    ),
  length: estimate
    .nullable()
    .describe('Tokens from which on the method is faster; `null`: see `answer`.'),
  statement: z.string().describe('The same in words, after the name of the variant.'),
})

/** How the time of one variant grows with length, and where it overtakes the exact forms. */
const fitSchema = z.object({
  variant: z
    .string()
    .describe('Method, random matrix, redraw policy, M, and B where it varies, in one line.'),
  mode: z.enum(['forward', 'decode', 'layer']).describe('What was timed.'),
  shape: z
    .object({
      batch: z.number().int().describe('B.'),
      heads: z.number().int().describe('H.'),
      kv_heads: z.number().int().optional().describe('Hkv; absent: H.'),
      head_dim: z.number().int().describe('D.'),
      value_dim: z.number().int().describe('Dv.'),
      causal: z.boolean().describe('Query i sees keys 0..i only.'),
    })
    .describe('Sizes that all its records share.'),
  keys: z
    .array(z.string())
    .describe('Keys of the records it rests on, by length; of a decode one, with all its lengths.'),
  lengths: z.array(z.number().int()).describe('L, lengths that were measured.'),
  slope: estimate
    .nullable()
    .describe('Exponent of time in length over `slope_lengths`; `null`: see `no_slope`.'),
  slope_lengths: z
    .array(z.number().int())
    .describe(
      'L, the longest lengths: those of the top two octaves, at least three where there are.',
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
  crossovers: z.array(crossover).describe('Against each exact form that was timed.'),
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
      'Of a disturbance: all cells were slower in some turns, the slowest tenth by more than 25 % than the fastest; processes of most cells differ by more than 25 %.',
    ),
  statement: z.string().describe('The verdict as the report prints it.'),
  waiting_share: nullableNumber.describe(
    'Most of the timed time that a process of a cell waited for a processor, as a share; `null`: unknown.',
  ),
  steal_share: nullableNumber.describe('Most that was stolen from a cell; `null`: unknown.'),
  load_before: nullableNumber.describe('Lowest load average before a cell; `null`: unknown.'),
  load_after: nullableNumber.describe('Highest load average behind a cell; `null`: unknown.'),
  lowest_mhz: nullableNumber.meta({unit: 'MHz', description: 'Lowest clock; `null`: unknown.'}),
  highest_mhz: nullableNumber.meta({unit: 'MHz', description: 'Highest clock; `null`: unknown.'}),
  turn_spread: nullableNumber.describe(
    'By what share of it the slowest tenth of the turns was slower than the fastest tenth, by the median over the cells of the time of a turn over that of the usual one; `null`: fewer than six turns.',
  ),
  process_spread: nullableNumber.describe(
    'By what share of it the slowest process of a cell was slower than the fastest, median over the cells; `null`: one process.',
  ),
  unknown: z.string().nullable().describe('Why some of it is not known; `null`: all is.'),
})
export type MachineVerdict = z.infer<typeof machineVerdict>

/** All of it, where an experiment looks for that. */
export const findings = z.object({
  fits: z
    .array(fitSchema)
    .optional()
    .describe('Of a benchmark: growth with length and crossovers, one per variant.'),
  machine: machineVerdict
    .optional()
    .describe('Of a benchmark: what the machine was like meanwhile; absent: not recorded.'),
})
export type Findings = z.infer<typeof findings>
