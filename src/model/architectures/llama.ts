/** Llama. Touvron et al. 2023, arXiv:2302.13971; names of weights are those of `LlamaModel` of Transformers. */
import {z} from 'zod'
import {expected} from '../../errors.js'
import {parseWith} from '../../results/journal/parse-record.js'
import {
  type Architecture,
  activationOf,
  type Configured,
  count,
  dividedBy,
  epsilon,
  unsupported,
} from '../architecture.js'
import {type DecoderConfig, decoder} from '../decoder.js'
import {rotary, toRotary} from '../rotary.js'
import type {WeightNames} from '../unread.js'

/** A model with a separate head has a prefix. Angles of rotary positions follow from the configuration. */
export const LLAMA_WEIGHTS: WeightNames = {
  prefix: 'model.',
  own: /^(embed_tokens|layers|norm|rotary_emb|lm_head)\./,
  layer: /^layers\.(\d+)\./,
  harmless: /^((layers\.\d+\.self_attn\.)?rotary_emb\.inv_freq|lm_head\.weight)$/,
}

/** Fields that decoders like Llama share. */
export const llamaFields = z.object({
  hidden_size: count,
  num_hidden_layers: count,
  num_attention_heads: count,
  num_key_value_heads: count.nullish(),
  head_dim: count.nullish(),
  intermediate_size: count,
  vocab_size: count,
  max_position_embeddings: count,
  rms_norm_eps: epsilon.default(1e-6),
  hidden_act: z.string().default('silu'),
  tie_word_embeddings: z.boolean().nullish(),
  partial_rotary_factor: z.number().nullish(),
  ...rotary,
})
const fields = llamaFields.extend({
  attention_bias: z.boolean().nullish(),
  mlp_bias: z.boolean().nullish(),
})

export default {
  types: ['llama'],
  classes: /^Llama(Model|For)/,
  weights: {...LLAMA_WEIGHTS, switches: ['attention_bias', 'mlp_bias']},
  read(file, json) {
    const c = parseWith(fields, json, file, 'the configuration of a Llama-like model')
    const attention = c.attention_bias ?? false
    return llamaLike(file, c, {
      biases: {rows: attention, output: attention, feedForward: c.mlp_bias ?? false},
    })
  },
} satisfies Architecture

/** Reads what {@link llamaFields} say. @throws as `Architecture.read` */
export function llamaLike(
  file: string,
  c: z.output<typeof llamaFields>,
  {
    biases = {rows: false, output: false, feedForward: false},
    headNorms = false,
    window,
  }: Partial<Pick<DecoderConfig, 'biases' | 'headNorms'>> & {window?: number | undefined},
): Configured {
  const given = c.rope_scaling ?? c.rope_parameters
  const turned = c.partial_rotary_factor ?? given?.partial_rotary_factor ?? 1
  if (turned !== 1) {
    const got = `partial_rotary_factor ${turned}`
    throw unsupported(file, 'heads that are rotated as a whole', got)
  }
  const keyHeads = c.num_key_value_heads ?? c.num_attention_heads
  dividedBy(file, 'num_attention_heads', c.num_attention_heads, keyHeads)
  const headDim = c.head_dim ?? dividedBy(file, 'hidden_size', c.hidden_size, c.num_attention_heads)
  if (headDim % 2 !== 0) {
    throw expected('BAD_FILE', file, 'heads of an even size, to be rotated', String(headDim))
  }
  return decoder({
    facts: {
      layers: c.num_hidden_layers,
      heads: c.num_attention_heads,
      keyHeads,
      headDim,
      width: c.hidden_size,
      causal: true,
      vocabulary: c.vocab_size,
      maxTokens: c.max_position_embeddings,
      ...(window !== undefined && {window}),
      scale: headDim ** -0.5,
    },
    activation: activationOf(file, 'hidden_act', c.hidden_act),
    innerWidth: c.intermediate_size,
    normEpsilon: c.rms_norm_eps,
    tiedHead: c.tie_word_embeddings ?? undefined,
    biases,
    headNorms,
    rotary: toRotary(file, c),
  })
}
