/** Calls of every kernel of the native backend, right ones and wrong ones, for the property suite. */
import type * as tf from '@tensorflow/tfjs-core'
import fc from 'fast-check'
import {DENSE_ACTIVATIONS} from '../../src/attention/kernels/checks.js'

/** A tensor to be made: its elements follow from its shape. */
export interface TensorPlan {
  shape: number[]
  dtype: tf.DataType
  /** Elements that do not follow from the shape. */
  values?: number[]
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

const denseGradient = fc
  .tuple(axis, axis, axis, fc.constantFrom('linear', 'relu'), fc.boolean())
  .map(
    ([rows, inner, columns, activation, transposed]): Call => ({
      inputs: {
        x: floats(rows, inner),
        weight: transposed ? floats(columns, inner) : floats(inner, columns),
        out: floats(rows, columns),
        slopes: floats(rows, columns),
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

const normalizeRowsGradient = fc.tuple(axis, axis, fc.boolean()).map(
  ([rows, columns, centred]): Call => ({
    inputs: {
      x: floats(rows, columns),
      weight: floats(columns),
      slopes: floats(rows, columns),
    },
    attributes: {epsilon: 1e-5, centred},
  }),
)

const adamStep = fc.array(fc.array(axis, {minLength: 1, maxLength: 3}), {maxLength: 3}).map(
  (shapes): Call => ({
    inputs: Object.fromEntries(
      shapes.flatMap((shape, at) =>
        ['value', 'gradient', 'first', 'second'].map(name => [`${name}${at}`, floats(...shape)]),
      ),
    ),
    attributes: {decay1: 0.5, decay2: 0.75, rate: 0.125, scale: 2, epsilon: 1},
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

/** Of any type that is moved. */
const numbers = fc.record({
  shape: fc.array(axis, {minLength: 1, maxLength: 4}),
  dtype: fc.constantFrom<tf.DataType>('float32', 'int32', 'bool'),
})

const transpose = numbers
  .chain(x => {
    const axes = x.shape.map((_, i) => i)
    return fc.tuple(fc.constant(x), fc.shuffledSubarray(axes, {minLength: axes.length}))
  })
  .map(([x, perm]): Call => ({inputs: {x}, attributes: {perm}}))

/** A tensor with two numbers from 0 up to, not including, 1 for each axis. */
const parted = numbers.chain(x => {
  const share = fc.double({min: 0, max: 0.999, noNaN: true})
  const shares = fc.array(fc.tuple(share, share), {minLength: 4, maxLength: 4})
  return fc.tuple(fc.constant(x), shares)
})

const slice = parted.map(([x, shares]): Call => {
  const begin = x.shape.map((n, i) => Math.floor(n * shares[i]![0]))
  const size = x.shape.map((n, i) => Math.ceil((n - begin[i]!) * shares[i]![1]))
  return {inputs: {x}, attributes: {begin, size}}
})

const splitV = parted.map(([x, shares]): Call => {
  const axis = Math.floor(x.shape.length * shares[0]![0])
  const first = Math.floor(x.shape[axis]! * shares[1]![0])
  return {inputs: {x}, attributes: {axis, numOrSizeSplits: [first, x.shape[axis]! - first]}}
})

const unpack = parted.map(([value, shares]): Call => {
  const axis = Math.floor(value.shape.length * shares[0]![0])
  return {inputs: {value}, attributes: {axis}}
})

const concat = fc.tuple(parted, axis, axis).map(([[x, shares], second, third]): Call => {
  const axis = Math.floor(x.shape.length * shares[0]![0])
  const long = (n: number) => ({...x, shape: x.shape.map((m, i) => (i === axis ? n : m))})
  return {inputs: {0: x, 1: long(second), 2: long(third)}, attributes: {axis}}
})

const pack = fc.tuple(parted, axis).map(([[x, shares], count]): Call => {
  const axis = Math.floor((x.shape.length + 1) * shares[0]![0])
  const inputs = Object.fromEntries(Array.from({length: count}, (_, i) => [i, x]))
  return {inputs, attributes: {axis}}
})

const padV2 = parted.map(([x, shares]): Call => {
  const paddings = x.shape.map((_, i) => shares[i]!.map(share => Math.floor(4 * share)))
  return {inputs: {x}, attributes: {paddings, constantValue: Math.floor(3 * shares[0]![1])}}
})

const tile = parted.map(
  ([x, shares]): Call => ({
    inputs: {x},
    attributes: {reps: x.shape.map((_, i) => 1 + Math.floor(3 * shares[i]![0]))},
  }),
)

const reverse = parted.map(
  ([x, shares]): Call => ({
    inputs: {x},
    attributes: {dims: x.shape.map((_, i) => i).filter(i => shares[i]![0] < 0.5)},
  }),
)

const index = (length: number, count: number): TensorPlan => ({
  shape: [count],
  dtype: 'int32',
  values: Array.from({length: count}, (_, i) => (i * 3) % length),
})

const gather = fc.tuple(parted, axis).map(([[{shape}, shares], count]): Call => {
  const axis = Math.floor(shape.length * shares[0]![0])
  const inputs = {x: floats(...shape), indices: index(shape[axis]!, count)}
  return {inputs, attributes: {axis, batchDims: 0}}
})

const segmentSum = fc.tuple(numbers, axis).map(
  ([{shape}, numSegments]): Call => ({
    inputs: {x: floats(...shape), segmentIds: index(numSegments + 1, shape[0]!)},
    attributes: {numSegments},
  }),
)

const cumsum = fc.tuple(parted, fc.boolean(), fc.boolean()).map(
  ([[{shape}, shares], exclusive, reverse]): Call => ({
    inputs: {x: floats(...shape)},
    attributes: {axis: Math.floor(shape.length * shares[0]![0]), exclusive, reverse},
  }),
)

const select = numbers.map(
  ({shape}): Call => ({
    inputs: {condition: {shape, dtype: 'bool'}, t: floats(...shape), e: floats(...shape)},
    attributes: {},
  }),
)

const step = unary.map((call): Call => ({...call, attributes: {alpha: 0}}))

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

const featureMapGradient = featureMap.map(({inputs, attributes}): Call => {
  const [batch, heads, length] = inputs.x!.shape as [number, number, number]
  const rows = inputs.projection!.shape.at(-2)!
  const double = attributes.kind === 'trigonometric' || attributes.kind === 'log-hyperbolic'
  const slopes = floats(batch, heads, length, double ? 2 * rows : rows)
  return {inputs: {...inputs, slopes}, attributes}
})

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

const linearAttentionGradient = fc
  .tuple(linearAttention, fc.boolean())
  .map(([call, guarded]): Call => {
    const {query, value} = call.inputs as {query: TensorPlan; value: TensorPlan}
    const out = floats(...query.shape.slice(0, 3), value.shape[3]!)
    const denominator = floats(...query.shape.slice(0, 3))
    const outputs = {
      slopes: out,
      denominatorSlopes: denominator,
      ...(guarded && {out, denominator}),
    }
    const guard = guarded && {guard: {policy: 'clamp', bound: 1}}
    return {
      inputs: {...call.inputs, ...outputs},
      attributes: {...call.attributes, ...guard},
    }
  })

const crossEntropy = fc.tuple(axis, axis).map(
  ([rows, columns]): Call => ({
    inputs: {logits: floats(rows, columns), labels: index(columns, rows)},
    attributes: {},
  }),
)

const crossEntropyGradient = crossEntropy.map(
  (call): Call => ({...call, inputs: {...call.inputs, slope: floats()}}),
)

const causalFeatureAttention = fc
  .tuple(sizes, fc.constantFrom('explicit', 'log-positive', 'log-hyperbolic'))
  .map(([s, kind]): Call => {
    const {inputs, recipes} = sides(s, kind as (typeof KINDS)[number])
    return {inputs, attributes: recipes}
  })

/** The gradient of a call with one output: what that takes, the output and its slopes. */
function withSlopes({inputs, attributes}: Call): Call {
  const [batch, heads, queryLen] = inputs.query!.shape as [number, number, number]
  const out = floats(batch, heads, queryLen, inputs.value!.shape.at(-1)!)
  return {inputs: {...inputs, out, slopes: out}, attributes}
}

const causalFeatureGradient = causalFeatureAttention.map(withSlopes)

const softmaxAttentionGradient = softmaxAttention.map((call): Call => {
  const {inputs, attributes} = withSlopes(call)
  const lse = floats(...inputs.query!.shape.slice(0, 3))
  return {inputs: {...inputs, lse, lseSlopes: lse}, attributes}
})

/** One token of a decoder over explicit features. */
function tokenStep({batch, heads, headDim, valueDim}: Sizes) {
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
  const {inputs, attributes} = tokenStep(s)
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
  const {inputs, attributes} = tokenStep(s)
  const recipe = {kind: 'explicit'}
  return {
    inputs: {...inputs, ...sums(s), top: floats(s.batch, s.heads, s.headDim)},
    attributes: {...attributes, featureDim: s.headDim, query: recipe, key: recipe},
  }
})

const cacheDecode = sizes.map((s): Call => {
  const {inputs, attributes} = tokenStep(s)
  return {
    inputs: {
      ...inputs,
      keyCache: floats(s.batch, s.heads, s.rows, s.headDim),
      valueCache: floats(s.batch, s.heads, s.rows, s.valueDim),
    },
    attributes: {...attributes, scale: 0.5, length: s.rows - 1},
  }
})

const UNARY = [
  ...['Exp', 'Log', 'Sin', 'Cos', 'Relu', 'Elu', 'Square', 'Neg', 'Abs', 'Sqrt'],
  ...['Rsqrt', 'Reciprocal', 'Sign', 'Sigmoid'],
]
const BINARY = [
  ...['Add', 'Sub', 'Multiply', 'RealDiv', 'Maximum', 'Minimum', 'Pow', 'SquaredDifference'],
  ...['Equal', 'NotEqual', 'Less', 'LessEqual', 'Greater', 'GreaterEqual'],
]
const REDUCTIONS = ['Sum', 'Mean', 'Min', 'Prod']

/** Right calls of each kernel by name. */
export const RIGHT_CALLS: Readonly<Record<string, fc.Arbitrary<Call>>> = {
  ...Object.fromEntries(UNARY.map(name => [name, unary])),
  ...Object.fromEntries(BINARY.map(name => [name, binary])),
  BatchMatMul: matMul,
  _FusedMatMul: fusedMatMul,
  Dense: dense,
  DenseGradient: denseGradient,
  AdamStep: adamStep,
  NormalizeRows: normalizeRows,
  NormalizeRowsGradient: normalizeRowsGradient,
  ...Object.fromEntries(REDUCTIONS.map(name => [name, reduction('axis')])),
  Max: reduction('reductionIndices'),
  Transpose: transpose,
  Slice: slice,
  SplitV: splitV,
  Unpack: unpack,
  Concat: concat,
  Pack: pack,
  PadV2: padV2,
  Tile: tile,
  Reverse: reverse,
  GatherV2: gather,
  UnsortedSegmentSum: segmentSum,
  Cumsum: cumsum,
  Select: select,
  Step: step,
  Softmax: lastAxis('logits', rank => ({dim: rank - 1})),
  MaskedSoftmax: maskedSoftmax,
  CumulativeLogSumExp: fc.tuple(axis, axis, axis).map(
    ([outer, rows, columns]): Call => ({
      inputs: {x: floats(outer, rows, columns)},
      attributes: {},
    }),
  ),
  LogSumExp: lastAxis('x', () => ({})),
  SoftmaxAttention: softmaxAttention,
  SampleKeys: sampleKeys,
  SegmentMeans: segmentMeans,
  OptimalMixture: optimalMixture,
  FeatureMap: featureMap,
  FeatureMapGradient: featureMapGradient,
  HalfSquaredNorm: halfSquaredNorm,
  LinearAttention: linearAttention,
  LinearAttentionGradient: linearAttentionGradient,
  SoftmaxCrossEntropy: crossEntropy,
  SoftmaxCrossEntropyGradient: crossEntropyGradient,
  CausalFeatureAttention: causalFeatureAttention,
  CausalFeatureGradient: causalFeatureGradient,
  SoftmaxAttentionGradient: softmaxAttentionGradient,
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

/** Attributes by which outputs grow: of billions, which the CPU backend would write one by one. */
const GROWING: Readonly<Record<string, string>> = {Tile: 'reps', UnsortedSegmentSum: 'numSegments'}

/** Calls of a kernel: right ones, and ones with one or two things wrong. */
export function callsOf(kernel: string): fc.Arbitrary<KernelPlan> {
  const changes = fc.array(change, {maxLength: 2})
  return fc
    .tuple(RIGHT_CALLS[kernel]!, changes)
    .map(([call, all]) => ({kernel, ...all.reduce((plan, change) => change(plan), call)}))
    .filter(({attributes}) =>
      [attributes[GROWING[kernel] ?? '']].flat().every(size => !(Number(size) > 1e3)),
    )
}
