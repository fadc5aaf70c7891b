import * as tf from '@tensorflow/tfjs-core'
import {
  causalFeatureAttention,
  type FeatureRecipe,
  type FeatureSpec,
  featureMap,
  linearAttention,
  linearAttentionRatio,
  softmaxAttention,
} from '../../src/attention/index.js'
import {
  describeRefusals,
  gone,
  of,
  ones,
  type Refusal,
  rows,
  SHAPE,
  strings,
} from '../helpers/refusals.js'

const bad = 'BAD_OPTION'
const no = 'UNSUPPORTED'
const shape = 'SHAPE_MISMATCH'

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
    /LinearAttention: expected no queryProjection for the kind explicit/,
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
    /LinearAttention: expected queryProjection \[M, 4\] or \[2, M, 4\], got \[5, 3\]/,
  ],
  [
    'a projection that is none',
    () => featureMap(ones(...SHAPE), [1] as never, 'relu'),
    bad,
    /FeatureMap.projection: expected a float32 tensor/,
  ],
  [
    'a projection of whole numbers',
    () => sum(recipe('relu', {projection: tf.ones<tf.Rank.R2>([5, 4], 'int32')})),
    bad,
    /LinearAttention.queryProjection: expected a float32 tensor, got int32/,
  ],
  [
    'a disposed projection',
    () => log(recipe('log-positive', {projection: gone() as never})),
    bad,
    /CausalFeatureAttention.queryProjection: .*, got a disposed one/,
  ],
  [
    'no projection',
    () => featureMap(ones(...SHAPE), undefined as never, 'relu'),
    bad,
    /FeatureMap: expected a projection for the kind relu, got none/,
  ],
  [
    'a projection for one head of two',
    () => sum(recipe('relu', {projection: rows([1, 5, 4])})),
    shape,
    /LinearAttention: .* got \[1, 5, 4\]/,
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

describeRefusals('an operation', OF_OPERATIONS)
