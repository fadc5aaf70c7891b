/** Learning a method's parameters on a layer's own queries, keys and values: plan, cell and result. */
import {z} from 'zod'
import {inputSpec} from '../../inputs/spec.js'
import {
  backendChoice,
  type CellRecord,
  type Completed,
  computedBy,
  nullableNumber,
  seed,
} from '../../results/record.js'
import {LEARNED, LOSSES} from '../../tuned/index.js'
import {
  causalAlignField,
  causalField,
  drawAxes,
  drawPoint,
  featureDim,
  layerAxis,
  layerFiles,
  layerPoint,
  logitScale,
  methodAxes,
  methodSpec,
  sizeFields,
} from '../axes.js'

/** What of a method is compared on held-out tokens. */
export const VARIANTS = [
  'untuned',
  'tuned',
  'temperature',
  'more_features',
  'oprf',
  'saderf',
  'mean_value',
  'zero',
] as const
export type Variant = (typeof VARIANTS)[number]

/** How many times the random vectors of the variant `more_features`. */
export const MORE_FEATURES = 16

const shared = {
  input: inputSpec.describe('Where queries, keys and values come from.'),
  original: inputSpec
    .optional()
    .describe(
      'Queries, keys and values of the model as it is: exact attention on these is learned. `input` then comes from the model with earlier layers exchanged, and has all texts once for each draw that is learned. Absent: `input` comes from the model as it is.',
    )
    .meta({flag: 'sequential'}),
  learn: z
    .enum(LEARNED)
    .describe(
      'What is learned: one factor on queries and keys of a head (temperature), a D x D map of the queries and one of the keys (maps), or the random vectors (rows).',
    ),
  loss: z
    .enum(LOSSES)
    .optional()
    .describe(
      'What is learned for: outputs as those of exact attention (outputs), or its rows of weights, by their cross entropy (rows); absent: outputs.',
    ),
  steps: z.int().positive().describe('Most steps of Adam.'),
  learning_rate: z.number().positive().describe('Learning rate of Adam.').meta({flag: 'rate'}),
  held_out: z
    .number()
    .gt(0)
    .lt(1)
    .describe('Share of the texts, or of the tokens of a single text, that is not learned on.')
    .meta({flag: 'held-out'}),
  draws: z.int().positive().max(1000).describe('Independent draws; 1 where nothing is drawn.'),
  logit_scale: logitScale,
  causal: causalField,
  causal_align: causalAlignField,
  seed,
  backend: backendChoice,
}

export const tunePlan = z.object({
  experiment: z.literal('tune').describe('Name of the experiment.'),
  layers: layerAxis,
  layer_files: layerFiles,
  ...methodAxes,
  ...drawAxes,
  ...shared,
})
export type TunePlan = z.infer<typeof tunePlan>

/** One layer; of learned random vectors one draw of them. */
export const tuneCell = z.object({
  ...methodSpec.shape,
  layer: layerPoint,
  ...drawPoint,
  draw: z
    .int()
    .nonnegative()
    .nullable()
    .describe(
      'Draw of the random vectors that learning starts from; `null`: they are not learned, and every step draws others.',
    ),
  ...shared,
})
export type TuneCell = z.infer<typeof tuneCell>

const variantError = z.object({
  variant: z
    .enum(VARIANTS)
    .describe(
      'untuned: the method as it is; tuned: with what was learned; temperature: with the best factor on queries and keys of each head, by search; more_features: with 16 times as many random vectors; oprf, saderf: these methods with the same M; mean_value: averaging V; zero: outputs of zero.',
    ),
  replicate: z.int().describe('Number of the draw.'),
  variant_num_features: z.int().nullable().describe('M; `null`: the method has none.'),
  rel_l2: nullableNumber.describe(
    '|estimate - exact| / |exact| on held-out tokens, all heads and texts together.',
  ),
  per_head: z.array(nullableNumber).describe('The same of each head.'),
  per_text: z
    .array(nullableNumber)
    .default([])
    .describe('The same of each held-out text; empty in records that were made without.'),
})
export type VariantError = z.output<typeof variantError>

/** A look at the errors on the way. */
const curvePoint = z.object({
  step: z.int().describe('Steps taken.'),
  learned_error: nullableNumber.describe(
    'Root mean square over heads of the error of each head, relative to its exact outputs, on the tokens of the next step: what Adam lowers; with `loss: rows` the cross entropy of rows in nats, mean over queries and heads.',
  ),
  held_out_error: nullableNumber.describe('The same on held-out tokens.'),
})

/** What is learned of a layer: `query_map` `[H, D, D]`, `key_map` `[Hkv, D, D]`, `projection` `[H, M, D]`. */
const ARRAYS = ['query_map', 'key_map', 'projection'] as const

const learnedArray = z.object({
  name: z.enum(ARRAYS).describe('What it is.'),
  shape: z.array(z.int().positive()).describe('Its axes.'),
  data: z.string().describe('Its numbers, row-major float32 of little-endian bytes, as base64.'),
})
export type LearnedArray = z.output<typeof learnedArray>

const STOPS = ['steps', 'no_better', 'not_finite', 'interrupted'] as const

const {batch: _, ...sizes} = sizeFields

export const tuneResult = z.object({
  ...computedBy,
  ...sizes,
  key_heads: z.int().describe('Hkv, heads of keys in the file.'),
  feature_dim: featureDim,
  logit_scale: z.number().describe('beta: logits are beta q.k.'),
  input_origin: z
    .object({
      layer: z.int().nullable().describe('Number of its layer.'),
      model: z.string().nullable().describe('Name of its model.'),
      folder: z.string().nullable().describe('Folder of that, as `rfa export` was given it.'),
    })
    .nullable()
    .default(null)
    .describe(
      'Where the file of the input says that it is from; `null` in records that were made without.',
    ),
  held_out_by: z
    .enum(['texts', 'tokens'])
    .describe('Whole texts are held out, or the last tokens of a single text.'),
  learned_texts: z.int().describe('Texts that were learned on.'),
  learned_tokens: z.int().describe('Their tokens.'),
  held_out_texts: z.int().describe('Texts that were held out.'),
  held_out_tokens: z.int().describe('Their tokens.'),
  text_weights: z
    .array(z.number())
    .default([])
    .describe(
      'Squared length of the exact outputs of each held-out text as a share of that of all: what it counts in rel_l2 squared; empty in records that were made without.',
    ),
  steps_taken: z.int().describe('Steps that were taken.'),
  best_step: z.int().describe('Steps after which the held-out error was lowest.'),
  stopped: z
    .enum(STOPS)
    .describe(
      'Why learning ended: all `steps` were taken, the held-out error was `no_better` for 20 of them, a loss was `not_finite`, or it was `interrupted`.',
    ),
  seconds: z.number().describe('Time that learning took.').meta({unit: 's'}),
  curve: z.array(curvePoint).describe('Errors on the way.'),
  errors: z.array(variantError).describe('Errors on held-out tokens.'),
  parameters: z.array(learnedArray).describe('What was learned.'),
})
export type TuneResult = z.infer<typeof tuneResult>
export type TuneRecord = CellRecord<TuneCell, TuneResult>
export type CompletedTune = Completed<TuneCell, TuneResult>
