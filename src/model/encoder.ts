/** Encoders as BERT: a norm after each residual sum. Devlin et al. 2019, arXiv:1810.04805. */
import {normalizeRows} from '../attention/internal.js'
import {tf} from '../tf.js'
import type {Configured, ModelConfig} from './architecture.js'
import {toRows} from './operations.js'
import {attendRows, linear, lookUp, type Parts, readLayer, sizesOf} from './parts.js'
import type {TokenBatch} from './types.js'
import {matrix, vector, type Weights} from './weights.js'

type LayerPart = 'query' | 'key' | 'value' | 'output' | 'attentionNorm' | 'inner' | 'outer' | 'norm'

export interface EncoderConfig extends ModelConfig {
  /** Rows of token types; 0: the model has none. */
  tokenTypes: number
  /** The token of padding: positions are counted from behind its number, without such tokens; -1: there is none. */
  padding: number
  /** Names of the layers, and of what each has, behind its number. */
  names: Readonly<Record<'layers' | LayerPart, string>>
}

/** An encoder as BERT. */
export function encoder(config: EncoderConfig): Configured {
  return {facts: config.facts, parts: weights => partsOf(config, weights)}
}

function partsOf(config: EncoderConfig, weights: Weights): Parts {
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
      const {type, word, position} = tables
      const rows = {
        words: await lookUp(weights, word, batch),
        places: await lookUp(weights, position, {...batch, ids: positionsOf(batch, config)}),
        // every token is of the first type
        type: type && (await lookUp(weights, type, FIRST)),
        norm: await weights.read(norm),
      }
      const embedded = tf.tidy((): tf.Tensor3D => {
        const sum = tf.add(rows.words, rows.places) as tf.Tensor3D
        const typed = rows.type ? (tf.add(sum, rows.type) as tf.Tensor3D) : sum
        const {weight, bias} = rows.norm
        return tf.reshape(layerNorm(toRows(typed), weight, bias), sum.shape)
      })
      tf.dispose(rows)
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

/** The first row of a table, for all tokens. */
const FIRST = {ids: Int32Array.of(0), batch: 1, length: 1, lengths: [1]}

/** The row of its position for each token. */
function positionsOf({ids, length}: TokenBatch, {padding}: EncoderConfig): Int32Array {
  let seen = 0
  return ids.map((id, at) => {
    if (at % length === 0) seen = 0
    return id === padding ? padding : padding + ++seen
  })
}

function embeddingTables({facts, tokenTypes, padding}: EncoderConfig) {
  const {vocabulary, maxTokens, width} = facts
  const table = (name: string, rows: number) => matrix(`embeddings.${name}.weight`, rows, width)
  return {
    word: table('word_embeddings', vocabulary),
    position: table('position_embeddings', padding + 1 + maxTokens),
    type: tokenTypes > 0 ? table('token_type_embeddings', tokenTypes) : undefined,
  }
}

function normSpecs(name: string, width: number) {
  return {weight: vector(`${name}.weight`, width), bias: vector(`${name}.bias`, width)}
}

function layerSpecs({facts: {width}, innerWidth, names}: EncoderConfig, index: number) {
  const at = (part: LayerPart) => `${names.layers}.${index}.${names[part]}`
  return {
    query: matrix(`${at('query')}.weight`, width, width),
    queryBias: vector(`${at('query')}.bias`, width),
    key: matrix(`${at('key')}.weight`, width, width),
    keyBias: vector(`${at('key')}.bias`, width),
    value: matrix(`${at('value')}.weight`, width, width),
    valueBias: vector(`${at('value')}.bias`, width),
    output: matrix(`${at('output')}.weight`, width, width),
    outputBias: vector(`${at('output')}.bias`, width),
    attentionNorm: vector(`${at('attentionNorm')}.weight`, width),
    attentionNormBias: vector(`${at('attentionNorm')}.bias`, width),
    inner: matrix(`${at('inner')}.weight`, innerWidth, width),
    innerBias: vector(`${at('inner')}.bias`, innerWidth),
    outer: matrix(`${at('outer')}.weight`, width, innerWidth),
    outerBias: vector(`${at('outer')}.bias`, width),
    norm: vector(`${at('norm')}.weight`, width),
    normBias: vector(`${at('norm')}.bias`, width),
  }
}
