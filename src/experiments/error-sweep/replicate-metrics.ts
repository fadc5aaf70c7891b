/** The metrics of every replicate, as records keep them: for paired tests, other statistics, other summaries. */
import {z} from 'zod'
import {nullableNumber} from '../../results/record.js'

/** Numbers of heads times replicates up to which heads are kept, too: some 40 kB of a record. */
const MOST_OF_HEADS = 4096

/** Significant digits that are kept: estimates are float32. */
const DIGITS = 7

/** What a number says, as schemas hold it. */
interface Meaning {
  description: string
  unit?: string
}

/** What every replicate has, over all heads. */
const ALWAYS = {
  mse: {description: 'Mean squared error of an output entry.'},
  rel_l2: {description: '|estimate - exact| / |exact|, Euclidean, over all outputs.'},
  rel_l1: {description: '|estimate - exact| / |exact|, sums of absolute values.'},
  max_abs: {description: 'Largest error of an output entry.'},
  cosine: {description: 'Mean over rows of the cosine between estimated and exact output.'},
  row_sum_deviation: {description: 'Mean over rows of |sum of weights - 1|.'},
  negative_denominators_pct: {description: 'Rows whose denominator is below zero.', unit: '%'},
} satisfies Record<string, Meaning>

/** What it has besides, with row metrics. */
const OF_ROWS = {
  row_kl_nats: {
    description: 'KL divergence of estimated from exact rows; with row_metrics.',
    unit: 'nats',
  },
  row_total_variation: {
    description: 'Total variation between estimated and exact rows; with row_metrics.',
  },
  row_top1_agreement: {
    description: 'Rows whose largest weight is at the same key as the exact one; with row_metrics.',
  },
  row_top8_agreement: {
    description:
      'Share of the 8 keys of largest exact weight that are so estimated; with row_metrics.',
  },
} satisfies Record<string, Meaning>

/** A field for each meaning. */
function fields<Name extends string, Field>(
  meanings: Record<Name, Meaning>,
  field: (meaning: Meaning) => Field,
): Record<Name, Field> {
  const made = Object.entries<Meaning>(meanings).map(([name, meaning]) => [name, field(meaning)])
  return Object.fromEntries(made) as Record<Name, Field>
}

/** A number of each replicate, in the order of the draws. */
const series = (meaning: Meaning) => z.array(nullableNumber).meta({...meaning})

/** Metrics of all replicates over all heads. */
const lists = z.object({
  ...fields(ALWAYS, series),
  ...fields(OF_ROWS, meaning =>
    series(meaning)
      .nullable()
      .meta({...meaning}),
  ),
})
type Lists = z.infer<typeof lists>

export const replicateMetrics = z
  .object({
    ...lists.shape,
    head_mse: z
      .array(z.array(nullableNumber))
      .nullable()
      .describe(
        `Mean squared error of each head, [heads][replicates], whose root is proportional to rel_l2 of that head with one sequence; \`null\`: more than ${MOST_OF_HEADS} numbers.`,
      ),
  })
  .nullable()
  .default(null)
  .describe(
    'Metrics of every replicate in the order of the draws, to seven digits; `null`: recorded by a version that kept none.',
  )
export type ReplicateMetrics = z.infer<typeof replicateMetrics>

/** Paths of a result that have no column of their own: {@link replicateRows} are rows of a table. */
export const REPLICATE_PATHS = [...Object.keys(lists.shape), 'head_mse'].map(
  name => `replicate_metrics.${name}`,
)

/** Columns of the table of replicates. */
export const replicateColumns = z.object({
  replicate: z.number().int().describe('Index of the draw, from 0.'),
  ...fields({...ALWAYS, ...OF_ROWS}, meaning => nullableNumber.meta({...meaning})),
})

/** A row for each replicate. */
export function replicateRows(metrics: ReplicateMetrics): Record<string, unknown>[] {
  if (!metrics) return []
  const {head_mse: _, ...all} = metrics
  return metrics.mse.map((_, replicate) => ({
    replicate,
    ...Object.fromEntries(
      Object.entries(all).map(([name, list]) => [name, list?.[replicate] ?? null]),
    ),
  }))
}

/**
 * Metrics of replicates as a record keeps them.
 *
 * @param over - over all heads, one number for each replicate; `null`: not measured
 * @param heads - mean squared errors, `[heads][replicates]`
 */
export function keptMetrics(
  over: Record<keyof Lists, readonly number[] | null>,
  heads: readonly (readonly number[])[],
): NonNullable<ReplicateMetrics> {
  const kept = Object.fromEntries(
    Object.entries(over).map(([name, list]) => [name, list && rounded(list)]),
  )
  const size = heads.length * over.mse!.length
  return {
    ...(kept as unknown as Lists),
    head_mse: size > MOST_OF_HEADS ? null : heads.map(rounded),
  }
}

function rounded(values: readonly number[]): (number | null)[] {
  return values.map(value => (Number.isFinite(value) ? Number(value.toPrecision(DIGITS)) : null))
}
