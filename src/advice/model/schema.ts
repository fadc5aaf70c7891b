/** Advice on a whole model as data, but for where it was saved. */
import {z} from 'zod'
import {causalField} from '../../experiments/axes.js'
import {nullableNumber, seed} from '../../results/record.js'
import {costFields, gainFields, variantFields} from '../schema.js'

/**
 * Why nothing is exchanged:
 * - `guess`: the model does no better on the texts than equal chances for every token
 * - `budget`: no method keeps the budget in any layer
 * - `average`: where a method keeps it, averaging V does, too
 * - `time`: what keeps it is not faster than exact attention for certain
 */
const MODEL_OBSTACLES = ['guess', 'budget', 'average', 'time'] as const

const candidate = z.object({
  ...variantFields,
  layers: z
    .array(z.number().int())
    .describe('Largest set of layers found that keeps the budget, counted from 0.'),
  loss: nullableNumber.describe('Loss with attention exchanged in these layers.'),
  loss_low: nullableNumber.describe('Lower end of its 95 % interval over texts and draws.'),
  loss_high: nullableNumber.describe('Upper end of that interval.'),
  least_loss: nullableNumber.describe(
    'Loss with attention exchanged in the layer that loses least.',
  ),
  least_loss_low: nullableNumber.describe('Lower end of its 95 % interval over texts and draws.'),
  least_loss_high: nullableNumber.describe('Upper end of that interval.'),
  least_layer: z.number().int().nullable().describe('That layer.'),
  ...costFields,
  ...gainFields,
})
export type ModelCandidate = z.infer<typeof candidate>

/** What `rfa advise --model` says. */
export const modelAdviceFacts = z.object({
  model: z.string().describe('Folder of the model.'),
  texts: z.string().describe('File of the texts that it read.'),
  model_layers: z.number().int().describe('Layers of the model.'),
  heads: z.number().int().describe('H, heads of queries.'),
  head_dim: z.number().int().describe('D, entries of a query or key.'),
  causal: causalField,
  texts_read: z.number().int().describe('Texts that were read.'),
  tokens_read: z.number().int().describe('Their tokens, after the cut.'),
  original_nats: nullableNumber.meta({
    unit: 'nats',
    description: 'Nats per token of the original model; `null` for an encoder.',
  }),
  guessing_nats: nullableNumber.default(null).meta({
    unit: 'nats',
    description: 'Loss of equal chances for every token; `null` for an encoder.',
  }),
  attention_share: nullableNumber
    .default(null)
    .describe(
      'Share of attention in the operations of the exact model at seq_len, counted; no method makes the model more than 1 / (1 - share) times as fast by it.',
    ),
  budget: z
    .number()
    .describe(
      'Most loss that is accepted: nats per token of a causal model, 1 - cosine of an encoder.',
    ),
  seq_len: z.number().int().describe('L that is advised for, of queries and keys in times.'),
  effort: z.enum(['quick', 'full']).describe('How much was spent on draws and times.'),
  seed,
  backend: z.string().describe('What computed.'),
  left_out: z.array(z.string()).describe('What could not be measured, and why.'),
  exact: z
    .object({form: z.string().describe('Name of the exact form.'), ...costFields})
    .describe('The faster exact form.'),
  candidate: z.string().nullable().describe('Label of what to take; `null`: exact attention.'),
  obstacle: z
    .enum(MODEL_OBSTACLES)
    .nullable()
    .describe(
      'Why nothing: the model guesses on the texts, or no method keeps the budget in any layer, or averaging V keeps it in the same layers, or what keeps it is not faster for certain; `null` with a candidate.',
    ),
  statement: z.string().describe('The recommendation in sentences.'),
  candidates: z.array(candidate).describe('What was measured, most time saved first.'),
})
export type ModelAdvice = z.infer<typeof modelAdviceFacts>
