/** DistilBERT: BERT without token types, under other names. Sanh et al. 2019, arXiv:1910.01108. */
import {z} from 'zod'
import {parseWith} from '../../results/journal/parse-record.js'
import {type Architecture, activationOf, count, evenHeads} from '../architecture.js'
import {encoder} from '../encoder.js'

const fields = z.object({
  dim: count,
  n_layers: count,
  n_heads: count,
  hidden_dim: count,
  vocab_size: count,
  max_position_embeddings: count,
  activation: z.string().default('gelu'),
})

export default {
  types: ['distilbert'],
  classes: /^DistilBert(Model|For)/,
  weights: {
    prefix: 'distilbert.',
    own: /^(embeddings|transformer)\./,
    layer: /^transformer\.layer\.(\d+)\./,
    harmless: /^embeddings\.position_ids$/,
  },
  read(file, json) {
    const c = parseWith(fields, json, file, 'the configuration of a DistilBERT-like model')
    return encoder({
      facts: evenHeads(file, 'dim', {
        layers: c.n_layers,
        heads: c.n_heads,
        width: c.dim,
        causal: false,
        vocabulary: c.vocab_size,
        maxTokens: c.max_position_embeddings,
      }),
      activation: activationOf(file, 'activation', c.activation),
      innerWidth: c.hidden_dim,
      normEpsilon: 1e-12,
      tokenTypes: 0,
      padding: -1,
      names: {
        layers: 'transformer.layer',
        query: 'attention.q_lin',
        key: 'attention.k_lin',
        value: 'attention.v_lin',
        output: 'attention.out_lin',
        attentionNorm: 'sa_layer_norm',
        inner: 'ffn.lin1',
        outer: 'ffn.lin2',
        norm: 'output_layer_norm',
      },
    })
  },
} satisfies Architecture
