/** Advice on a whole model as data, but for where it was saved. */
import {z} from 'zod'
import {causalField} from '../../experiments/axes.js'
import {nullableNumber, seed} from '../../results/record.js'
import {variantFields} from '../schema.js'

const ns = (description: string) => ({unit: 'ns', description})

/** Time of the model on one text of the length. */
const timeFields = {
  time_ns: nullableNumber.meta(ns('Time of the whole model, median.')),
  time_low_ns: nullableNumber.meta(ns('Lower end of its 95 % interval.')),
  time_high_ns: nullableNumber.meta(ns('Upper end of that interval.')),
}

/**
 * Why nothing is exchanged:
 * - `guess`: the model does no better on the texts than equal chances for every token
 * - `budget`: no method keeps the budget in any layer
 * - `average`: where a method keeps it, averaging V does, too
 * - `untimed`: times of what keeps it are not known: the machine was too busy, or cells failed
 * - `time`: with what keeps it the model is not measurably faster
 */
const MODEL_OBSTACLES = ['guess', 'budget', 'average', 'untimed', 'time'] as const

const candidate = z.object({
  ...variantFields,
  layers: z
    .array(z.int())
    .describe('Largest set of layers found that keeps the budget, counted from 0.'),
  loss: nullableNumber.describe('Loss with attention exchanged in these layers.'),
  loss_low: nullableNumber.describe('Lower end of its 95 % interval over texts and draws.'),
  loss_high: nullableNumber.describe('Upper end of that interval.'),
  least_loss: nullableNumber.describe(
    'Loss with attention exchanged in the layer that loses least.',
  ),
  least_loss_low: nullableNumber.describe('Lower end of its 95 % interval over texts and draws.'),
  least_loss_high: nullableNumber.describe('Upper end of that interval.'),
  least_layer: z.int().nullable().describe('That layer.'),
  ...timeFields,
  gain: nullableNumber.describe(
    'Time of the model as it is over the time with these layers exchanged; `null`: not timed, as it keeps the budget only where averaging V does, too, or nowhere.',
  ),
  gain_low: nullableNumber.describe('Lower end of its 95 % interval.'),
  gain_high: nullableNumber.describe('Upper end of that interval.'),
})
export type ModelCandidate = z.infer<typeof candidate>

/** What `rfa advise --model` says. */
export const modelAdviceFacts = z.object({
  model: z.string().describe('Folder of the model.'),
  texts: z.string().describe('File of the texts that it read.'),
  model_layers: z.int().describe('Layers of the model.'),
  heads: z.int().describe('H, heads of queries.'),
  head_dim: z.int().describe('D, entries of a query or key.'),
  causal: causalField,
  texts_read: z.int().describe('Texts that were read.'),
  tokens_read: z.int().describe('Their tokens, after the cut.'),
  original_nats: nullableNumber.meta({
    unit: 'nats',
    description: 'Nats per token of the original model; `null` for an encoder.',
  }),
  guessing_nats: nullableNumber.default(null).meta({
    unit: 'nats',
    description: 'Loss of equal chances for every token; `null` for an encoder.',
  }),
  attention_share: nullableNumber.describe(
    'Share of attention in the time of the model at seq_len, by the model without attention: no method makes it more than 1 / (1 - share) times as fast.',
  ),
  attention_share_low: nullableNumber.describe('Lower end of its 95 % interval.'),
  attention_share_high: nullableNumber.describe('Upper end of that interval.'),
  budget: z
    .number()
    .describe(
      'Most loss that is accepted: nats per token of a causal model, 1 - cosine of an encoder.',
    ),
  seq_len: z.int().describe('L that is advised for: tokens of the text in times.'),
  effort: z.enum(['quick', 'full']).describe('How much was spent on draws and times.'),
  seed,
  backend: z.string().describe('What computed.'),
  left_out: z.array(z.string()).describe('What could not be measured, and why.'),
  exact: z
    .object(timeFields)
    .describe('The model as it is, in the run that the answer is from; compare times of one run.'),
  candidate: z.string().nullable().describe('Label of what to take; `null`: exact attention.'),
  obstacle: z
    .enum(MODEL_OBSTACLES)
    .nullable()
    .describe(
      'Why nothing: the model guesses on the texts, or no method keeps the budget in any layer, or averaging V keeps it in the same layers, or the times of what keeps it are not known, or with what keeps it the model is not measurably faster; `null` with a candidate.',
    ),
  statement: z.string().describe('The recommendation in sentences.'),
  candidates: z.array(candidate).describe('What was measured, the fastest model first.'),
})
export type ModelAdvice = z.infer<typeof modelAdviceFacts>
