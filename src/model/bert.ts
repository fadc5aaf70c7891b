/**
 * Encoders as BERT: a norm after each residual sum. Devlin et al. 2019, arXiv:1810.04805; names of weights are those of
 * `BertModel` of Transformers.
 */
import {normalizeRows} from '../attention/internal.js'
import {tf} from '../tf.js'
import type {ModelConfig} from './config.js'
import {toRows} from './operations.js'
import {attendRows, linear, lookUp, type Parts, readLayer, sizesOf} from './parts.js'
import type {WeightNames} from './unread.js'
import {matrix, vector, type Weights} from './weights.js'

/** A model with a task's own layers behind it has a prefix. */
export const BERT_NAMES: WeightNames = {
  prefix: 'bert.',
  own: /^(embeddings|encoder)\./,
  layer: /^encoder\.layer\.(\d+)\./,
  harmless: /^(pooler\.|embeddings\.(position_ids|token_type_ids)$)/,
}

export function bertParts(config: ModelConfig, weights: Weights): Parts {
  const {layers, width} = config.facts
  const layerNorm = (x: tf.Tensor2D, weight: tf.Tensor1D, bias: tf.Tensor1D) =>
    normalizeRows(x, weight, {bias, epsilon: config.normEpsilon})
  const tables = embeddingTables(config)
  const norm = normSpecs('embeddings.LayerNorm', width)
  const every = Array.from({length: layers}, (_, index) => layerSpecs(config, index))
  return {
    specs: [tables, norm, ...every],
    sizes: sizesOf(every[0]!, {}, config.innerWidth),
    async embed(batch) {
      const types = await weights.readData(tables.type)
      // every token is of the first type
      const places = (await weights.readData(tables.position)).map((x, i) => x + types[i % width]!)
      const tensors = await weights.read(norm)
      const sum = await lookUp(weights, tables.word, batch, places)
      const embedded = tf.tidy(
        (): tf.Tensor3D =>
          tf.reshape(layerNorm(toRows(sum), tensors.weight, tensors.bias), sum.shape),
      )
      tf.dispose([sum, tensors])
      return embedded
    },
    layer: index =>
      readLayer(
        weights,
        every[index]!,
        (w, hidden, batch, attention) => {
          const x = toRows(hidden)
          const rows = {
            query: () => linear(x, w.query, w.queryBias),
            key: () => linear(x, w.key, w.keyBias),
            value: () => linear(x, w.value, w.valueBias),
          }
          const middle = tf.tidy(() => {
            const attended = attendRows(config, index, batch, rows, attention)
            const mixed = tf.add(linear(attended, w.output, w.outputBias), x) as tf.Tensor2D
            return layerNorm(mixed, w.attentionNorm, w.attentionNormBias)
          })
          const outer = tf.tidy(() => {
            const inner = linear(middle, w.inner, w.innerBias, config.activation)
            return linear(inner, w.outer, w.outerBias)
          })
          const sum = tf.add(outer, middle) as tf.Tensor2D
          return tf.reshape(layerNorm(sum, w.norm, w.normBias), hidden.shape)
        },
        (w, rows) => linear(rows, w.output),
      ),
  }
}

function embeddingTables({facts, tokenTypes}: ModelConfig) {
  const {vocabulary, maxTokens, width} = facts
  return {
    word: matrix('embeddings.word_embeddings.weight', vocabulary, width),
    position: matrix('embeddings.position_embeddings.weight', maxTokens, width),
    type: matrix('embeddings.token_type_embeddings.weight', tokenTypes, width),
  }
}

function normSpecs(name: string, width: number) {
  return {weight: vector(`${name}.weight`, width), bias: vector(`${name}.bias`, width)}
}

function layerSpecs({facts: {width}, innerWidth}: ModelConfig, index: number) {
  const at = `encoder.layer.${index}`
  const attention = `${at}.attention`
  return {
    query: matrix(`${attention}.self.query.weight`, width, width),
    queryBias: vector(`${attention}.self.query.bias`, width),
    key: matrix(`${attention}.self.key.weight`, width, width),
    keyBias: vector(`${attention}.self.key.bias`, width),
    value: matrix(`${attention}.self.value.weight`, width, width),
    valueBias: vector(`${attention}.self.value.bias`, width),
    output: matrix(`${attention}.output.dense.weight`, width, width),
    outputBias: vector(`${attention}.output.dense.bias`, width),
    attentionNorm: vector(`${attention}.output.LayerNorm.weight`, width),
    attentionNormBias: vector(`${attention}.output.LayerNorm.bias`, width),
    inner: matrix(`${at}.intermediate.dense.weight`, innerWidth, width),
    innerBias: vector(`${at}.intermediate.dense.bias`, innerWidth),
    outer: matrix(`${at}.output.dense.weight`, width, innerWidth),
    outerBias: vector(`${at}.output.dense.bias`, width),
    norm: vector(`${at}.output.LayerNorm.weight`, width),
    normBias: vector(`${at}.output.LayerNorm.bias`, width),
  }
}
