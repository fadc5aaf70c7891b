/**
 * Decoders as GPT-2: a norm before each part, positions added to the embeddings. Radford et al. 2019; names of weights are
 * those of `GPT2Model` of Transformers, matrices as `[in, out]`.
 */
import {z} from 'zod'
import {dense, normalizeRows} from '../../attention/internal.js'
import {parseWith} from '../../results/journal/parse-record.js'
import {tf} from '../../tf.js'
import {
  type Architecture,
  activationOf,
  count,
  epsilon,
  evenHeads,
  type ModelConfig,
  unsupported,
} from '../architecture.js'
import {toRows} from '../operations.js'
import {attendRows, lookUp, type Parts, readHead, readLayer, sizesOf} from '../parts.js'
import {matrix, vector, type Weights} from '../weights.js'

const fields = z.object({
  n_embd: count,
  n_layer: count,
  n_head: count,
  n_inner: count.nullish(),
  vocab_size: count,
  n_positions: count,
  layer_norm_epsilon: epsilon.default(1e-5),
  activation_function: z.string().default('gelu_new'),
  scale_attn_weights: z.boolean().default(true),
  scale_attn_by_inverse_layer_idx: z.boolean().nullish(),
  add_cross_attention: z.boolean().nullish(),
  tie_word_embeddings: z.boolean().nullish(),
})

export default {
  types: ['gpt2'],
  classes: /^GPT2(Model|LMHead|DoubleHeads|For)/,
  // a model with a separate head has a prefix; buffers are masks of causal attention
  weights: {
    prefix: 'transformer.',
    own: /^(wte|wpe|h|ln_f|lm_head)\./,
    layer: /^h\.(\d+)\./,
    harmless: /^(h\.\d+\.attn\.(bias|masked_bias)|lm_head\.weight)$/,
  },
  read(file, json) {
    const config = configOf(file, json)
    return {facts: config.facts, parts: weights => partsOf(config, weights)}
  },
} satisfies Architecture

interface Gpt2Config extends ModelConfig {
  /** Whether the output matrix is the table of embeddings. */
  tiedHead: boolean
}

function configOf(file: string, json: object): Gpt2Config {
  const c = parseWith(fields, json, file, 'the configuration of a GPT-2-like model')
  if (c.scale_attn_by_inverse_layer_idx) {
    const got = 'scale_attn_by_inverse_layer_idx true'
    throw unsupported(file, 'the same scale of attention in all layers', got)
  }
  if (c.add_cross_attention) {
    throw unsupported(file, 'a decoder by itself', 'add_cross_attention true')
  }
  const facts = evenHeads(file, 'n_embd', {
    layers: c.n_layer,
    heads: c.n_head,
    width: c.n_embd,
    causal: true,
    vocabulary: c.vocab_size,
    maxTokens: c.n_positions,
  })
  return {
    facts: c.scale_attn_weights ? facts : {...facts, scale: 1},
    activation: activationOf(file, 'activation_function', c.activation_function),
    innerWidth: c.n_inner ?? 4 * c.n_embd,
    normEpsilon: c.layer_norm_epsilon,
    tiedHead: c.tie_word_embeddings ?? true,
  }
}

function partsOf(config: Gpt2Config, weights: Weights): Parts {
  const {layers, width, vocabulary, maxTokens} = config.facts
  const layerNorm = (x: tf.Tensor2D, weight: tf.Tensor1D, bias: tf.Tensor1D) =>
    normalizeRows(x, weight, {bias, epsilon: config.normEpsilon})
  const words = matrix('wte.weight', vocabulary, width)
  const places = matrix('wpe.weight', maxTokens, width)
  const every = Array.from({length: layers}, (_, index) => layerSpecs(config, index))
  const head = {
    norm: vector('ln_f.weight', width),
    normBias: vector('ln_f.bias', width),
    output: config.tiedHead ? words : matrix('lm_head.weight', vocabulary, width),
  }
  const headed = config.tiedHead || weights.has('lm_head.weight')
  const {output, ...norms} = head
  return {
    specs: [{words, places}, ...every, headed ? head : norms],
    sizes: sizesOf(every[0]!, head, config.innerWidth),
    embed: async batch => lookUp(weights, words, batch, await weights.readData(places)),
    layer: index =>
      readLayer(
        weights,
        every[index]!,
        (w, hidden, batch, attention) => {
          const x = toRows(hidden)
          const middle = tf.tidy(() => {
            const first = layerNorm(x, w.norm, w.normBias)
            const rows = threeRows(dense(first, w.input, {bias: w.inputBias}))
            const attended = attendRows(config, index, batch, rows, attention)
            return tf.add(x, dense(attended, w.output, {bias: w.outputBias})) as tf.Tensor2D
          })
          const outer = tf.tidy(() => {
            const second = layerNorm(middle, w.innerNorm, w.innerNormBias)
            const inner = dense(second, w.inner, {bias: w.innerBias, activation: config.activation})
            return dense(inner, w.outer, {bias: w.outerBias})
          })
          return tf.reshape(tf.add(middle, outer), hidden.shape)
        },
        (w, rows) => dense(rows, w.output),
      ),
    ...(headed && {
      head: () =>
        readHead(weights, head, (w, hidden) => {
          const normed = layerNorm(toRows(hidden), w.norm, w.normBias)
          return dense(normed, w.output, {transposed: true})
        }),
    }),
  }
}

/** Rows of queries, keys and values that stand side by side, `[N, 3 W]`. */
function threeRows(x: tf.Tensor2D) {
  const [count, three] = x.shape
  const stacked = tf.transpose(tf.reshape(x, [count, 3, three / 3]), [1, 0, 2])
  const [query, key, value] = tf.unstack(stacked) as [tf.Tensor2D, tf.Tensor2D, tf.Tensor2D]
  return {query: () => query, key: () => key, value: () => value}
}

function layerSpecs({facts: {width}, innerWidth}: ModelConfig, index: number) {
  const at = `h.${index}`
  return {
    norm: vector(`${at}.ln_1.weight`, width),
    normBias: vector(`${at}.ln_1.bias`, width),
    input: matrix(`${at}.attn.c_attn.weight`, width, 3 * width),
    inputBias: vector(`${at}.attn.c_attn.bias`, 3 * width),
    output: matrix(`${at}.attn.c_proj.weight`, width, width),
    outputBias: vector(`${at}.attn.c_proj.bias`, width),
    innerNorm: vector(`${at}.ln_2.weight`, width),
    innerNormBias: vector(`${at}.ln_2.bias`, width),
    inner: matrix(`${at}.mlp.c_fc.weight`, width, innerWidth),
    innerBias: vector(`${at}.mlp.c_fc.bias`, innerWidth),
    outer: matrix(`${at}.mlp.c_proj.weight`, innerWidth, width),
    outerBias: vector(`${at}.mlp.c_proj.bias`, width),
  }
}
