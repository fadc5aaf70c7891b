/** Small transformers that are trained from scratch: their sizes and weights. */
import {normals, randomStream} from '../../random/index.js'

export interface SmallModel {
  /** V */
  vocabulary: number
  /** Most tokens of a sequence. */
  length: number
  /** Entries of a hidden state. */
  width: number
  /** Layers of attention. */
  layers: number
  heads: number
  /** D, entries of a query or key; those of values are width / heads. */
  headDim: number
  /** Entries of the hidden layer of a feed-forward part; 0: none. */
  mlp: number
  /** Tokens that the gated convolution before all attention sees; 0: none. */
  convolution: number
  /** Whether an embedding of its place is added to that of a token. */
  positions: boolean
  /** Whether each head learns forget gates from the hidden state. */
  gated: boolean
}

export interface NamedWeight {
  name: string
  shape: number[]
  values: Float32Array
}

/** Names and shapes of all weights, in the order of their use. */
export function weightShapes(model: SmallModel): [name: string, shape: number[]][] {
  const {width, vocabulary, length, convolution} = model
  return [
    ['embedding', [vocabulary, width]],
    ...(model.positions ? ([['positions', [length, width]]] as [string, number[]][]) : []),
    ...(convolution > 0 ? convolutionShapes(model) : []),
    ...Array.from({length: model.layers}, (_, at) => layerShapes(model, at)).flat(),
    ...normShapes('norm', width),
    ...denseShapes('head', width, vocabulary),
  ]
}

function layerShapes(model: SmallModel, at: number): [string, number[]][] {
  const {width, heads, headDim, mlp, gated} = model
  return [
    ...normShapes(`${at}.norm`, width),
    ...denseShapes(`${at}.qkv`, width, 2 * heads * headDim + width),
    ...(gated ? denseShapes(`${at}.gate`, width, heads) : []),
    ...denseShapes(`${at}.out`, width, width),
    ...(mlp === 0
      ? []
      : [
          ...normShapes(`${at}.mlp_norm`, width),
          ...denseShapes(`${at}.up`, width, mlp),
          ...denseShapes(`${at}.down`, mlp, width),
        ]),
  ]
}

function convolutionShapes({width, convolution}: SmallModel): [string, number[]][] {
  return [
    ...normShapes('convolution.norm', width),
    ['convolution.filter.weight', [convolution, width]],
    ['convolution.filter.bias', [width]],
    ...denseShapes('convolution.gate', width, width),
  ]
}

function normShapes(name: string, width: number): [string, number[]][] {
  return [
    [`${name}.weight`, [width]],
    [`${name}.bias`, [width]],
  ]
}

function denseShapes(name: string, from: number, to: number): [string, number[]][] {
  return [
    [`${name}.weight`, [from, to]],
    [`${name}.bias`, [to]],
  ]
}

/** Standard deviation of embeddings at the start. */
const EMBEDDING = 0.02
/** b of gates at the start: some 1 + e^b tokens are remembered, as rfa-gate has it. */
const GATE_BIAS = 3

/**
 * Weights to start from: matrices `N(0, 1 / inputs)`, embeddings `N(0, 0.02^2)`, norms 1, biases 0 (of gates 3). A weight depends on seed, run,
 * its name and its shape alone, so that models of all methods start alike.
 */
export function startWeights(model: SmallModel, seed: number, run: number): NamedWeight[] {
  return weightShapes(model).map(([name, shape]) => {
    const values = new Float32Array(shape.reduce((a, b) => a * b, 1))
    if (shape.length === 1) return {name, shape, values: values.fill(constantOf(name))}
    const drawn = normals(randomStream(seed, `train.${name}`, run), values.length)
    const scale = name === 'embedding' || name === 'positions' ? EMBEDDING : shape[0]! ** -0.5
    return {name, shape, values: Float32Array.from(drawn, x => scale * x)}
  })
}

function constantOf(name: string): number {
  if (name.endsWith('norm.weight')) return 1
  return /^\d+\.gate\.bias$/.test(name) ? GATE_BIAS : 0
}
