import * as tf from '@tensorflow/tfjs-core'
import {afterEach, beforeAll, beforeEach, describe, expect, it} from 'vitest'
import {attend} from '../../src/attention/attention.js'
import {
  attention,
  causalFeatureAttention,
  decoder,
  type FeatureRecipe,
  type FeatureSpec,
  featureMap,
  linearAttention,
  linearAttentionRatio,
  loadEstimators,
  softmaxAttention,
} from '../../src/attention/index.js'
import {useBackend} from '../../src/backends/index.js'
import type {RfaError} from '../../src/errors.js'
import {runnableBackends} from '../helpers/backends.js'

const backends = await runnableBackends()
await loadEstimators()

const SHAPE: [number, number, number, number] = [1, 2, 3, 4]
const ones = (...shape: number[]): tf.Tensor4D => tf.ones(shape as [number, number, number, number])
const rows = (shape: number[]) => tf.ones(shape) as tf.Tensor as tf.Tensor2D
const of = (dtype: tf.DataType) => tf.cast(ones(...SHAPE), dtype) as tf.Tensor4D
const strings = () => tf.tensor(new Array(24).fill('a'), SHAPE, 'string') as unknown as tf.Tensor4D
function gone(): tf.Tensor4D {
  const x = ones(...SHAPE)
  x.dispose()
  return x
}

type Refusal = [title: string, call: () => unknown, code: RfaError['code'], message: RegExp]

/** A call of a method with something wrong in it. */
const call = (tensors: tf.Tensor4D[], options: object = {}, method = 'softmax-online') => {
  const [query = ones(...SHAPE), key = ones(...SHAPE), value = ones(...SHAPE)] = tensors
  return attention(query, key, value, {method, ...options} as Parameters<typeof attention>[3])
}
const bad = 'BAD_OPTION'
const OF_METHODS: Refusal[] = [
  ['int32 queries', () => call([of('int32')]), bad, /query: expected a float32 tensor, got int32/],
  ['truth values', () => call([of('bool')], {}, 'reformer'), bad, /query: .* got bool/],
  ['words', () => call([strings()]), bad, /query: expected a float32 tensor, got string/],
  ['disposed keys', () => call([ones(...SHAPE), gone()]), bad, /key: .*, got a disposed one/],
  [
    'arrays',
    () => call([[1] as unknown as tf.Tensor4D]),
    bad,
    /query: expected a tensor, got \[1\]/,
  ],
  [
    'no query',
    () => attend(null as never, ones(...SHAPE), ones(...SHAPE), {method: 'elu'}),
    bad,
    /query: .* null/,
  ],
  [
    'no options',
    () => attend(ones(...SHAPE), ones(...SHAPE), ones(...SHAPE), null as never),
    bad,
    /options: expected an object, got null/,
  ],
  [
    'causal: yes',
    () => call([], {causal: 'yes'}),
    bad,
    /causal: expected true or false, got "yes"/,
  ],
  [
    'a scale in words',
    () => call([], {scale: '1'}),
    bad,
    /scale: expected a positive number, got 1/,
  ],
  [
    'calibration of nothing',
    () => call([], {calibration: {}}, 'oprf'),
    bad,
    /calibration.query: expected a tensor, got undefined/,
  ],
  [
    'calibration null',
    () => call([], {calibration: null}, 'oprf'),
    bad,
    /calibration: expected an object, got null/,
  ],
  [
    'projection null',
    () => call([], {projection: null}, 'rfa'),
    bad,
    /projection: expected a tensor, got null/,
  ],
  [
    'a disposed projection',
    () => call([], {projection: gone()}, 'rfa'),
    bad,
    /projection: .*, got a disposed one/,
  ],
  [
    'parameters null',
    () => call([], {parameters: null}, 'rfa'),
    bad,
    /rfa.parameters: expected an object, got null/,
  ],
  [
    'a parameter null',
    () => call([], {parameters: {sigma: null}}, 'rfa'),
    bad,
    /rfa.parameters.sigma: expected a tensor, got null/,
  ],
  [
    'a mask of words',
    () => call([], {keyMask: tf.tensor2d(['a', 'b', 'c'], [1, 3], 'string')}),
    bad,
    /keyMask: expected a float32, int32, bool tensor, got string/,
  ],
  ['a disposed mask', () => call([], {keyMask: gone()}), bad, /keyMask: .*, got a disposed one/],
  [
    'a gate of whole numbers',
    () => call([], {causal: true, gate: tf.ones([1, 2, 3], 'int32')}, 'rfa-gate'),
    bad,
    /gate: .* got int32/,
  ],
  [
    'a decoder without options',
    () => decoder(null as never),
    bad,
    /options: expected an object, got null/,
  ],
]

const recipe = (kind: FeatureRecipe['kind'], more: Partial<FeatureRecipe> = {}): FeatureSpec => ({
  x: ones(...SHAPE),
  kind,
  ...(['explicit', 'elu-plus-one'].includes(kind) ? {} : {projection: rows([5, 4])}),
  ...more,
})
const log = (spec: FeatureSpec) => causalFeatureAttention(spec, spec, ones(...SHAPE))
const sum = (spec: FeatureSpec, options?: object) =>
  linearAttention(spec, spec, ones(...SHAPE), options)
const exact = (options: object) =>
  softmaxAttention(ones(...SHAPE), ones(...SHAPE), ones(...SHAPE), options)
const no = 'UNSUPPORTED'
const shape = 'SHAPE_MISMATCH'
const OF_OPERATIONS: Refusal[] = [
  ...(['elu-plus-one', 'trigonometric', 'relu'] as const).map(
    (kind): Refusal => [
      `logarithms of ${kind}`,
      () => log(recipe(kind)),
      no,
      /CausalFeatureAttention.query: expected logarithms of features, got /,
    ],
  ),
  ...(['log-positive', 'log-hyperbolic'] as const).flatMap((kind): Refusal[] => [
    [
      `sums of ${kind}`,
      () => sum(recipe(kind)),
      no,
      /LinearAttention.query: expected features, got log-/,
    ],
    [
      `sums of ${kind} beside explicit ones`,
      () => linearAttention(ones(1, 2, 3, 5), recipe(kind), ones(...SHAPE)),
      no,
      /LinearAttention.key: expected features/,
    ],
    [
      `a factor on ${kind}`,
      () => log(recipe(kind, {featureScale: 2})),
      no,
      /expected no featureScale for logarithms, got 2/,
    ],
  ]),
  [
    'a factor on explicit logarithms',
    () => log(recipe('explicit', {featureScale: 2})),
    no,
    /no featureScale for logarithms/,
  ],
  [
    'a map of explicit features',
    () => sum(recipe('explicit', {inputScale: 2})),
    no,
    /expected explicit features as they are/,
  ],
  [
    'a projection of explicit features',
    () => sum(recipe('explicit', {projection: rows([5, 4])})),
    no,
    /features: expected no projection/,
  ],
  [
    'an unknown kind',
    () => sum(recipe('toString' as never)),
    'UNKNOWN_NAME',
    /LinearAttention.query.kind: expected one of the kinds explicit/,
  ],
  [
    'an unknown map',
    () => featureMap(ones(...SHAPE), rows([5, 4]), 'elu' as never),
    'UNKNOWN_NAME',
    /FeatureMap.x.kind: expected one of the kinds explicit/,
  ],
  [
    'a map without a projection',
    () => featureMap(ones(...SHAPE), undefined as never, 'elu-plus-one' as never),
    no,
    /FeatureMap.kind: expected a kind with a projection, got elu-plus-one/,
  ],
  [
    'a scale that is no number',
    () => sum(recipe('relu', {inputScale: Number.NaN})),
    bad,
    /inputScale: expected a finite number, got NaN/,
  ],
  [
    'a norm that is yes',
    () => sum(recipe('relu', {unitNorm: 'yes' as never})),
    bad,
    /unitNorm: expected true or false/,
  ],
  [
    'a negative epsilon',
    () => sum(recipe('relu', {unitNorm: true, normEpsilon: -1})),
    bad,
    /normEpsilon: expected a number of at least 0, got -1/,
  ],
  [
    'another head dimension',
    () => sum(recipe('relu', {projection: rows([5, 3])})),
    shape,
    /projection: expected \[M, 4\] or \[2, M, 4\], got \[5, 3\]/,
  ],
  [
    'a projection for one head of two',
    () => sum(recipe('relu', {projection: rows([1, 5, 4])})),
    shape,
    /projection: .* got \[1, 5, 4\]/,
  ],
  [
    'neither tensor nor recipe',
    () => linearAttention(null as never, ones(...SHAPE), ones(...SHAPE)),
    bad,
    /features: expected a tensor, or a recipe with tokens x, got null/,
  ],
  [
    'gates without causal',
    () => sum(recipe('explicit'), {logGate: tf.zeros([1, 2, 3])}),
    no,
    /LinearAttention: expected causal: true with gates/,
  ],
  [
    'carried sums with weights of keys',
    () => {
      const initialState = {state: ones(1, 2, 4, 4), normalizer: tf.ones([1, 2, 4])}
      return sum(recipe('explicit'), {
        causal: true,
        initialState,
        keyLogWeight: tf.zeros([1, 2, 3]),
      })
    },
    no,
    /expected an initial state without keyLogWeight, got both/,
  ],
  [
    'an unknown guard',
    () => linearAttentionRatio(ones(...SHAPE), ones(...SHAPE), ones(...SHAPE), null as never),
    bad,
    /denGuard: expected a guard policy, got null/,
  ],
  [
    'a mask of more keys',
    () => exact({keyMask: tf.ones([1, 20])}),
    shape,
    /SoftmaxAttention: expected keyMask \[1, 3\], got \[1, 20\]/,
  ],
  [
    'a bias of one head',
    () => exact({keyBias: tf.zeros([1, 1, 3])}),
    shape,
    /SoftmaxAttention: expected keyBias \[1, 2, 3\], got \[1, 1, 3\]/,
  ],
  [
    'causal: 1',
    () => exact({causal: 1}),
    bad,
    /SoftmaxAttention.causal: expected true or false, got 1/,
  ],
  [
    'an infinite scale',
    () => exact({scale: Number.POSITIVE_INFINITY}),
    bad,
    /SoftmaxAttention.scale: expected a finite number/,
  ],
  [
    'options null',
    () => exact(null as never),
    bad,
    /SoftmaxAttention.options: expected an object, got null/,
  ],
  [
    'no keys',
    () => softmaxAttention(ones(...SHAPE), ones(1, 2, 0, 4), ones(1, 2, 0, 4)),
    shape,
    /SoftmaxAttention: expected key of four axes, none empty/,
  ],
  [
    'whole numbers',
    () => softmaxAttention(of('int32'), ones(...SHAPE), ones(...SHAPE)),
    bad,
    /SoftmaxAttention.query: expected a float32 tensor, got int32/,
  ],
  [
    'words',
    () => featureMap(strings(), rows([5, 4]), 'relu'),
    bad,
    /FeatureMap.x: expected a float32 tensor, got string/,
  ],
  [
    'disposed values',
    () => linearAttention(ones(...SHAPE), ones(...SHAPE), gone()),
    bad,
    /LinearAttention.value: .* got a disposed one/,
  ],
]

const token = (): [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D] => [
  ones(1, 2, 1, 4),
  ones(1, 2, 1, 4),
  ones(1, 2, 1, 3),
]
const steps = (method: string) =>
  decoder({method, heads: 2, headDim: 4, valueDim: 3, numFeatures: 5} as Parameters<
    typeof decoder
  >[0])
const OF_DECODERS: Refusal[] = [
  ...['rfa', 'favor-pos', 'softmax', 'rfa-gate', 'efficient'].map(
    (method): Refusal => [
      `${method} after dispose`,
      () => {
        const step = steps(method)
        step.next(...token())
        step.dispose()
        step.dispose()
        return step.next(...token())
      },
      bad,
      /decoder: expected a decoder in use, got a disposed one/,
    ],
  ),
  // what a decoder with a cache shows may be a copy
  ...['rfa', 'favor-pos', 'rfa-gate', 'efficient'].map(
    (method): Refusal => [
      `${method} with disposed sums`,
      () => {
        const step = steps(method)
        step.next(...token())
        tf.dispose(Object.values(step.state)[0]!)
        return step.next(...token())
      },
      bad,
      /decoder\.state.*got a disposed one/,
    ],
  ),
  [
    'the state after dispose',
    () => {
      const step = steps('rfa')
      step.dispose()
      return step.state
    },
    bad,
    /decoder: expected a decoder in use/,
  ],
  [
    'a token of other heads',
    () => steps('softmax').next(ones(1, 1, 1, 4), ones(1, 1, 1, 4), ones(1, 1, 1, 3)),
    shape,
    /decoder: expected query \[1, 2, 1, 4\], got \[1, 1, 1, 4\]/,
  ],
  [
    'two tokens',
    () => steps('elu').next(ones(1, 2, 2, 4), ones(1, 2, 2, 4), ones(1, 2, 2, 3)),
    shape,
    /decoder: expected query/,
  ],
  [
    'a token of whole numbers',
    () => steps('elu').next(tf.ones([1, 2, 1, 4], 'int32'), ones(1, 2, 1, 4), ones(1, 2, 1, 3)),
    bad,
    /decoder.query: expected a float32 tensor, got int32/,
  ],
  [
    'a gate for a method without',
    () => steps('elu').next(...token(), tf.ones([1, 2, 1])),
    no,
    /elu: has no gate/,
  ],
]

describe.each(backends)('on %s', backend => {
  beforeAll(() => useBackend(backend))
  beforeEach(() => tf.engine().startScope())
  afterEach(() => tf.engine().endScope())

  describe.each([
    ['a method', OF_METHODS],
    ['an operation', OF_OPERATIONS],
    ['a decoder', OF_DECODERS],
  ] as const)('%s refuses', (_what, refusals) => {
    it.each(refusals)('%s', (_title, call, code, message) => {
      expect(call).toThrow(expect.objectContaining({code, message: expect.stringMatching(message)}))
    })
  })
})
