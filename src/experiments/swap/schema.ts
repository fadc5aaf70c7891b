/** What exchanged attention does to a pretrained model: plan, cell and result. */
import {z} from 'zod'
import {
  backendChoice,
  type CellRecord,
  type Completed,
  computedBy,
  nullableNumber,
  seed,
} from '../../results/record.js'
import {drawAxes, drawPoint, methodAxes, methodSpec} from '../axes.js'
import {
  device,
  digest,
  engineBackend,
  engineFacts,
  engineOfCell,
  engineOfPlan,
  layerNumbers,
  pretrainedModel,
} from '../pretrained.js'

const shared = {
  model: pretrainedModel,
  original: pretrainedModel
    .optional()
    .describe(
      'Model that effects are measured against, with its own attention; absent: the exchanged model itself.',
    ),
  texts: z
    .object({
      path: z
        .string()
        .describe(
          'File of texts, one a line, or folder of .txt files, each of them a text, or file of arrays.',
        ),
      digest,
      count: z.int().positive().describe('How many of its first texts are read.'),
      format: z
        .literal('npz')
        .optional()
        .describe('Arrays that the model reads in place of texts, an item a row; absent: texts.'),
    })
    .describe('What the model reads.'),
  max_tokens: z.int().min(2).describe('Tokens at which a text is cut.').meta({flag: 'max-tokens'}),
  causal: z.boolean().describe('Query i sees the keys up to i only, as the model has it.'),
  budget: z
    .number()
    .positive()
    .optional()
    .describe(
      'Most loss, nats per token or 1 - cosine: the largest set of layers found that keeps it is exchanged; absent: all layers of the set are.',
    ),
  replicates: z.int().positive().describe('Independent draws; 1 where nothing is drawn.'),
  seed,
  backend: backendChoice,
  device,
}

const layerSet = layerNumbers
  .min(1)
  .describe(
    'Layers with exchanged attention, all at once, counted from 0; with a budget those to choose from.',
  )

export const swapPlan = z.object({
  experiment: z.literal('swap').describe('Name of the experiment.'),
  ...methodAxes,
  ...drawAxes,
  layer_sets: z.array(layerSet).min(1).describe('Sets of layers, in turn.').meta({flag: 'layers'}),
  ...shared,
  engine: engineOfPlan,
})
export type SwapPlan = z.infer<typeof swapPlan>

/** One method in one set of layers; all its draws on all texts. */
export const swapCell = z.object({
  ...methodSpec.shape,
  ...drawPoint,
  layers: layerSet,
  ...shared,
  engine: engineOfCell,
})
export type SwapCell = z.infer<typeof swapCell>

/** A mean with its 95 % interval over texts and draws. @param each - what counts alike in the mean */
function effect(description: string, each: 'texts' | 'tokens', unit?: 'nats') {
  return z
    .object({
      mean: nullableNumber.describe(`${description} Mean over ${each} and draws.`),
      low: nullableNumber.describe(
        'Lower end of its 95 % interval over texts and draws; `null` with a single text.',
      ),
      high: nullableNumber.describe('Upper end of that interval.'),
    })
    .meta({description, ...(unit && {unit})})
}
export type Effect = z.output<ReturnType<typeof effect>>

/** What exchanged attention does to next-token predictions. */
const CAUSAL_EFFECTS = {
  nats_added: effect(
    'Nats per token more than the original: ln p(original) - ln p(exchanged) of the token that follows.',
    'tokens',
  ),
  kl_nats: effect(
    'KL divergence of the next-token distribution from the original one.',
    'tokens',
    'nats',
  ),
  top_agreement: effect('Share of places at which both hold the same token most likely.', 'tokens'),
}

/** What exchanged attention does to embeddings of texts. */
const ENCODER_EFFECTS = {
  cosine_loss: effect(
    '1 - cosine between the embedding of a text and that of the original.',
    'texts',
  ),
  neighbour_agreement: effect(
    'Share of texts with the same nearest other text as in the original.',
    'texts',
  ),
  ten_nearest_kept: effect(
    'Share of the ten nearest other texts that the original has, too.',
    'texts',
  ),
}

/** Effects on the tokens between two positions. */
const positionBin = z.object({
  first: z.int().describe('First position, counted from 1.'),
  last: z.int().describe('Last position.'),
  texts: z.int().describe('Texts that have such tokens.'),
  nats_added: effect(
    'Nats per token more than the original, of predictions made at these positions.',
    'tokens',
  )
    .nullable()
    .describe('`null` for an encoder, and where no token follows.'),
  hidden_error: nullableNumber.describe(
    'Relative L2 error of the output of the last layer at these positions, root mean square over draws.',
  ),
})

const triedSet = z.object({
  set: layerNumbers.describe('Its layers, counted from 0.'),
  loss: effect('Nats per token more than the original, or 1 - cosine for an encoder.', 'tokens'),
  within: z.boolean().describe('The upper end of its interval keeps the budget.'),
})

/** Errors of exchanged attention by itself, on the hidden states of the original. */
const attentionErrors = z.object({
  rel_l2: nullableNumber.describe(
    'Relative L2 error of attention outputs before the output projection, all heads and tokens together.',
  ),
  token_mean_rel_l2: nullableNumber.describe(
    'The same of their means over the tokens of each text.',
  ),
  residual: nullableNumber.describe(
    'L2 norm of their error after the output projection over that of the residual stream it is added to.',
  ),
  token_mean_residual: nullableNumber.describe('The same of means over the tokens of each text.'),
})
export type AttentionErrorName = keyof z.output<typeof attentionErrors>
export const ATTENTION_ERRORS = attentionErrors.keyof().options

/** One draw on one group of texts. */
const part = z.object({
  draw: z.int().describe('Number of the draw.'),
  group: z.int().describe('Group: text i is in group i modulo their number.'),
  damage: nullableNumber.describe('Nats per token more than the original, or 1 - cosine.'),
  hidden_error: z.array(nullableNumber).describe('Errors of the outputs of the layers.'),
  attention_errors: attentionErrors.describe('Errors of attention in the first exchanged layer.'),
})
export type SwapPart = z.output<typeof part>

export const swapResult = z.object({
  ...computedBy,
  backend: engineBackend,
  engine: engineFacts,
  model_kind: z.string().describe('Architecture.'),
  model_layers: z.int().describe('Layers of the model.'),
  heads: z.int().describe('H, heads of queries.'),
  head_dim: z.int().describe('D, entries of a query or key.'),
  feature_dim: z.int().describe('F, length of phi; 0: the method has no features.'),
  texts_read: z.int().describe('Texts that were read.'),
  tokens_read: z.int().describe('Their tokens, after the cut.'),
  texts_left_out: z
    .int()
    .default(0)
    .describe('Texts that were left out: of a single token, or of none.'),
  pooled_by: z
    .string()
    .nullable()
    .default(null)
    .describe(
      'How an encoder makes one vector of a text; `null` for a causal model, and in records that were made without.',
    ),
  original_nats: nullableNumber.meta({
    unit: 'nats',
    description:
      'Nats per token of the original model, losses of all texts over their tokens; `null` for an encoder.',
  }),
  original_nats_high: nullableNumber.default(null).meta({
    unit: 'nats',
    description: 'Upper end of its 95 % interval over texts; `null` with a single text.',
  }),
  guessing_nats: nullableNumber.default(null).meta({
    unit: 'nats',
    description:
      'Loss of a model that holds every token equally likely, ln of the vocabulary; `null` for an encoder and in earlier records.',
  }),
  causal_effects: z.object(CAUSAL_EFFECTS).nullable().describe('`null` for an encoder.'),
  encoder_effects: z
    .object({
      ...ENCODER_EFFECTS,
      pair_spearman: effect(
        "Spearman's rank correlation of the similarities of all pairs of texts with those of the original.",
        'texts',
      ),
      class_agreement: effect('Share of texts with the same most likely class.', 'texts')
        .nullable()
        .default(null)
        .describe('`null` for a model that predicts no classes, and where this program runs it.'),
    })
    .nullable()
    .describe('`null` for a causal model.'),
  hidden_error: z
    .array(nullableNumber)
    .describe(
      'Relative L2 error of the output of every layer against the original, all tokens together, root mean square over draws.',
    ),
  positions: z
    .array(positionBin)
    .default([])
    .describe('Effects by position in a text; empty in records that were made without them.'),
  chosen_layers: layerNumbers
    .nullable()
    .default(null)
    .describe(
      'Largest set of layers found that keeps the budget, counted from 0: all effects are of it; `null`: there is no budget.',
    ),
  tried_sets: z
    .array(triedSet)
    .default([])
    .describe('Sets of layers that the search for it has run, in turn.'),
  attention_errors: attentionErrors
    .nullable()
    .default(null)
    .describe(
      'Errors of attention in the first exchanged layer, which reads the hidden states of the original; root mean square over draws; `null` in records that were made without.',
    ),
  parts: z
    .array(part)
    .nullable()
    .default(null)
    .describe(
      'Every draw on every group of texts, at most ten; `null` in records that were made without.',
    ),
})
export type SwapResult = z.infer<typeof swapResult>
export type SwapRecord = CellRecord<SwapCell, SwapResult>
export type CompletedSwap = Completed<SwapCell, SwapResult>

/** What a swap does to predictions or embeddings. */
export type Effects = Pick<
  SwapResult,
  | 'original_nats'
  | 'original_nats_high'
  | 'guessing_nats'
  | 'causal_effects'
  | 'encoder_effects'
  | 'positions'
>

/** Whether the original model does no better on these texts than if all tokens were equally likely. */
export function isGuessing({
  original_nats: nats,
  original_nats_high: high,
  guessing_nats: guess,
}: Pick<SwapResult, 'original_nats' | 'original_nats_high' | 'guessing_nats'>): boolean {
  return nats !== null && guess !== null && (high ?? nats) >= guess
}

/** The effect that orders methods and that a budget limits, the less the better: nats added per token, or 1 - cosine. */
export function lossOf({causal_effects, encoder_effects}: Effects): Effect {
  return causal_effects?.nats_added ?? encoder_effects!.cosine_loss
}
