/** What the fused kernels of the native backend return: see `kernels/` for what they mean. */
import type {TensorInfo} from '@tensorflow/tfjs-core'
import {SOFTMAX_GRADIENTS} from '../kernels/checks.js'
import {CAUSAL_GRADIENTS, featureDimOf, LINEAR_GRADIENTS} from '../kernels/feature-checks.js'
import type {RecipeAttributes} from '../kernels/recipe.js'
import type {SizeCall, SizeRule} from './shapes.js'

const input = ({inputs}: SizeCall, name: string): TensorInfo => inputs[name]!

/** `[B, H, L, Dv]`, and with `perRow` a number for each row. */
const attended =
  (query: string, value: string, perRow = false): SizeRule =>
  call => {
    const [batch, heads, rows] = input(call, query).shape as [number, number, number]
    const values = input(call, value).shape
    // a leading axis of one is shared by the others
    const leading = [Math.max(batch, values[0]!), Math.max(heads, values[1]!), rows]
    const out = call.meter.allocate([...leading, values[3]!])
    return perRow ? [out, call.meter.allocate(leading)] : out
  }

/** Outputs with the shapes of inputs. */
const like =
  (...names: string[]): SizeRule =>
  call =>
    names.map(name => call.meter.allocate(input(call, name).shape))

/** The same, of those inputs that are there. */
const likeGiven =
  (names: readonly string[]): SizeRule =>
  call =>
    like(...names.filter(name => call.inputs[name]))(call)

/** Kernels of the native backend that TensorFlow.js lacks, without decode steps. */
export const FUSED_RULES: Readonly<Record<string, SizeRule>> = {
  SoftmaxAttention: attended('query', 'value', true),
  MaskedSoftmax: call => call.meter.allocate(input(call, 'logits').shape),
  LinearAttention: attended('query', 'value', true),
  CausalFeatureAttention: attended('query', 'value'),
  OptimalMixture: attended('query', 'values'),
  HalfSquaredNorm: call => call.meter.allocate(input(call, 'x').shape.slice(0, 3)),
  CumulativeLogSumExp: like('x'),
  LogSumExp: call => call.meter.allocate([...input(call, 'x').shape.slice(0, -1), 1]),
  FeatureMap: call => {
    const {shape} = input(call, 'x')
    const rows = input(call, 'projection').shape.at(-2)!
    const featureDim = featureDimOf(call.attrs as RecipeAttributes, shape[3]!, rows)
    return call.meter.allocate([...shape.slice(0, 3), featureDim])
  },
  SampleKeys: call => {
    const {shape} = input(call, 'uniform')
    const [batch, heads, , headDim] = input(call, 'query').shape as [number, number, number, number]
    const keys = [batch, heads, shape[2]! * shape[3]!, headDim]
    return [call.meter.allocate(shape, 'int32'), call.meter.allocate(keys)]
  },
  Dense: call => {
    const {shape} = input(call, 'weight')
    return call.meter.allocate([input(call, 'x').shape[0]!, shape[call.attrs.transposed ? 0 : 1]!])
  },
  DenseGradient: call =>
    [input(call, 'x').shape, input(call, 'weight').shape, [input(call, 'slopes').shape[1]!]].map(
      shape => call.meter.allocate(shape),
    ),
  NormalizeRows: call => call.meter.allocate(input(call, 'x').shape),
  NormalizeRowsGradient: like('x', 'weight', 'weight'),
  CausalFeatureGradient: likeGiven(CAUSAL_GRADIENTS),
  LinearAttentionGradient: likeGiven(LINEAR_GRADIENTS),
  // of shared inputs once for each head of each batch element
  SoftmaxAttentionGradient: call => {
    const leading = input(call, 'slopes').shape.slice(0, 2)
    const given = SOFTMAX_GRADIENTS.filter(name => call.inputs[name])
    return given.map(name => call.meter.allocate([...leading, ...input(call, name).shape.slice(2)]))
  },
  FeatureMapGradient: like('x', 'projection'),
  SoftmaxCrossEntropy: call => call.meter.allocate([]),
  SoftmaxCrossEntropyGradient: like('logits'),
  AdamStep: call =>
    Object.keys(call.inputs)
      .filter(name => !name.startsWith('gradient'))
      .map(name => call.meter.allocate(input(call, name).shape)),
  SegmentMeans: call => {
    const [batch, heads, , columns] = input(call, 'x').shape as [number, number, number, number]
    return call.meter.allocate([batch, heads, call.attrs.starts.length - 1, columns])
  },
}
