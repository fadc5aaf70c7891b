/** The metrics of a sweep, what each says, and those of every replicate, as records keep them: for tests and other summaries. */
import {z} from 'zod'
import {nullableNumber} from '../../results/record.js'

/** Numbers of heads times replicates up to which heads are kept, too: some 40 kB of a record. */
const MOST_OF_HEADS = 4096

/** Significant digits that are kept: estimates are float32. */
const DIGITS = 7

/** What a number says, as schemas hold it. */
export interface Meaning {
  description: string
  unit?: string
}

/** What every replicate has over all heads, and records keep of each. */
const KEPT_METRICS = {
  mse: {description: 'Mean squared error of an output entry.'},
  rel_l2: {description: '|estimate - exact| / |exact|, Euclidean, over all outputs.'},
  rel_l1: {description: '|estimate - exact| / |exact|, sums of absolute values.'},
  max_abs: {description: 'Largest error of an output entry.'},
  cosine: {description: 'Mean over rows of the cosine between estimated and exact output.'},
  row_sum_deviation: {description: 'Mean over rows of |sum of weights - 1|.'},
  negative_denominators_pct: {description: 'Rows with a denominator below zero.', unit: '%'},
} satisfies Record<string, Meaning>

/** All that every replicate has over all heads: records have summaries of each. */
export const OUTPUT_METRICS = {
  ...KEPT_METRICS,
  guarded_pct: {description: 'Rows with a denominator that was moved away from zero.', unit: '%'},
  not_finite_pct: {description: 'Entries of the output that are not finite.', unit: '%'},
} satisfies Record<string, Meaning>

/** Metrics of one replicate over all heads. */
export type OutputMetrics = Record<keyof typeof OUTPUT_METRICS, number>

/** Errors of one replicate over all heads that are nearer to what a model loses. */
export const MODEL_METRICS = {
  token_mean_rel_l2: {
    description:
      '|mean of estimate - mean of exact| / |mean of exact|, Euclidean, means over the judged tokens of each head of each sequence, over all of these.',
  },
  projected_rel_l2: {
    description:
      '|W_O (estimate - exact)| / |W_O exact|, Euclidean, over all tokens; where the file has an output projection `o`.',
  },
  residual_error: {
    description:
      'Root mean square over tokens of |W_O (estimate - exact)|, over that of the residual stream; where the file has `o` and `residual_norm`.',
  },
} satisfies Record<string, Meaning>

/** The same of one replicate; `null`: the input lacks what they take. */
export type ModelErrors = Record<keyof typeof MODEL_METRICS, number | null>

export const ROW_METRICS = {
  row_kl_nats: {description: 'KL divergence of estimated from exact rows.', unit: 'nats'},
  row_total_variation: {description: 'Total variation between estimated and exact rows.'},
  row_top1_agreement: {
    description:
      'Share of rows in which the same key has the largest estimated and the largest exact weight.',
  },
  row_top8_agreement: {
    description:
      'Mean over rows of the share of the 8 largest exact weights that are among the 8 largest estimated weights.',
  },
} satisfies Record<string, Meaning>

/** What single queries add: quantiles over all queries of a replicate of |estimate - exact| / |exact|, norms of one row. */
export const QUERY_METRICS = {
  query_error_p50: {
    description: 'Error |estimate - exact| / |exact| of a query: 50 % have at most this.',
  },
  query_error_p90: {description: 'Error of a query: 90 % have at most this.'},
  query_error_p99: {description: 'Error of a query: 99 % have at most this.'},
} satisfies Record<string, Meaning>

/** Those of one replicate. */
export type QueryMetrics = Record<keyof typeof QUERY_METRICS, number>

/** The share of queries that each is of. */
export const QUERY_QUANTILES: QueryMetrics = {
  query_error_p50: 0.5,
  query_error_p90: 0.9,
  query_error_p99: 0.99,
}

export function perMetric<Name extends string, Value>(
  metrics: Record<Name, Meaning>,
  of: (name: Name, meaning: Meaning) => Value,
): Record<Name, Value> {
  const names = Object.keys(metrics) as Name[]
  const made = names.map(name => [name, of(name, metrics[name])] as const)
  return Object.fromEntries(made) as Record<Name, Value>
}

/** A number of each replicate, in the order of the draws. */
const series = (meaning: Meaning) => z.array(nullableNumber).meta({...meaning})

/** Metrics of all replicates over all heads. */
const lists = z.object({
  ...perMetric(KEPT_METRICS, (_, meaning) => series(meaning)),
  ...perMetric(ROW_METRICS, (_, meaning) =>
    series(meaning)
      .nullable()
      .meta({...meaning}),
  ),
  ...perMetric(MODEL_METRICS, (_, meaning) =>
    series(meaning)
      .nullable()
      .default(null)
      .meta({...meaning}),
  ),
})

export const replicateMetrics = z
  .object({
    ...lists.shape,
    head_mse: z
      .array(z.array(nullableNumber))
      .nullable()
      .describe(
        `Mean squared error of each head, [heads][replicates]; with one sequence its root is proportional to rel_l2 of the head; \`null\`: more than ${MOST_OF_HEADS} numbers.`,
      ),
    sequence_rel_l2: z
      .array(z.array(nullableNumber))
      .nullable()
      .default(null)
      .describe(
        `rel_l2 of each sequence, [sequences][replicates]; \`null\`: there is one, or there are more than ${MOST_OF_HEADS} numbers.`,
      ),
  })
  .nullable()
  .default(null)
  .describe(
    'Metrics of every replicate in the order of the draws, to seven digits; `null`: recorded by a version that kept none.',
  )
export type ReplicateMetrics = z.infer<typeof replicateMetrics>

/** Paths of a result without a column: {@link replicateRows} are rows of a table. */
export const REPLICATE_PATHS = [...Object.keys(lists.shape), 'head_mse', 'sequence_rel_l2'].map(
  name => `replicate_metrics.${name}`,
)

export const replicateColumns = z.object({
  replicate: z.int().describe('Index of the draw, from 0.'),
  ...perMetric({...KEPT_METRICS, ...ROW_METRICS, ...MODEL_METRICS}, (_, meaning) =>
    nullableNumber.meta({...meaning}),
  ),
})

export function replicateRows(metrics: ReplicateMetrics): Record<string, unknown>[] {
  if (!metrics) return []
  const {head_mse: _, sequence_rel_l2: __, ...all} = metrics
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
 * @param over - over all heads, of each replicate
 * @param rows - row metrics of replicates, or of some; `null`: not measured
 * @param heads - mean squared errors, `[heads][replicates]`
 * @param model - of each replicate; absent: not measured
 * @param sequences - rel_l2, `[sequences][replicates]`
 */
export function keptMetrics(
  over: readonly Pick<OutputMetrics, keyof typeof KEPT_METRICS>[],
  rows: readonly (Record<keyof typeof ROW_METRICS, number> | undefined)[] | null,
  heads: readonly (readonly number[])[],
  model: readonly ModelErrors[] = [],
  sequences: readonly (readonly number[])[] = [],
): NonNullable<ReplicateMetrics> {
  return {
    ...perMetric(KEPT_METRICS, name => rounded(over.map(own => own[name]))),
    ...perMetric(ROW_METRICS, name => rows && rounded(rows.map(own => own?.[name] ?? Number.NaN))),
    ...perMetric(MODEL_METRICS, name => {
      const errors = measured(model, name)
      return errors && rounded(errors)
    }),
    head_mse: fits(heads) ? heads.map(rounded) : null,
    sequence_rel_l2: sequences.length > 1 && fits(sequences) ? sequences.map(rounded) : null,
  }
}

/** An error of every replicate; `null` where it was not measured. */
export function measured(
  errors: readonly ModelErrors[],
  name: keyof typeof MODEL_METRICS,
): number[] | null {
  const known = errors.flatMap(own => own[name] ?? [])
  return known.length > 0 ? known : null
}

function fits(lists: readonly (readonly number[])[]): boolean {
  return lists.length * (lists[0]?.length ?? 0) <= MOST_OF_HEADS
}

function rounded(values: readonly number[]): (number | null)[] {
  return values.map(value => (Number.isFinite(value) ? Number(value.toPrecision(DIGITS)) : null))
}
