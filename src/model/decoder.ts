/**
 * Decoders as Llama: RMS norms before each part, rotary positions, heads of keys that several heads of queries share, and a
 * gated feed-forward part. Touvron et al. 2023, arXiv:2302.13971.
 */
import {normalizeRows} from '../attention/internal.js'
import {tf} from '../tf.js'
import type {Configured, ModelConfig} from './architecture.js'
import {toRows} from './operations.js'
import {attendRows, linear, lookUp, type Parts, readHead, readLayer, sizesOf} from './parts.js'
import {quarterTurn, type Rotary, turn, turnsOf} from './rotary.js'
import {matrix, vector, type Weights} from './weights.js'

export interface DecoderConfig extends ModelConfig {
  /** Whether the output matrix is the table of embeddings; `undefined` where only the weights can tell. */
  tiedHead: boolean | undefined
  /** Which matrices have biases: of queries, keys and values, of the output of attention, of the feed-forward part. */
  biases: {rows: boolean; output: boolean; feedForward: boolean}
  /** Whether each head of queries and of keys has an RMS norm before it is rotated. */
  headNorms: boolean
  rotary: Rotary
}

/** A decoder as Llama. */
export function decoder(config: DecoderConfig): Configured {
  return {facts: config.facts, parts: weights => partsOf(config, weights)}
}

function partsOf(config: DecoderConfig, weights: Weights): Parts {
  const {layers, width, vocabulary, headDim} = config.facts
  const rmsNorm = (x: tf.Tensor2D, weight: tf.Tensor1D) =>
    normalizeRows(x, weight, {epsilon: config.normEpsilon, centred: false})
  const normed = (rows: tf.Tensor2D, weight: tf.Tensor1D | undefined): tf.Tensor2D =>
    weight ? tf.reshape(rmsNorm(tf.reshape(rows, [-1, headDim]), weight), rows.shape) : rows
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
            query: () => normed(linear(first, w.query, w.queryBias), w.queryNorm),
            key: () => normed(linear(first, w.key, w.keyBias), w.keyNorm),
            value: () => linear(first, w.value, w.valueBias),
          }
          const turns = turnsOf(config.rotary, batch, headDim)
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

function layerSpecs(
  {facts, innerWidth, biases, headNorms}: DecoderConfig,
  weights: Weights,
  index: number,
) {
  const {width, heads, keyHeads, headDim} = facts
  const at = `layers.${index}`
  const bias = (wanted: boolean, name: string, length: number) =>
    wanted ? vector(`${at}.${name}.bias`, length) : undefined
  const queries = heads * headDim
  const keys = keyHeads * headDim
  const {rows, output, feedForward} = biases
  return {
    norm: vector(`${at}.input_layernorm.weight`, width),
    query: matrix(`${at}.self_attn.q_proj.weight`, queries, width),
    queryBias: bias(rows, 'self_attn.q_proj', queries),
    key: matrix(`${at}.self_attn.k_proj.weight`, keys, width),
    keyBias: bias(rows, 'self_attn.k_proj', keys),
    queryNorm: headNorms ? vector(`${at}.self_attn.q_norm.weight`, headDim) : undefined,
    keyNorm: headNorms ? vector(`${at}.self_attn.k_norm.weight`, headDim) : undefined,
    value: matrix(`${at}.self_attn.v_proj.weight`, keys, width),
    valueBias: bias(rows, 'self_attn.v_proj', keys),
    output: matrix(`${at}.self_attn.o_proj.weight`, width, queries),
    // models that say so may have biases of q, k and v alone
    outputBias: bias(
      output && weights.has(`${at}.self_attn.o_proj.bias`),
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
