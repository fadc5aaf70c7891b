/** A small language model of characters, as `rfa train` trains it, with weights, tokens and random vectors that PyTorch gets, too. */
import * as tf from '@tensorflow/tfjs-core'
import {softmaxCrossEntropy} from '../../src/attention/internal.js'
import {attention, drawProjection} from '../../src/index.js'
import {
  type CausalAttention,
  hiddenStates,
  type NamedWeight,
  optimiserOf,
  type SmallModel,
  tokenLogits,
  weightShapes,
} from '../../src/model/trained/index.js'
import {normals, randomStream} from '../../src/random/index.js'

/** Sizes of the model and of a batch. */
export interface Sizes {
  layers: number
  /** d */
  width: number
  heads: number
  /** Of the hidden layer of the MLP. */
  hidden: number
  vocabulary: number
  batch: number
  length: number
  numFeatures: number
}

/** What both engines start from: weights, tokens and random vectors. */
export interface Start {
  weights: NamedWeight[]
  /** `[batch, length + 1]`: each is to be predicted from those before it. */
  tokens: Int32Array
  /** `[heads, numFeatures, width / heads]` */
  projection: Float32Array
}

function modelOf({hidden, ...sizes}: Sizes): SmallModel {
  const headDim = sizes.width / sizes.heads
  return {...sizes, headDim, mlp: hidden, convolution: 0, positions: true, gated: false}
}

/** Normal weights with the variance of one over their inputs, around 1 where they scale a norm; tokens at random. */
export function startOf(sizes: Sizes): Start {
  const {width, heads, vocabulary, batch, length, numFeatures} = sizes
  const weights = weightShapes(modelOf(sizes)).map(([name, shape]) => {
    const drawn = normals(randomStream(0, `bench.training.${name}`), tf.util.sizeFromShape(shape))
    const scale = name.endsWith('bias') ? 0.02 : shape.length === 1 ? 0.1 : shape[0]! ** -0.5
    const around = name.endsWith('norm.weight') ? 1 : 0
    return {name, shape, values: Float32Array.from(drawn, x => around + scale * x)}
  })
  const places = normals(randomStream(0, 'bench.training.tokens'), batch * (length + 1))
  const tokens = Int32Array.from(places, x => Math.floor(Math.abs(1e3 * x)) % vocabulary)
  const drawn = drawProjection({name: 'orth', heads, numFeatures, headDim: width / heads, seed: 0})
  return {weights, tokens, projection: Float32Array.from(drawn)}
}

/** The model with an optimiser, ready for its steps. */
export interface Training {
  /** Loss of the batch, and the gradient of each weight. */
  gradients(): {loss: tf.Scalar; grads: tf.NamedTensorMap}
  /** One step of Adam. */
  step(): void
  dispose(): void
}

/** Learning rate of the steps. */
const RATE = 3e-3

/** @param method - of the causal attention */
export function training(method: string, sizes: Sizes, start: Start): Training {
  const {width, heads, batch, length, numFeatures} = sizes
  const model = modelOf(sizes)
  const optimiser = optimiserOf(start.weights)
  const {inputs, labels} = tf.tidy(() => {
    const tokens = tf.tensor2d(start.tokens, [batch, length + 1], 'int32')
    return {
      inputs: tf.slice(tokens, [0, 0], [batch, length]),
      labels: tf.reshape(tf.slice(tokens, [0, 1], [batch, length]), [batch * length]),
    }
  })
  const projection = tf.tensor3d(start.projection, [heads, numFeatures, width / heads])
  const random = method === 'rfa' || method === 'favor-pos' ? {projection} : {}
  const attend: CausalAttention = ({query, key, value}) =>
    attention(query, key, value, {method: method as 'rfa', causal: true, ...random})
  const loss = () => {
    const hidden = hiddenStates(model, optimiser.weight, {tokens: inputs, attend})
    return softmaxCrossEntropy(tokenLogits(optimiser.weight, hidden), labels as tf.Tensor1D)
  }
  return {
    gradients: () => optimiser.gradients(loss),
    step: () => {
      optimiser.step(loss, {learningRate: RATE})
    },
    dispose: () => {
      optimiser.dispose()
      tf.dispose([inputs, labels, projection])
    },
  }
}
