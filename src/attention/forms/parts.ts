/** Attention with features in its parts, each by the operations that the whole uses, to be timed one by one. */
import {tf} from '../../tf.js'
import {guardDenominator, quotient} from '../kernels/guard.js'
import {causalFeatureAttention, linearAttention} from '../kernels/index.js'
import type {ReadOptions} from './decoders/sums.js'
import {mapKeys, mapTokens, type TokenFeatures} from './decoders/tokens.js'
import type {AttendInputs, AttendPart} from './estimator.js'
import {bridgeAttention, bridgesOf, type LogPhi, logarithms} from './positive-attention.js'

/** Sums of explicit features: features, sums over keys and queries, guard with the division. */
export function sumParts(
  {query, key, value, causal, keyMask}: AttendInputs,
  mapsOf: () => TokenFeatures,
  {guard, normalizerEpsilon = 0}: ReadOptions,
): AttendPart[] {
  const epsilon = causal ? normalizerEpsilon : 0
  const features = () => {
    const maps = mapsOf()
    const {features, logWeight} = mapKeys(maps, key)
    return [mapTokens(maps.query, query), features, ...(logWeight ? [logWeight] : [])]
  }
  return [
    {name: 'features', run: features},
    {
      name: 'contraction',
      run: ([queries, keys, keyLogWeight]) => {
        const options = {causal, keyMask, keyLogWeight}
        const sums = linearAttention(queries as tf.Tensor4D, keys as tf.Tensor4D, value, options)
        const {numerator, denominator} = sums
        // what an epsilon on the sums of keys adds needs the features once more
        const extra = epsilon > 0 ? [tf.mul(tf.sum(queries!, -1), epsilon)] : []
        return [numerator, denominator, ...extra]
      },
    },
    {
      name: 'guard',
      run: ([numerator, sum, extra]) => {
        const denominator = (extra ? tf.add(sum!, extra) : sum) as tf.Tensor3D
        return [quotient(numerator as tf.Tensor4D, guardDenominator(denominator, guard))]
      },
    },
  ]
}

/** Features given by logarithms. They need no guard: the contraction divides by their sums. */
export function logParts(inputs: AttendInputs, phiOf: () => LogPhi): AttendPart[] {
  const {query, key, value, causal, keyMask} = inputs
  if (causal) {
    return [
      {
        name: 'features',
        run: () => {
          const phi = phiOf()
          return [logarithms(phi, query), logarithms(phi, key)]
        },
      },
      {
        name: 'contraction',
        run: ([queries, keys]) => [
          causalFeatureAttention(queries as tf.Tensor4D, keys as tf.Tensor4D, value, keyMask),
        ],
      },
    ]
  }
  // keys attend to rows and rows to queries: no features are formed, only one number per key
  return [
    {
      name: 'features',
      run: () => {
        const {bridges, keyBias} = bridgesOf(phiOf(), inputs)
        return keyBias ? [bridges, keyBias] : [bridges]
      },
    },
    {
      name: 'contraction',
      run: ([bridges, keyBias]) => [
        bridgeAttention(inputs, bridges as tf.Tensor3D, keyBias as tf.Tensor3D | undefined),
      ],
    },
  ]
}
