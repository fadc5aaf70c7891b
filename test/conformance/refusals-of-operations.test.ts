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
import {sampleKeys, segmentMeans} from '../../src/attention/kernels/index.js'
import {optimalMixture} from '../../src/attention/kernels/optimal-mixture.js'
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
      /CausalFeatureAttention.query: expected logarithms of features, got /,
      no,
    ],
  ),
  ...(['log-positive', 'log-hyperbolic'] as const).flatMap((kind): Refusal[] => [
    [
      `sums of ${kind}`,
      () => sum(recipe(kind)),
      /LinearAttention.query: expected features, got log-/,
      no,
    ],
    [
      `sums of ${kind} beside explicit ones`,
      () => linearAttention(ones(1, 2, 3, 5), recipe(kind), ones(...SHAPE)),
      /LinearAttention.key: expected features/,
      no,
    ],
    [
      `a factor on ${kind}`,
      () => log(recipe(kind, {featureScale: 2})),
      /expected no featureScale for logarithms, got 2/,
      no,
    ],
  ]),
  [
    'a factor on explicit logarithms',
    () => log(recipe('explicit', {featureScale: 2})),
    /no featureScale for logarithms/,
    no,
  ],
  [
    'a map of explicit features',
    () => sum(recipe('explicit', {inputScale: 2})),
    /expected explicit features as they are/,
    no,
  ],
  [
    'a projection of explicit features',
    () => sum(recipe('explicit', {projection: rows([5, 4])})),
    /LinearAttention: expected no queryProjection for the kind explicit/,
    no,
  ],
  [
    'an unknown kind',
    () => sum(recipe('toString' as never)),
    /LinearAttention.query.kind: expected one of the kinds explicit/,
    'UNKNOWN_NAME',
  ],
  [
    'an unknown map',
    () => featureMap(ones(...SHAPE), rows([5, 4]), 'elu' as never),
    /FeatureMap.x.kind: expected one of the kinds explicit/,
    'UNKNOWN_NAME',
  ],
  [
    'a map without a projection',
    () => featureMap(ones(...SHAPE), undefined as never, 'elu-plus-one' as never),
    /FeatureMap.kind: expected a kind with a projection, got elu-plus-one/,
    no,
  ],
  [
    'a scale that is no number',
    () => sum(recipe('relu', {inputScale: Number.NaN})),
    /inputScale: expected a finite number, got NaN/,
  ],
  [
    'a norm that is yes',
    () => sum(recipe('relu', {unitNorm: 'yes' as never})),
    /unitNorm: expected true or false/,
  ],
  [
    'a negative epsilon',
    () => sum(recipe('relu', {unitNorm: true, normEpsilon: -1})),
    /normEpsilon: expected a number of at least 0, got -1/,
  ],
  [
    'another head dimension',
    () => sum(recipe('relu', {projection: rows([5, 3])})),
    /LinearAttention: expected queryProjection \[M, 4\] or \[2, M, 4\], got \[5, 3\]/,
    shape,
  ],
  [
    'a projection that is none',
    () => featureMap(ones(...SHAPE), [1] as never, 'relu'),
    /FeatureMap.projection: expected a float32 tensor/,
  ],
  [
    'a projection of whole numbers',
    () => sum(recipe('relu', {projection: tf.ones<tf.Rank.R2>([5, 4], 'int32')})),
    /LinearAttention.queryProjection: expected a float32 tensor, got int32/,
  ],
  [
    'a disposed projection',
    () => log(recipe('log-positive', {projection: gone() as never})),
    /CausalFeatureAttention.queryProjection: .*, got a disposed one/,
  ],
  [
    'no projection',
    () => featureMap(ones(...SHAPE), undefined as never, 'relu'),
    /FeatureMap: expected a projection for the kind relu, got none/,
  ],
  [
    'a projection for one head of two',
    () => sum(recipe('relu', {projection: rows([1, 5, 4])})),
    /LinearAttention: .* got \[1, 5, 4\]/,
    shape,
  ],
  [
    'neither tensor nor recipe',
    () => linearAttention(null as never, ones(...SHAPE), ones(...SHAPE)),
    /features: expected a tensor, or a recipe with tokens x, got null/,
  ],
  [
    'gates without causal',
    () => sum(recipe('explicit'), {logGate: tf.zeros([1, 2, 3])}),
    /LinearAttention: expected causal: true with gates/,
    no,
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
    /expected an initial state without keyLogWeight, got both/,
    no,
  ],
  [
    'an unknown guard',
    () => linearAttentionRatio(ones(...SHAPE), ones(...SHAPE), ones(...SHAPE), null as never),
    /denGuard: expected a guard policy, got null/,
  ],
  [
    'a mask of more keys',
    () => exact({keyMask: tf.ones([1, 20])}),
    /SoftmaxAttention: expected keyMask \[1, 3\], got \[1, 20\]/,
    shape,
  ],
  [
    'a mask of more keys of sums',
    () => sum(recipe('explicit'), {keyMask: tf.ones([1, 20])}),
    /LinearAttention: expected keyMask \[1, 3\], got \[1, 20\]/,
    shape,
  ],
  [
    'a bias of one head',
    () => exact({keyBias: tf.zeros([1, 1, 3])}),
    /SoftmaxAttention: expected keyBias \[1, 2, 3\], got \[1, 1, 3\]/,
    shape,
  ],
  ['causal: 1', () => exact({causal: 1}), /SoftmaxAttention.causal: expected true or false, got 1/],
  [
    'an infinite scale',
    () => exact({scale: Number.POSITIVE_INFINITY}),
    /SoftmaxAttention.scale: expected a finite number/,
  ],
  [
    'options null',
    () => exact(null as never),
    /SoftmaxAttention.options: expected an object, got null/,
  ],
  [
    'no keys',
    () => softmaxAttention(ones(...SHAPE), ones(1, 2, 0, 4), ones(1, 2, 0, 4)),
    /SoftmaxAttention: expected key of four axes, none empty/,
    shape,
  ],
  [
    'whole numbers',
    () => softmaxAttention(of('int32'), ones(...SHAPE), ones(...SHAPE)),
    /SoftmaxAttention.query: expected a float32 tensor, got int32/,
  ],
  [
    'words',
    () => featureMap(strings(), rows([5, 4]), 'relu'),
    /FeatureMap.x: expected a float32 tensor, got string/,
  ],
  [
    'keys of another width',
    () => softmaxAttention(ones(...SHAPE), ones(1, 2, 3, 5), ones(...SHAPE)),
    /SoftmaxAttention: expected key \[1, 2, 3, 4\], got \[1, 2, 3, 5\]/,
    shape,
  ],
  [
    'logarithms of another width',
    () => causalFeatureAttention(ones(...SHAPE), ones(1, 2, 3, 5), ones(...SHAPE)),
    /CausalFeatureAttention: expected keys of 4 columns and 4 features/,
    shape,
  ],
  [
    'sums without their normalizer',
    () => sum(recipe('explicit'), {causal: true, initialState: {state: ones(1, 2, 4, 4)}}),
    /LinearAttention: expected an initial state of sums and normalizer, got the sums alone/,
    shape,
  ],
  [
    'keys to draw from where there are none',
    () => sampleKeys(ones(...SHAPE), ones(1, 2, 0, 4), ones(1, 2, 3, 1)),
    /SampleKeys: expected key of four axes, none empty, got \[1, 2, 0, 4\]/,
    shape,
  ],
  [
    'segments beyond the rows',
    () => segmentMeans(ones(...SHAPE), [0, 2, 4]),
    /SegmentMeans: expected starts of segments that rise from 0 to 3, got \[0, 2, 4\]/,
    'BAD_RANGE',
  ],
  [
    'vectors that proposals do not divide',
    () => {
      const [perVector, affinity] = [tf.ones<tf.Rank.R3>([1, 2, 5]), ones(1, 2, 2, 3)]
      const vectors = {vectors: ones(1, 2, 5, 4), values: ones(1, 2, 5, 4), affinity}
      const mixture = {...vectors, bias: perVector, balance: perVector}
      return optimalMixture(ones(...SHAPE), mixture, {scale: 1, coefficient: 1, floor: 0})
    },
    /OptimalMixture: expected one vector for each of the 2 proposals of affinity, or two/,
    shape,
  ],
  [
    'disposed values',
    () => linearAttention(ones(...SHAPE), ones(...SHAPE), gone()),
    /LinearAttention.value: .* got a disposed one/,
  ],
]

describeRefusals('an operation', OF_OPERATIONS)
