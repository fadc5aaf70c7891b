/** Advice as data, but for where it was saved. */
import {z} from 'zod'
import {causalAlignField, causalField, sizeFields} from '../experiments/axes.js'
import {nullableNumber, seed} from '../results/record.js'
import {ADVICE_METRICS, UNFIT} from './candidates.js'
import {OBSTACLES} from './recommend.js'

const ns = (description: string) => ({unit: 'ns', description})
const tokens = (description: string) => ({unit: 'tokens', description})

/** Time and memory of a form at the length advised for. */
const costFields = {
  time_ns: nullableNumber.meta(ns('Time of a call over all heads, median.')),
  time_low_ns: nullableNumber.meta(ns('Lower end of its 95 % interval.')),
  time_high_ns: nullableNumber.meta(ns('Upper end of that interval.')),
  time_from: z
    .enum(['measured', 'predicted'])
    .describe(
      '`predicted`: on the line through the two longest calls that were timed, by counted operations.',
    ),
  live_bytes: nullableNumber.meta({
    unit: 'bytes',
    description:
      'Most bytes of tensors that a call holds at once, without inputs and output, counted.',
  }),
}

const exactForm = z.object({form: z.string().describe('Name of the exact form.'), ...costFields})

const headError = z.object({
  error: nullableNumber.describe('Median over replicates, in the metric asked for.'),
  error_low: nullableNumber.describe('Lower end of an interval that covers it with 95 %.'),
  error_high: nullableNumber.describe('Upper end of that interval.'),
})

const gainFields = {
  gain: nullableNumber.describe('Times faster than the faster exact form at that length.'),
  gain_low: nullableNumber.describe('Lower end of its 95 % interval.'),
  gain_high: nullableNumber.describe('Upper end of that interval.'),
  crossover_len: nullableNumber.meta(
    tokens(
      'Length from which it is faster than the faster exact form; `null`: not within 4 million tokens.',
    ),
  ),
  crossover_low_len: nullableNumber.meta(tokens('Lower end of the interval of that length.')),
  crossover_high_len: nullableNumber.meta(tokens('Upper end of it; `null`: it has none.')),
}

const overMean = nullableNumber.default(null)

export const variantFields = {
  label: z.string().describe('Method, projection and M.'),
  method: z.string().describe('Estimator, as `--methods` takes it.'),
  projection: z.string().nullable().describe('Random matrix; `null`: it draws none.'),
  num_features: z.int().nullable().describe('M; `null`: the method has none.'),
  feature_dim: z.int().describe('F, length of phi; 0: the method has no features.'),
  parameters: z
    .string()
    .nullable()
    .default(null)
    .describe('File of the learned parameters that it runs with; `null`: none.'),
}

const candidate = z.object({
  ...variantFields,
  ...headError.shape,
  over_mean: overMean.describe(
    'rel_l2 over that of averaging V, centre of the ratios of replicates; `null`: not known.',
  ),
  over_mean_low: overMean.describe('Lower end of its 95 % interval.'),
  over_mean_high: overMean.describe(
    'Upper end of that interval: from 0.99 on the method is never recommended, as it is not distinguishable from averaging V, or worse; averaging V itself may be.',
  ),
  ...costFields,
  ...gainFields,
  unfit: z
    .enum(UNFIT)
    .nullable()
    .describe(
      'Why it is not recommended, whatever its median: estimates that are not finite; denominators on both sides of zero; `other_length`: its windows or landmarks were measured at the length of the file, and it is advised for another.',
    ),
  on_front: z
    .boolean()
    .describe(
      'Better than averaging V, and nothing else is as good in error, time and memory, and better in one of them.',
    ),
  heads: z.array(headError).describe('The error of each head.'),
})
export type AdviceCandidate = z.infer<typeof candidate>

const choice = {
  candidate: z.string().nullable().describe('Label of what to take; `null`: exact attention.'),
  obstacle: z
    .enum(OBSTACLES)
    .nullable()
    .describe(
      'Why nothing: no candidate is accurate enough, none of those better than averaging V (`mean`), none of those faster, none of those within the budget; `null` with a candidate.',
    ),
}

const headAdvice = z.object({
  head: z.int().describe('Index of the head, from 0.'),
  ...choice,
  ...headError.shape,
  gain: nullableNumber.describe('Times faster than the faster exact form, of all heads together.'),
  gain_low: nullableNumber.default(null).describe('Lower end of its 95 % interval.'),
  gain_high: nullableNumber.default(null).describe('Upper end of that interval.'),
  front: z.array(z.string()).describe('Labels of what nothing else beats for this head.'),
})
export type HeadAdvice = z.infer<typeof headAdvice>

const mixed = z.object({
  replaced_heads: z.array(z.int()).describe('Heads that can be replaced.'),
  time_ns: z
    .number()
    .meta(
      ns(
        'Time of the layer, predicted: each head takes its share of a call of its form over all heads.',
      ),
    ),
  gain: z.number().describe('Times faster than all heads in the faster exact form.'),
  gain_low: nullableNumber
    .default(null)
    .describe('The same with all speed-ups at their lower ends.'),
  gain_high: nullableNumber.default(null).describe('The same with all at their upper ends.'),
})

const change = z.object({
  kind: z
    .enum(['features', 'length', 'tolerance', 'norms'])
    .describe('What would be otherwise: M, the length, the tolerance, norms of queries and keys.'),
  candidate: z.string().nullable().describe('What could be taken then; `null`: nothing measured.'),
  value: nullableNumber.describe(
    'M, the length in tokens, the tolerance, or the factor on queries and keys; `null`: none was found.',
  ),
  statement: z.string().describe('The same in a sentence.'),
  ruled_out: z
    .string()
    .nullable()
    .default(null)
    .describe(
      'What is known not to help, in a few words; `null`: something helps, or it is not known.',
    ),
})
export type AdviceChange = z.infer<typeof change>

const layerAdvice = z.object({
  layer: z.int().nullable().describe('Layer of a file with several; `null`: the file has one.'),
  ...choice,
  statement: z.string().describe('The recommendation in sentences.'),
  uniform_heads: z
    .array(z.int())
    .default([])
    .describe(
      'Heads with nearly uniform attention: weights deviate from 1/n by at most 10 % of it, root mean square, by the entropy of the rows.',
    ),
  candidates: z.array(candidate).describe('What was measured, over all heads and of each.'),
  heads: z.array(headAdvice).describe('Each head for itself.'),
  mixed: mixed
    .nullable()
    .describe('Every head by what is best for it; `null`: none can be replaced.'),
  changes: z.array(change).describe('What would change the answer.'),
})
export type LayerAdvice = z.infer<typeof layerAdvice>

export const adviceFacts = z.object({
  input: z.string().describe('Files that queries, keys and values come from.'),
  metric: z.enum(ADVICE_METRICS).describe('Metric of errors and tolerance.'),
  tolerance: z.number().describe('Largest error that is accepted.'),
  budget_ms: nullableNumber.meta({unit: 'ms', description: 'Longest time of a call; `null`: any.'}),
  effort: z.enum(['quick', 'full']).describe('How much was spent on draws and times.'),
  seed,
  causal: causalField,
  causal_align: causalAlignField,
  ran_causal: z
    .boolean()
    .nullable()
    .default(null)
    .describe('Whether the model ran with a causal mask, as the file says; `null`: it does not.'),
  ...sizeFields,
  query_len: z.int().describe('Queries of the file, all measured: the length of all errors.'),
  key_len: z.int().describe('Keys of the file.'),
  seq_len: z.int().describe('L that is advised for, of queries and keys in times.'),
  timed_lens: z.array(z.int()).describe('Lengths that were timed.'),
  backend: z.string().describe('What computed.'),
  left_out: z.array(z.string()).describe('What could not be measured, and why.'),
  not_tried: z
    .array(z.string())
    .default([])
    .describe('Methods that were not tried; `--methods` takes them.'),
  exact: z.array(exactForm).describe('Both exact forms.'),
  layers: z.array(layerAdvice).describe('The layers, in the order of the file.'),
})
export type Advice = z.infer<typeof adviceFacts>
