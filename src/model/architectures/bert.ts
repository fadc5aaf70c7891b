/** BERT. Devlin et al. 2019, arXiv:1810.04805; names of weights are those of `BertModel` of Transformers. */
import {z} from 'zod'
import {describe} from '../../errors.js'
import {parseWith} from '../../results/journal/parse-record.js'
import {
  type Architecture,
  activationOf,
  count,
  epsilon,
  evenHeads,
  unsupported,
} from '../architecture.js'
import {type EncoderConfig, encoder} from '../encoder.js'
import type {WeightNames} from '../unread.js'

/** A model with a task's own layers behind it has a prefix. */
export const BERT_WEIGHTS: WeightNames = {
  prefix: 'bert.',
  own: /^(embeddings|encoder)\./,
  layer: /^encoder\.layer\.(\d+)\./,
  harmless: /^(pooler\.|embeddings\.(position_ids|token_type_ids)$)/,
}

/** Fields of BERT and RoBERTa. */
export const bertFields = z.object({
  hidden_size: count,
  num_hidden_layers: count,
  num_attention_heads: count,
  intermediate_size: count,
  vocab_size: count,
  max_position_embeddings: count,
  type_vocab_size: count.default(2),
  layer_norm_eps: epsilon.default(1e-12),
  hidden_act: z.string().default('gelu'),
  position_embedding_type: z.string().nullish(),
  is_decoder: z.boolean().nullish(),
})

export default {
  types: ['bert'],
  classes: /^Bert(Model|For)/,
  weights: BERT_WEIGHTS,
  read(file, json) {
    const c = parseWith(bertFields, json, file, 'the configuration of a BERT-like model')
    return encoder(bertConfig(file, c))
  },
} satisfies Architecture

/** Reads what {@link bertFields} say. @throws as `Architecture.read` */
export function bertConfig(file: string, c: z.output<typeof bertFields>): EncoderConfig {
  const positions = c.position_embedding_type ?? 'absolute'
  if (positions !== 'absolute') {
    throw unsupported(file, 'absolute positions', `position_embedding_type ${describe(positions)}`)
  }
  if (c.is_decoder) throw unsupported(file, 'an encoder', 'is_decoder true')
  return {
    facts: evenHeads(file, 'hidden_size', {
      layers: c.num_hidden_layers,
      heads: c.num_attention_heads,
      width: c.hidden_size,
      causal: false,
      vocabulary: c.vocab_size,
      maxTokens: c.max_position_embeddings,
    }),
    activation: activationOf(file, 'hidden_act', c.hidden_act),
    innerWidth: c.intermediate_size,
    normEpsilon: c.layer_norm_eps,
    tokenTypes: c.type_vocab_size,
    padding: -1,
    names: {
      layers: 'encoder.layer',
      query: 'attention.self.query',
      key: 'attention.self.key',
      value: 'attention.self.value',
      output: 'attention.output.dense',
      attentionNorm: 'attention.output.LayerNorm',
      inner: 'intermediate.dense',
      outer: 'output.dense',
      norm: 'output.LayerNorm',
    },
  }
}
