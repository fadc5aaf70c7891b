/** A small language model of characters, as a user of the package would train one with TensorFlow.js. */
import * as tf from '@tensorflow/tfjs-core'
import {
  type AdamParameter,
  adamStep,
  dense,
  normalizeRows,
  softmaxCrossEntropy,
} from '../../src/attention/internal.js'
import {attention, drawProjection} from '../../src/index.js'
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
  weights: {name: string; shape: number[]; values: Float32Array}[]
  /** `[batch, length + 1]`: each is to be predicted from those before it. */
  tokens: Int32Array
  /** `[heads, numFeatures, width / heads]` */
  projection: Float32Array
}

/** Names and shapes of all weights, in the order of their use. */
function shapesOf(sizes: Sizes): [string, number[]][] {
  const {width, hidden, vocabulary, length} = sizes
  const layer = (at: number): [string, number[]][] => [
    [`${at}.norm.weight`, [width]],
    [`${at}.norm.bias`, [width]],
    [`${at}.qkv.weight`, [width, 3 * width]],
    [`${at}.qkv.bias`, [3 * width]],
    [`${at}.out.weight`, [width, width]],
    [`${at}.out.bias`, [width]],
    [`${at}.mlp_norm.weight`, [width]],
    [`${at}.mlp_norm.bias`, [width]],
    [`${at}.up.weight`, [width, hidden]],
    [`${at}.up.bias`, [hidden]],
    [`${at}.down.weight`, [hidden, width]],
    [`${at}.down.bias`, [width]],
  ]
  return [
    ['embedding', [vocabulary, width]],
    ['positions', [length, width]],
    ...Array.from({length: sizes.layers}, (_, at) => layer(at)).flat(),
    ['norm.weight', [width]],
    ['norm.bias', [width]],
    ['head.weight', [width, vocabulary]],
    ['head.bias', [vocabulary]],
  ]
}

/** Normal weights with the variance of one over their inputs, around 1 where they scale a norm; tokens at random. */
export function startOf(sizes: Sizes): Start {
  const {width, heads, vocabulary, batch, length, numFeatures} = sizes
  const weights = shapesOf(sizes).map(([name, shape]) => {
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

/** @param method - of the causal attention */
export function training(method: string, sizes: Sizes, start: Start): Training {
  const {width, heads, batch, length, numFeatures} = sizes
  const entries = start.weights.map(({name, shape, values}): [string, tf.Variable] => [
    name,
    tf.variable(tf.tensor(values, shape), true, `${method}.${name}`),
  ])
  const variables = new Map(entries)
  const tokens = tf.tensor2d(start.tokens, [batch, length + 1])
  const inputs = tf.reshape(tf.slice(tokens, [0, 0], [batch, length]), [batch * length])
  const labels = tf.reshape(tf.slice(tokens, [0, 1], [batch, length]), [batch * length])
  const projection = tf.tensor3d(start.projection, [heads, numFeatures, width / heads])
  const means = entries.map(([, variable]) => [zerosOf(variable), zerosOf(variable)] as Means)
  let steps = 0
  const batchOf = {inputs: inputs as tf.Tensor1D, labels: labels as tf.Tensor1D, projection}
  const weight: Weight = name => variables.get(name)!
  const loss = () => lossOf(method, sizes, weight, batchOf)
  const gradients = () => {
    const {value, grads} = tf.variableGrads(loss, [...variables.values()])
    return {loss: value, grads}
  }
  return {
    gradients,
    step() {
      steps++
      tf.tidy(() => applyAdam([...variables.values()], means, gradients().grads, steps))
    },
    dispose() {
      tf.dispose([...variables.values(), ...means.flat(), tokens, inputs, labels, projection])
    },
  }
}

/** Running means of a gradient and of its square. */
type Means = [tf.Variable, tf.Variable]

function zerosOf(variable: tf.Variable): tf.Variable {
  return tf.variable(tf.zerosLike(variable), false)
}

function applyAdam(
  variables: readonly tf.Variable[],
  means: readonly Means[],
  grads: tf.NamedTensorMap,
  step: number,
): void {
  const parameters = variables.map((value, at): AdamParameter => {
    const [first, second] = means[at]!
    return {value, gradient: grads[value.name]!, first, second}
  })
  adamStep(parameters, {step, learningRate: 3e-3}).forEach(({value, first, second}, at) => {
    variables[at]!.assign(value)
    means[at]![0].assign(first)
    means[at]![1].assign(second)
  })
}

type Weight = (name: string) => tf.Tensor

interface Batch {
  inputs: tf.Tensor1D
  labels: tf.Tensor1D
  projection: tf.Tensor3D
}

/** Mean cross entropy of the next token. */
function lossOf(method: string, sizes: Sizes, weight: Weight, {inputs, labels, projection}: Batch) {
  const {batch, length, width, layers} = sizes
  const embedded = tf.reshape(tf.gather(weight('embedding'), inputs), [batch, length, width])
  let x: tf.Tensor2D = tf.reshape(tf.add(embedded, weight('positions')), [batch * length, width])
  for (let at = 0; at < layers; at++) {
    const attended = attentionOf(
      method,
      sizes,
      linear(weight, `${at}.qkv`, norm(weight, `${at}.norm`, x)),
      projection,
    )
    x = tf.add(x, linear(weight, `${at}.out`, attended))
    const hidden = linear(weight, `${at}.up`, norm(weight, `${at}.mlp_norm`, x), 'relu')
    x = tf.add(x, linear(weight, `${at}.down`, hidden))
  }
  const logits = linear(weight, 'head', norm(weight, 'norm', x))
  return softmaxCrossEntropy(logits, labels)
}

function norm(weight: Weight, name: string, x: tf.Tensor2D): tf.Tensor2D {
  const [scale, bias] = [weight(`${name}.weight`), weight(`${name}.bias`)] as [
    tf.Tensor1D,
    tf.Tensor1D,
  ]
  return normalizeRows(x, scale, {bias, epsilon: 1e-5})
}

function linear(
  weight: Weight,
  name: string,
  x: tf.Tensor2D,
  activation: 'linear' | 'relu' = 'linear',
): tf.Tensor2D {
  const bias = weight(`${name}.bias`) as tf.Tensor1D
  return dense(x, weight(`${name}.weight`) as tf.Tensor2D, {bias, activation})
}

/** Heads of `[B L, 3 d]` attend by themselves. */
function attentionOf(method: string, sizes: Sizes, qkv: tf.Tensor2D, projection: tf.Tensor3D) {
  const {batch, length, width, heads} = sizes
  const split = tf.transpose(
    tf.reshape(qkv, [batch, length, 3, heads, width / heads]),
    [2, 0, 3, 1, 4],
  )
  const [query, key, value] = tf.unstack(split) as [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D]
  const random = method === 'rfa' || method === 'favor-pos' ? {projection} : {}
  const out = attention(query, key, value, {method: method as 'rfa', causal: true, ...random})
  return tf.reshape(tf.transpose(out, [0, 2, 1, 3]), [batch * length, width]) as tf.Tensor2D
}
