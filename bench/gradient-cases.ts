/** Operations with gradients, and the work that is counted for each: a multiply-add as two. */
import * as tf from '@tensorflow/tfjs-core'
import {
  dense,
  type FeatureSpec,
  featureMap,
  linearAttentionRatio,
  normalizeRows,
  softmaxAttention,
  softmaxCrossEntropy,
} from '../src/attention/kernels/index.js'
import {attention} from '../src/index.js'
import {draw} from './engine.js'

export interface GradientCase {
  name: string
  /** Those that have gradients. */
  inputs: tf.Tensor[]
  run(...inputs: tf.Tensor[]): tf.Tensor
  flops: {forward: number; backward: number}
}

/** Heads, tokens, D = Dv and M of attention. */
const [HEADS, LENGTH, DIM, ROWS] = [8, 2048, 64, 256]
/** Tokens, width and vocabulary of the layers of a model. */
const [TOKENS, WIDTH, VOCABULARY] = [4096, 256, 4096]

const normal = (name: string, ...shape: number[]) =>
  tf.tensor(draw(name, tf.util.sizeFromShape(shape)), shape)
const tokens = (name: string) => normal(name, 1, HEADS, LENGTH, DIM)
const sides = () => [tokens('query'), tokens('key'), tokens('value')]

export function gradientCases(): GradientCase[] {
  return [
    ...[false, true].flatMap(causal => [
      softmax(causal),
      linear('elu-plus-one', causal),
      linear('trigonometric', causal),
      linear('relu', causal),
      positive(causal),
    ]),
    linear('trigonometric', true, true),
    features(),
    denseCase(),
    norm(),
    entropy(),
  ]
}

const titled = (name: string, causal: boolean) => `${name}${causal ? ', causal' : ''}`

function softmax(causal: boolean): GradientCase {
  const pairs = (HEADS * LENGTH ** 2 * DIM) / (causal ? 2 : 1)
  return {
    ...{name: titled('softmax', causal), inputs: sides()},
    run: (q, k, v) => softmaxAttention(q!, k!, v!, {scale: 0.125, causal}).out,
    // logits and output; logits again, and four gradients
    flops: {forward: 4 * pairs, backward: 10 * pairs},
  }
}

/** Work by tokens alone, without the pairs of a causal chunk. */
function linear(kind: FeatureSpec['kind'], causal: boolean, gated = false): GradientCase {
  const double = kind === 'trigonometric'
  const rows = kind === 'elu-plus-one' ? 0 : double ? ROWS / 2 : ROWS
  const features = rows === 0 ? DIM : double ? 2 * rows : rows
  const side = (x: tf.Tensor, projection: tf.Tensor | undefined): FeatureSpec => ({
    ...{kind, x, unitNorm: double, projection: projection as tf.Tensor3D | undefined},
  })
  const gate = tf.neg(tf.abs(normal('gate', 1, HEADS, LENGTH)))
  return {
    name: `${titled(kind, causal)}${gated ? ', gates' : ''}`,
    inputs: [
      ...sides(),
      ...(rows ? [normal('rows', HEADS, rows, DIM)] : []),
      ...(gated ? [gate] : []),
    ],
    run: (q, k, v, w, logGate) =>
      linearAttentionRatio(side(q!, w), side(k!, w), v!, 'clamp:1e-2', {causal, logGate}).out,
    flops: {
      forward: 2 * HEADS * LENGTH * (2 * rows * DIM + 2 * features * DIM),
      // projections again, of keys twice and causal queries, too; tokens and rows of both sides; five products with sums
      backward: 2 * HEADS * LENGTH * ((causal ? 8 : 7) * rows * DIM + 5 * features * DIM),
    },
  }
}

function positive(causal: boolean): GradientCase {
  const work = HEADS * LENGTH * ROWS * DIM
  return {
    name: titled('favor-pos', causal),
    inputs: [...sides(), normal('rows', HEADS, ROWS, DIM)],
    run: (query, key, value, projection) =>
      attention(query as tf.Tensor4D, key as tf.Tensor4D, value as tf.Tensor4D, {
        ...{method: 'favor-pos', causal, projection: projection as tf.Tensor3D},
      }),
    flops: {forward: 8 * work, backward: (causal ? 26 : 20) * work},
  }
}

function features(): GradientCase {
  const rows = ROWS / 2
  const work = 2 * HEADS * LENGTH * rows * DIM
  return {
    name: 'trigonometric features',
    inputs: [tokens('query'), normal('rows', HEADS, rows, DIM)],
    run: (x, w) => featureMap(x!, w as tf.Tensor3D, 'trigonometric'),
    flops: {forward: work, backward: 3 * work},
  }
}

function denseCase(): GradientCase {
  const work = 2 * TOKENS * WIDTH * 4 * WIDTH
  return {
    name: 'dense, relu',
    inputs: [normal('x', TOKENS, WIDTH), normal('w', WIDTH, 4 * WIDTH), normal('b', 4 * WIDTH)],
    run: (x, w, bias) =>
      dense(x as tf.Tensor2D, w as tf.Tensor2D, {bias: bias as tf.Tensor1D, activation: 'relu'}),
    flops: {forward: work, backward: 2 * work},
  }
}

function norm(): GradientCase {
  const work = TOKENS * WIDTH
  return {
    name: 'layer norm',
    inputs: [normal('x', TOKENS, WIDTH), normal('b', WIDTH), normal('w', WIDTH)],
    run: (x, w, bias) =>
      normalizeRows(x as tf.Tensor2D, w as tf.Tensor1D, {bias: bias as tf.Tensor1D}),
    flops: {forward: 8 * work, backward: 16 * work},
  }
}

function entropy(): GradientCase {
  const work = TOKENS * VOCABULARY
  const labels = tf.tensor1d(Int32Array.from({length: TOKENS}, (_, i) => (i * 37) % VOCABULARY))
  return {
    name: 'cross entropy',
    inputs: [normal('logits', TOKENS, VOCABULARY)],
    run: logits => softmaxCrossEntropy(logits as tf.Tensor2D, labels),
    // one exponential, as 16 multiply-adds, and a few more
    flops: {forward: 36 * work, backward: 38 * work},
  }
}
