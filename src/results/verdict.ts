/** Answers to the questions that an experiment asks, as reports print them and `--json` has them. */
import {z} from 'zod'
import {REPLIES} from '../answers/index.js'
import {nullableNumber} from './record.js'

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
  against: z.string().optional().describe('For `errs_less`: the variant to compare errors with.'),
  answer: z
    .enum(REPLIES)
    .describe(
      '`cannot_be_told`: inconclusive, because rows were not measured or intervals contain both answers.',
    ),
  statement: z.string().describe('The answer as the report prints it.'),
  bound: nullableNumber.describe(
    'Standard errors beyond which a row contradicts the answer, at 5 % for all rows of the question together.',
  ),
  p_value: nullableNumber
    .optional()
    .describe(
      'For `errs_less`: p-value of random signs of paired replicates for a difference of at most 1 %, adjusted for all rows that its row is compared with.',
    ),
  measured: z.int().describe('Measured rows; for `errs_less`: pairs of replicates.'),
  beyond: z.int().describe('Measured rows beyond the bound, on either side.'),
  low: nullableNumber.describe(
    'Smallest value of the rows: |z|, or the ratio of the measured variance to the closed form, to i.i.d. rows or to the bound; for `errs_less`: lower end of the interval of the ratio of rel L2.',
  ),
  high: nullableNumber.describe('Largest value of the rows; for `errs_less`: the upper end.'),
  not_measured: z.int().describe('Rows with too heavy a tail for the number of draws.'),
  needed_replicates: nullableNumber.describe(
    'Draws that would measure the first of the rows not measured; `null`: there is none, or no number is enough.',
  ),
  without_variance: z.int().describe('Rows that vary only by rounding.'),
})
export type Verdict = z.infer<typeof verdictSchema>
