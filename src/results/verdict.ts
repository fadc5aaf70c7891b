/** Answers to the questions that an experiment asks, as reports print them and `--json` has them. */
import {z} from 'zod'
import {nullableNumber} from './record.js'

/** What can be said of a question. */
const ANSWERS = ['yes', 'no', 'cannot_be_told'] as const

/** One question, answered from intervals of all rows that ask it. */
export const verdictSchema = z.object({
  question: z
    .enum([
      'unbiased',
      'variance_as_theory',
      'varies_less_than_iid',
      'keeps_theorem_bound',
      'errs_less',
    ])
    .describe(
      'The question: about means, variances, projections compared with i.i.d. rows, errors below the bound of a theorem, or errors compared with another variant.',
    ),
  method: z.string().nullable().describe('Method, with its options; `null`: all.'),
  projection: z.string().nullable().describe('Random matrix; `null`: all.'),
  against: z
    .string()
    .optional()
    .describe('Of `errs_less`: the variant that errors are compared with.'),
  answer: z
    .enum(ANSWERS)
    .describe('`cannot_be_told`: rows were not measured, or intervals leave both open.'),
  statement: z.string().describe('The answer as the report prints it.'),
  bound: nullableNumber.describe(
    'Standard errors from which a row speaks against the answer, 5 % for all rows of the question together.',
  ),
  p_value: nullableNumber
    .optional()
    .describe(
      'Of `errs_less`: of random signs of paired replicates, that the higher error is so by 1 % at most, adjusted for all rows with which its row is compared.',
    ),
  measured: z
    .number()
    .int()
    .describe('Rows that were measured; of `errs_less`: pairs of replicates.'),
  beyond: z.number().int().describe('Measured rows that are beyond the bound, on any side.'),
  low: nullableNumber.describe(
    'Smallest of the rows: |z|; measured variance over closed form; variance over that of i.i.d. rows; variance over the bound; of `errs_less`: lower end of the interval of the ratio of rel L2.',
  ),
  high: nullableNumber.describe('Largest of the rows; of `errs_less`: the upper end.'),
  not_measured: z.number().int().describe('Rows with too heavy a tail for the number of draws.'),
  needed_replicates: nullableNumber.describe(
    'Draws with which the first of those is measured; `null`: there is none, or no number is enough.',
  ),
  without_variance: z.number().int().describe('Rows that do not vary but for rounding.'),
})
export type Verdict = z.infer<typeof verdictSchema>
