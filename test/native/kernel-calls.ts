/** Calls of every kernel of the native backend, right ones and wrong ones, for the property suite. */
import type * as tf from '@tensorflow/tfjs-core'
import fc from 'fast-check'
import {DENSE_ACTIVATIONS} from '../../src/attention/kernels/checks.js'

/** A tensor to be made: its elements follow from its shape. */
export interface TensorPlan {
  shape: number[]
  dtype: tf.DataType
}

/** One call of a kernel through the engine. */
export interface KernelPlan {
  kernel: string
  inputs: Record<string, TensorPlan>
  attributes: Record<string, unknown>
}

type Call = Omit<KernelPlan, 'kernel'>

const axis = fc.integer({min: 1, max: 5})
const floats = (...shape: number[]): TensorPlan => ({shape, dtype: 'float32'})

const unary = fc.array(axis, {maxLength: 3}).map(
  (shape): Call => ({
    inputs: {x: floats(...shape)},
    attributes: {},
  }),
)

const binary = fc.array(fc.tuple(axis, fc.constantFrom('both', 'a', 'b')), {maxLength: 4}).map(
  (axes): Call => ({
    inputs: {
      a: floats(...axes.map(([n, owner]) => (owner === 'b' ? 1 : n))),
      b: floats(...axes.map(([n, owner]) => (owner === 'a' ? 1 : n))),
    },
    attributes: {},
  }),
)

const matMul = fc.tuple(axis, axis, axis, axis, fc.boolean(), fc.boolean()).map(
  ([batch, rows, inner, columns, transposeA, transposeB]): Call => ({
    inputs: {
      a: transposeA ? floats(batch, inner, rows) : floats(batch, rows, inner),
      b: transposeB ? floats(1, columns, inner) : floats(1, inner, columns),
    },
    attributes: {transposeA, transposeB},
  }),
)

const fusedMatMul = fc
  .tuple(matMul, fc.constantFrom('linear', 'relu', 'elu', 'relu6'), fc.boolean())
  .map(([{inputs, attributes}, activation, biased]): Call => {
    const columns = inputs.b!.shape[attributes.transposeB ? 1 : 2]!
    return {
      inputs: {...inputs, ...(biased && {bias: floats(columns)})},
      attributes: {...attributes, activation},
    }
  })

const dense = fc
  .tuple(axis, axis, axis, fc.constantFrom(...DENSE_ACTIVATIONS), fc.boolean(), fc.boolean())
  .map(
    ([rows, inner, columns, activation, transposed, biased]): Call => ({
      inputs: {
        x: floats(rows, inner),
        weight: transposed ? floats(columns, inner) : floats(inner, columns),
        ...(biased && {bias: floats(columns)}),
      },
      attributes: {transposed, activation},
    }),
  )

const normalizeRows = fc.tuple(axis, axis, fc.boolean(), fc.boolean()).map(
  ([rows, columns, centred, biased]): Call => ({
    inputs: {
      x: floats(rows, columns),
      weight: floats(columns),
      ...(biased && {bias: floats(columns)}),
    },
    attributes: {epsilon: 1e-5, centred},
  }),
)

const reduction = (name: string) =>
  fc
    .array(axis, {minLength: 1, maxLength: 4})
    .chain(shape => fc.tuple(fc.constant(shape), fc.subarray(shape.map((_, i) => i)), fc.boolean()))
    .map(
      ([shape, axes, keepDims]): Call => ({
        inputs: {x: floats(...shape)},
        attributes: {[name]: axes, keepDims},
      }),
    )

const transpose = fc
  .array(axis, {minLength: 1, maxLength: 5})
  .chain(shape => {
    const axes = shape.map((_, i) => i)
    return fc.tuple(fc.constant(shape), fc.shuffledSubarray(axes, {minLength: axes.length}))
  })
  .map(([shape, perm]): Call => ({inputs: {x: floats(...shape)}, attributes: {perm}}))

const lastAxis = (input: string, attributesOf: (rank: number) => Record<string, unknown>) =>
  fc.array(axis, {minLength: 1, maxLength: 3}).map(
    (shape): Call => ({
      inputs: {[input]: floats(...shape)},
      attributes: attributesOf(shape.length),
    }),
  )

interface Sizes {
  batch: number
  heads: number
  queryLen: number
  keyLen: number
  headDim: number
  valueDim: number
  rows: number
}

const sizes: fc.Arbitrary<Sizes> = fc.record({
  batch: axis,
  heads: axis,
  queryLen: axis,
  keyLen: axis,
  headDim: axis,
  valueDim: axis,
  rows: axis,
})

function tokens({batch, heads, queryLen, keyLen, headDim, valueDim}: Sizes) {
  return {
    query: floats(batch, heads, queryLen, headDim),
    key: floats(batch, heads, keyLen, headDim),
    value: floats(batch, heads, keyLen, valueDim),
  }
}

const softmaxAttention = fc.tuple(sizes, fc.boolean(), fc.boolean()).map(
  ([s, causal, masked]): Call => ({
    inputs: {
      ...tokens(s),
      keyBias: floats(s.batch, s.heads, s.keyLen),
      ...(masked && {keyMask: {shape: [s.batch, s.keyLen], dtype: 'bool'}}),
    },
    attributes: {scale: 0.5, causal},
  }),
)

const maskedSoftmax = fc.tuple(sizes, fc.boolean(), fc.boolean()).map(
  ([{batch, heads, queryLen, keyLen}, causal, masked]): Call => ({
    inputs: {
      logits: floats(batch, heads, queryLen, keyLen),
      ...(masked && {keyMask: {shape: [batch, keyLen], dtype: 'bool'}}),
    },
    attributes: {causal},
  }),
)

const sampleKeys = fc.tuple(sizes, fc.boolean()).map(([s, causal]): Call => {
  const {query, key} = tokens(s)
  const uniform = floats(s.batch, s.heads, s.queryLen, s.rows)
  return {inputs: {query, key, uniform}, attributes: {scale: 0.5, causal}}
})

const segmentMeans = sizes.map(
  (s): Call => ({
    inputs: {x: floats(s.batch, s.heads, s.keyLen + 1, s.headDim)},
    attributes: {starts: [0, s.keyLen, s.keyLen + 1]},
  }),
)

const optimalMixture = fc.tuple(sizes, fc.boolean()).map(([s, twice]): Call => {
  const count = twice ? 2 * s.rows : s.rows
  return {
    inputs: {
      query: tokens(s).query,
      vectors: floats(s.batch, s.heads, count, s.headDim),
      values: floats(s.batch, s.heads, count, s.valueDim),
      bias: floats(s.batch, s.heads, count),
      balance: floats(s.batch, s.heads, count),
      affinity: floats(s.batch, s.heads, s.rows, s.queryLen),
    },
    attributes: {scale: 0.5, coefficient: 0.25, floor: 0.125},
  }
})

const PROJECTED = ['relu', 'trigonometric', 'log-positive', 'log-hyperbolic'] as const
const KINDS = [...PROJECTED, 'explicit', 'elu-plus-one'] as const

const featureMap = fc.tuple(sizes, fc.constantFrom(...PROJECTED), fc.boolean()).map(
  ([s, kind, scaled]): Call => ({
    inputs: {x: tokens(s).query, projection: floats(s.heads, s.rows, s.headDim)},
    attributes: {kind, ...(scaled && {inputScale: 0.5, unitNorm: true, normEpsilon: 0.125})},
  }),
)

const halfSquaredNorm = sizes.map(
  (s): Call => ({
    inputs: {x: tokens(s).query},
    attributes: {inputScale: 0.5},
  }),
)

function sides(s: Sizes, kind: (typeof KINDS)[number]) {
  const projected = (PROJECTED as readonly string[]).includes(kind)
  const projection = floats(s.rows, s.headDim)
  return {
    inputs: {
      ...tokens(s),
      ...(projected && {queryProjection: projection, keyProjection: projection}),
    },
    recipes: {query: {kind}, key: {kind}},
  }
}

const linearAttention = fc
  .tuple(
    sizes,
    fc.constantFrom('relu', 'trigonometric', 'explicit', 'elu-plus-one'),
    fc.boolean(),
    fc.boolean(),
  )
  .map(([s, kind, causal, weighted]): Call => {
    const {inputs, recipes} = sides(s, kind as (typeof KINDS)[number])
    const row = floats(s.batch, s.heads, s.keyLen)
    return {
      inputs: {...inputs, ...(weighted && {keyLogWeight: row}), ...(causal && {logGate: row})},
      attributes: {...recipes, causal},
    }
  })

const causalFeatureAttention = fc
  .tuple(sizes, fc.constantFrom('explicit', 'log-positive', 'log-hyperbolic'))
  .map(([s, kind]): Call => {
    const {inputs, recipes} = sides(s, kind as (typeof KINDS)[number])
    return {inputs, attributes: recipes}
  })

/** One token of a decoder over explicit features. */
function step({batch, heads, headDim, valueDim}: Sizes) {
  return {
    inputs: {
      query: floats(batch, heads, 1, headDim),
      key: floats(batch, heads, 1, headDim),
      value: floats(batch, heads, 1, valueDim),
    },
    attributes: {batch, heads, headDim, valueDim},
  }
}

const sums = (s: Sizes) => ({
  state: floats(s.batch, s.heads, s.headDim, s.valueDim),
  normalizer: floats(s.batch, s.heads, s.headDim),
})

const linearDecode = sizes.map((s): Call => {
  const {inputs, attributes} = step(s)
  const recipe = {kind: 'explicit'}
  return {
    inputs: {...inputs, ...sums(s)},
    attributes: {
      ...attributes,
      ...{
        featureDim: s.headDim,
        query: recipe,
        key: recipe,
        guard: {policy: 'add', bound: 1},
        normalizerEpsilon: 0,
      },
    },
  }
})

const logFeatureDecode = sizes.map((s): Call => {
  const {inputs, attributes} = step(s)
  const recipe = {kind: 'explicit'}
  return {
    inputs: {...inputs, ...sums(s), top: floats(s.batch, s.heads, s.headDim)},
    attributes: {...attributes, featureDim: s.headDim, query: recipe, key: recipe},
  }
})

const cacheDecode = sizes.map((s): Call => {
  const {inputs, attributes} = step(s)
  return {
    inputs: {
      ...inputs,
      keyCache: floats(s.batch, s.heads, s.rows, s.headDim),
      valueCache: floats(s.batch, s.heads, s.rows, s.valueDim),
    },
    attributes: {...attributes, scale: 0.5, length: s.rows - 1},
  }
})

const UNARY = ['Exp', 'Log', 'Sin', 'Cos', 'Relu', 'Elu', 'Square', 'Neg', 'Abs', 'Sqrt']
const BINARY = ['Add', 'Sub', 'Multiply', 'RealDiv', 'Maximum', 'Minimum']

/** Right calls of each kernel by name. */
export const RIGHT_CALLS: Readonly<Record<string, fc.Arbitrary<Call>>> = {
  ...Object.fromEntries(UNARY.map(name => [name, unary])),
  ...Object.fromEntries(BINARY.map(name => [name, binary])),
  BatchMatMul: matMul,
  _FusedMatMul: fusedMatMul,
  Dense: dense,
  NormalizeRows: normalizeRows,
  Sum: reduction('axis'),
  Max: reduction('reductionIndices'),
  Transpose: transpose,
  Softmax: lastAxis('logits', rank => ({dim: rank - 1})),
  MaskedSoftmax: maskedSoftmax,
  LogSumExp: lastAxis('x', () => ({})),
  SoftmaxAttention: softmaxAttention,
  SampleKeys: sampleKeys,
  SegmentMeans: segmentMeans,
  OptimalMixture: optimalMixture,
  FeatureMap: featureMap,
  HalfSquaredNorm: halfSquaredNorm,
  LinearAttention: linearAttention,
  CausalFeatureAttention: causalFeatureAttention,
  LinearDecode: linearDecode,
  LogFeatureDecode: logFeatureDecode,
  CacheDecode: cacheDecode,
}

const HOSTILE = [
  ...[undefined, null, Number.NaN, -1, 0.5, 2 ** 31, -(2 ** 40), 1e300, Number.POSITIVE_INFINITY],
  ...['yes', 'toString', '', true, {}, [], [0], [0, 0], [1, 1], [2, 1, 1], [-1], [0.5], [1e9]],
  ...[[0, 1, 2, 3], [0, 3, 2], {kind: 'relu'}, {kind: 'log-positive'}, {kind: 'constructor'}],
  {kind: 'explicit', featureScale: Number.NaN},
  {kind: 'explicit', inputScale: 'a'},
]

/** Changes one thing of a call: an attribute, the shape or type of an input, or whether it is there. */
type Change = (call: Call) => Call

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(fc.nat(), fc.constantFrom(...HOSTILE)).map(
    ([which, value]): Change =>
      call => {
        const names = Object.keys(call.attributes)
        if (names.length === 0) return call
        return {...call, attributes: {...call.attributes, [names[which % names.length]!]: value}}
      },
  ),
  inputChange(fc.constantFrom('int32', 'bool', 'string', 'complex64'), (plan, dtype) => ({
    ...plan,
    dtype: dtype as tf.DataType,
  })),
  inputChange(fc.tuple(fc.nat({max: 4}), fc.constantFrom(0, 1, 6)), (plan, [place, length]) => ({
    ...plan,
    shape: plan.shape.map((n, i) => (i === place % plan.shape.length ? length : n)),
  })),
  inputChange(fc.boolean(), (plan, longer) => ({
    ...plan,
    shape: longer ? [2, ...plan.shape] : plan.shape.slice(1),
  })),
  fc.nat().map(
    (which): Change =>
      call => {
        const names = Object.keys(call.inputs)
        const dropped = names[which % names.length]!
        const {[dropped]: _, ...inputs} = call.inputs
        return {...call, inputs}
      },
  ),
)

function inputChange<T>(
  how: fc.Arbitrary<T>,
  changed: (plan: TensorPlan, how: T) => TensorPlan,
): fc.Arbitrary<Change> {
  return fc.tuple(fc.nat(), how).map(
    ([which, value]): Change =>
      call => {
        const names = Object.keys(call.inputs)
        const name = names[which % names.length]
        if (name === undefined) return call
        return {...call, inputs: {...call.inputs, [name]: changed(call.inputs[name]!, value)}}
      },
  )
}

/** Calls of a kernel: right ones, and ones with one or two things wrong. */
export function callsOf(kernel: string): fc.Arbitrary<KernelPlan> {
  const changes = fc.array(change, {maxLength: 2})
  return fc
    .tuple(RIGHT_CALLS[kernel]!, changes)
    .map(([call, all]) => ({kernel, ...all.reduce((plan, change) => change(plan), call)}))
}
