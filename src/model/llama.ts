/**
 * Decoders as Llama: RMS norms before each part, rotary positions, heads of keys that several heads of queries share, and a
 * gated feed-forward part. Touvron et al. 2023, arXiv:2302.13971; names of weights are those of `LlamaModel` of Transformers.
 */
import {normalizeRows} from '../attention/internal.js'
import {tf} from '../tf.js'
import type {ModelConfig} from './config.js'
import {toRows} from './operations.js'
import {attendRows, linear, lookUp, type Parts, readHead, readLayer, sizesOf} from './parts.js'
import {quarterTurn, type Rotary, turn, turnsOf} from './rotary.js'
import type {WeightNames} from './unread.js'
import {matrix, vector, type Weights} from './weights.js'

/** A model with a separate head has a prefix. Angles of rotary positions follow from the configuration. */
export const LLAMA_NAMES: WeightNames = {
  prefix: 'model.',
  own: /^(embed_tokens|layers|norm|rotary_emb|lm_head)\./,
  layer: /^layers\.(\d+)\./,
  harmless: /^((layers\.\d+\.self_attn\.)?rotary_emb\.inv_freq|lm_head\.weight)$/,
}

export function llamaParts(config: ModelConfig, rotary: Rotary, weights: Weights): Parts {
  const {layers, width, vocabulary, headDim} = config.facts
  const rmsNorm = (x: tf.Tensor2D, weight: tf.Tensor1D) =>
    normalizeRows(x, weight, {epsilon: config.normEpsilon, centred: false})
  const words = matrix('embed_tokens.weight', vocabulary, width)
  const every = Array.from({length: layers}, (_, index) => layerSpecs(config, weights, index))
  const tied = config.tiedHead ?? !weights.has('lm_head.weight')
  const head = {
    norm: vector('norm.weight', width),
    output: tied ? words : matrix('lm_head.weight', vocabulary, width),
  }
  const headed = tied || weights.has('lm_head.weight')
  return {
    specs: [{words}, ...every, headed ? head : {norm: head.norm}],
    // gate, its partner and their product
    sizes: sizesOf(every[0]!, head, 3 * config.innerWidth),
    embed: batch => lookUp(weights, words, batch),
    layer: index =>
      readLayer(
        weights,
        every[index]!,
        (w, hidden, batch, attention) => {
          const x = toRows(hidden)
          const first = rmsNorm(x, w.norm)
          const rows = {
            query: () => linear(first, w.query, w.queryBias),
            key: () => linear(first, w.key, w.keyBias),
            value: () => linear(first, w.value, w.valueBias),
          }
          const turns = turnsOf(rotary, batch, headDim)
          const quarter = quarterTurn(headDim)
          const middle = tf.tidy(() => {
            const attended = attendRows(config, index, batch, rows, attention, heads =>
              turn(heads, turns, quarter),
            )
            return tf.add(x, linear(attended, w.output, w.outputBias)) as tf.Tensor2D
          })
          const outer = tf.tidy(() => {
            const second = rmsNorm(middle, w.innerNorm)
            const gate = linear(second, w.gate, w.gateBias, config.activation)
            const inner = tf.mul(gate, linear(second, w.inner, w.innerBias)) as tf.Tensor2D
            return linear(inner, w.outer, w.outerBias)
          })
          return tf.reshape(tf.add(middle, outer), hidden.shape)
        },
        (w, rows) => linear(rows, w.output),
      ),
    ...(headed && {
      head: () =>
        readHead(weights, head, (w, hidden) => linear(rmsNorm(toRows(hidden), w.norm), w.output)),
    }),
  }
}

function layerSpecs({facts, innerWidth, biases}: ModelConfig, weights: Weights, index: number) {
  const {width, heads, keyHeads, headDim} = facts
  const at = `layers.${index}`
  const bias = (wanted: boolean, name: string, length: number) =>
    wanted ? vector(`${at}.${name}.bias`, length) : undefined
  const queries = heads * headDim
  const keys = keyHeads * headDim
  const {attention, feedForward} = biases
  return {
    norm: vector(`${at}.input_layernorm.weight`, width),
    query: matrix(`${at}.self_attn.q_proj.weight`, queries, width),
    queryBias: bias(attention, 'self_attn.q_proj', queries),
    key: matrix(`${at}.self_attn.k_proj.weight`, keys, width),
    keyBias: bias(attention, 'self_attn.k_proj', keys),
    value: matrix(`${at}.self_attn.v_proj.weight`, keys, width),
    valueBias: bias(attention, 'self_attn.v_proj', keys),
    output: matrix(`${at}.self_attn.o_proj.weight`, width, queries),
    // models that say so may have biases of q, k and v alone
    outputBias: bias(
      attention && weights.has(`${at}.self_attn.o_proj.bias`),
      'self_attn.o_proj',
      width,
    ),
    innerNorm: vector(`${at}.post_attention_layernorm.weight`, width),
    gate: matrix(`${at}.mlp.gate_proj.weight`, innerWidth, width),
    gateBias: bias(feedForward, 'mlp.gate_proj', innerWidth),
    inner: matrix(`${at}.mlp.up_proj.weight`, innerWidth, width),
    innerBias: bias(feedForward, 'mlp.up_proj', innerWidth),
    outer: matrix(`${at}.mlp.down_proj.weight`, width, innerWidth),
    outerBias: bias(feedForward, 'mlp.down_proj', width),
  }
}
