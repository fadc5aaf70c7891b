/** What the lengths of a benchmark say together, as reports print it and `--json` and summaries have it. */
import {z} from 'zod'

const estimate = z.object({
  value: z.number().describe('The estimate.'),
  low: z.number().describe('Lower end of its 95 % interval.'),
  high: z.number().describe('Upper end of it.'),
})

/** Which of a method and an exact form is faster, over all lengths. */
export const CROSSOVER_ANSWERS = ['overtakes', 'faster', 'slower', 'mixed', 'unsettled'] as const
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
export const fitSchema = z.object({
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
      'Why no slope is told: one length only; its interval reaches beyond 0.25; times leave the line by more than their intervals; times of decodes are told by tokens. `null`: it is.',
    ),
  r2: z
    .number()
    .nullable()
    .describe('Share of the variance of log time that the line explains; `null`: no line.'),
  crossovers: z.array(crossover).describe('Against each exact form that was timed.'),
})
export type Fit = z.infer<typeof fitSchema>
