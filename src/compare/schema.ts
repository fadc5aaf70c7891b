/** A comparison as `--json` prints it. */
import {z} from 'zod'
import {ANSWERS, BASES} from '../answers/index.js'
import {QUANTITIES} from '../experiments/comparison.js'
import {nullableNumber} from '../results/record.js'
import {JUDGEMENTS} from './limits.js'

const quantity = z
  .enum(QUANTITIES)
  .describe('The quantity compared; memory of a decode is its state; lower is better.')

const place = z
  .record(z.string(), z.string())
  .describe(
    'Names and values that distinguish the line from others, as in the tables; `x / y`: x in A and y in B.',
  )

/** A line: one quantity of two cells. */
export const comparedRow = z.object({
  quantity,
  at: place,
  key_a: z.string().describe('Key of the cell of A, as in its records.'),
  key_b: z.string().describe('Key of the cell of B.'),
  unit: z.enum(['ns', 'bytes']).nullable().describe('Unit of a and b; `null`: none.'),
  a: z.number().describe('Value of A, or its median.'),
  b: z.number().describe('Value of B, or its median.'),
  ratio: nullableNumber.describe('B over A; `null`: A is 0 and B is not.'),
  ratio_low: nullableNumber.describe(
    'Lower end of its 95 % interval, the ratio itself where nothing varies; `null`: too little is known.',
  ),
  ratio_high: nullableNumber.describe('Upper end of it; `null` also: there is none.'),
  p_value: nullableNumber.describe(
    'Two-sided p-value of the null hypothesis that the ratio is 1 (errors: within 1 % of it), adjusted for all lines; `null`: there is no test.',
  ),
  effect: nullableNumber.describe(
    'Chance that a value of B exceeds one of A, ties counted as half; `null`: single values are not known.',
  ),
  basis: z
    .enum(BASES)
    .describe(
      'What the ratio rests on: `exact`: nothing varies but rounding; `processes`: cells of one run, process by process; `medians`: medians of independent processes; `pairs`: replicates of the same draws; `samples`: replicates of independent draws; `spreads`: variances by their standard errors.',
    ),
  pairs: z.int().nullable().describe('Pairs that were compared; `null`: not paired.'),
  answer: z
    .enum(ANSWERS)
    .describe(
      'What B has, compared with A: by the adjusted p-value at 5 %, or without one by the interval; `same`: the same value (errors: within 1 %).',
    ),
  limit_percent: nullableNumber.describe('How much more B may have; `null`: no limit was set.'),
  judgement: z
    .enum(JUDGEMENTS)
    .nullable()
    .describe(
      '`regression`: the lower end of the interval is beyond the limit; `within`: the upper end is not; `cannot_be_told`: the limit lies in the interval; `null`: no limit was set.',
    ),
})
export type ComparedRow = z.infer<typeof comparedRow>

/** A cell, or a quantity of two cells, without a line. */
export const leftRow = z.object({
  where: z.enum(['a', 'b', 'both']).describe('The run that has it.'),
  quantity: quantity
    .nullable()
    .describe('What could not be compared; `null`: the cell as a whole.'),
  at: place,
  reason: z.string().describe('Why there is no line.'),
  open: z
    .boolean()
    .describe(
      'It could hide a regression: A measured it and B did not, or too little is known; fails with --strict.',
    ),
})
export type LeftRow = z.infer<typeof leftRow>

const side = z.object({
  directory: z.string().describe('Folder of the run.'),
  method: z.string().nullable().describe('Method of the run that is compared; `null`: all.'),
  created_at: z.string().describe('When the run began, UTC.'),
  commit: z.string().nullable().describe('Commit of rfa that made it; `null`: unknown.'),
  cells: z.int().nullable().describe('Cells of its plan; `null`: not known.'),
  completed: z.int().describe('Cells that were measured, of the method if there is one.'),
})
export type ComparedSide = z.infer<typeof side>

export const comparisonFacts = z.object({
  experiment: z.string().describe('Name of the experiment.'),
  related: z
    .enum(['runs', 'methods'])
    .describe('`runs`: two runs; `methods`: two methods of one run.'),
  a: side.describe('The base.'),
  b: side.describe('The run that is compared with the base.'),
  warnings: z.array(z.string()).describe('Differences other than the code or the method.'),
  rows: z.array(comparedRow).describe('Lines, cell by cell in the order of A.'),
  left: z.array(leftRow).describe('What was not compared, and why.'),
  limits: z
    .array(
      z.object({quantity, percent: z.number().describe('How much more B may have, in percent.')}),
    )
    .describe('Limits of --fail-on.'),
  strict: z.boolean().describe('Inconclusive lines fail, too.'),
  passed: z
    .boolean()
    .describe(
      'No line is a regression, and at least one is within its limit; with --strict, all are and nothing is inconclusive; always true without limits.',
    ),
})
export type ComparisonFacts = z.infer<typeof comparisonFacts>
