/** Estimators as authors write them from docs/your-estimator.md: right ones of several kinds, and such with one defect. */
import {
  averaged,
  defineEstimator,
  defineFeatureMap,
  type Estimator,
  guardOptions,
  project,
  tf,
  z,
} from '../../src/attention/index.js'
import {positiveRow} from '../../src/theory/rows.js'
import type {Broken} from './broken-estimators.js'

type Map = Parameters<typeof defineFeatureMap>[0]
type PhiInputs = Parameters<Map['phi']>[0]
type Phi = (tokens: tf.Tensor4D) => tf.Tensor4D

const target = () =>
  ({kernel: 'softmax', inputs: 'canonical', inputScale: 1, label: 'softmax'}) as const

/** `M^(-1/2) exp(W x - share |x|^2)`; a half is right. */
function positive({inputScale, projection}: PhiInputs, share = 0.5): Phi {
  return tokens => {
    const x: tf.Tensor4D = tf.mul(tokens, inputScale)
    const norms = tf.mul(tf.sum(tf.square(x), -1, true), share)
    const rows = projection!.shape.at(-2)!
    return tf.mul(tf.exp(tf.sub(project(x, projection!), norms)), rows ** -0.5)
  }
}

/** A map of positive features; `facts` in place of its own. */
function own(name: string, facts: Partial<Map> = {}): Estimator {
  return defineFeatureMap({
    name,
    title: 'Positive features, written out',
    citation: 'none',
    formula: 'phi(x) = M^(-1/2) exp(W x - |x|^2 / 2)',
    advice: '',
    unbiasedFor: 'softmax-kernel',
    target,
    options: z.object({...guardOptions}),
    inputs: () => 'canonical',
    nonNegative: true,
    projection: {default: 'orth'},
    featureDim: numFeatures => numFeatures,
    phi: inputs => positive(inputs),
    ...facts,
  })
}

/** Moments of what {@link positive} gives for a half. */
const kernel: NonNullable<Map['kernel']> = {
  formula: () => 'exp(x.y)',
  moments: (x, y, {numFeatures}) => averaged(positiveRow(x, y), numFeatures),
  rowsBy: 'products',
  idle: () => ({denGuard: 'of the denominator', causalDenGuard: 'of the denominator'}),
}

/** An estimator whose attend is its own: sums are formed otherwise than by features. */
function attending(name: string, attend: (map: Estimator) => Estimator['attend']): Estimator {
  const map = own(name)
  const {features: _, ...rest} = map
  return {...rest, unbiasedFor: 'none', attend: attend(map)}
}

/** A map whose features take in the mean of all along an axis. */
function mixing(name: string, axis: number): Estimator {
  return own(name, {
    unbiasedFor: 'none',
    phi: inputs => tokens => {
      const features = positive(inputs)(tokens)
      return tf.add(features, tf.mul(tf.mean(features, axis, true), 0.1))
    },
  })
}

/** Attention by sums over all pairs, with a logit for each. */
const exact = defineEstimator({
  name: 'own-softmax',
  title: 'Softmax, written out',
  citation: 'none',
  formula: 'softmax(Q K^T / sqrt(D)) V',
  advice: '',
  unbiasedFor: 'exact',
  nonNegative: true,
  rowsSumToOne: true,
  supports: {bidirectional: true, causal: false, cross: true, decode: false, keyMask: false},
  keyOrderMatters: false,
  options: z.object({}),
  inputs: () => 'canonical',
  target,
  featureDim: () => 0,
  cost: ({batch, heads, queryLen, keyLen, headDim, valueDim}) => ({
    flops: 2 * batch * heads * queryLen * keyLen * (headDim + valueDim + 5),
  }),
  attend: ({query, key, value, inputScale}) => {
    const logits = tf.mul(tf.matMul(query, key, false, true), inputScale ** 2)
    return {out: tf.matMul(tf.softmax(logits), value) as tf.Tensor4D}
  },
  presets: {},
})

/** Right ones, each of another kind; the first overflows at large norms. */
export const RIGHT: readonly Estimator[] = [
  own('own-positive'),
  own('own-logarithms', {
    phi: ({inputScale, projection}) => ({
      kind: 'log-positive',
      projection: projection!,
      inputScale,
    }),
    kernel: {...kernel, factor: numFeatures => numFeatures ** -0.5},
    unused: () => ({denGuard: 'no denominator', causalDenGuard: 'no denominator'}),
  }),
  own('own-waves', {
    nonNegative: false,
    featureDim: numFeatures => 2 * numFeatures,
    phi:
      ({inputScale, projection}) =>
      tokens => {
        const x: tf.Tensor4D = tf.mul(tokens, inputScale)
        const products = project(x, projection!)
        const waves = tf.concat([tf.sin(products), tf.cos(products)], -1)
        const growth = tf.exp(tf.mul(tf.sum(tf.square(x), -1, true), 0.5))
        return tf.mul(tf.mul(waves, growth), projection!.shape.at(-2)! ** -0.5)
      },
  }),
  own('own-relu', {
    unbiasedFor: 'arc-cosine-kernel',
    target: () => ({...target(), kernel: 'arc-cosine', label: 'arc-cosine'}),
    phi:
      ({inputScale, projection}) =>
      tokens => {
        const products = project(tf.mul(tokens, inputScale), projection!)
        return tf.mul(tf.relu(products), projection!.shape.at(-2)! ** -0.5)
      },
  }),
  own('own-elu', {
    unbiasedFor: 'none',
    target: () => undefined,
    projection: undefined as never,
    featureDim: (_numFeatures, headDim) => headDim,
    phi:
      ({inputScale}) =>
      tokens =>
        tf.add(tf.elu(tf.mul(tokens, inputScale)), 1),
  }),
  exact as unknown as Estimator,
  own('own-signs', {
    unbiasedFor: 'none',
    target: () => undefined,
    nonNegative: true,
    stepwise: 'features are zero or one',
    phi:
      ({inputScale, projection}) =>
      tokens =>
        tf.add(tf.step(project(tf.mul(tokens, inputScale), projection!)), 0.1),
  }),
]

const map = own('costly')

/** One defect each, and the check that is named for it. */
export const DEFECTS: Readonly<Record<string, Broken>> = {
  'an exponent of 0.45 |x|^2': {
    check: 'kernel mean',
    estimator: own('exponent', {phi: inputs => positive(inputs, 0.45)}),
  },
  'an exponent of 0.45 |x|^2 beside stated moments': {
    check: 'kernel mean',
    estimator: own('stated-exponent', {phi: inputs => positive(inputs, 0.45), kernel}),
  },
  'an exponent of |x|^2': {
    check: 'kernel mean',
    estimator: own('whole-exponent', {phi: inputs => positive(inputs, 1)}),
  },
  'a factor of M^(-1/2) that is missing': {
    check: 'kernel mean',
    estimator: own('unscaled', {
      kernel,
      phi: inputs => tokens =>
        tf.mul(positive(inputs)(tokens), inputs.projection!.shape.at(-2)! ** 0.5),
    }),
  },
  '0.02 on every feature': {
    check: 'kernel mean',
    estimator: own('offset', {phi: inputs => tokens => tf.add(positive(inputs)(tokens), 0.02)}),
  },
  'features rounded to 1/256': {
    check: 'fine steps',
    estimator: own('rounded', {
      phi: inputs => tokens => {
        const features = tf.mul(positive(inputs)(tokens), 256)
        const straight = tf.customGrad(x => ({
          value: tf.round(x as tf.Tensor),
          gradFunc: dy => dy,
        }))
        return tf.div(straight(features), 256)
      },
    }),
  },
  'a tenth of the cost': {
    check: 'counted cost',
    estimator: {...map, cost: (...call) => ({flops: map.cost(...call).flops / 10})},
  },
  'ten times the cost': {
    check: 'counted cost',
    estimator: {
      ...own('too-costly'),
      cost: (...call) => ({flops: map.cost(...call).flops * 10}),
    },
  },
  'a cost of nothing': {
    check: 'cost',
    estimator: {...own('free'), cost: () => ({flops: 0})},
  },
  'heads that look at each other': {
    check: 'heads alone',
    estimator: mixing('mixing', 1),
  },
  'batch elements that look at each other': {
    check: 'batch elements alone',
    estimator: mixing('batched', 0),
  },
  'a denominator that is left out': {
    check: 'constant values',
    estimator: attending('undivided', map => inputs => {
      const {query, key} = map.features!(inputs)
      const weights = tf.matMul(query, key, false, true)
      return {out: tf.matMul(weights, inputs.value) as tf.Tensor4D}
    }),
  },
  'a scale that is not looked at': {
    check: 'logit scale',
    estimator: own('unscaled-inputs', {phi: inputs => positive({...inputs, inputScale: 0.5})}),
  },
  'weights that look at the values': {
    check: 'linear in values',
    estimator: attending('greedy', map => inputs => {
      const {out} = map.attend(inputs)
      return {out: tf.add(out, tf.mul(tf.square(out), 0.01))}
    }),
  },
  'a variance that forgets the angle': {
    check: 'kernel variance',
    estimator: own('angle', {
      kernel: {
        ...kernel,
        moments(x, y, draw) {
          const right = kernel.moments(x, y, draw)
          const squares = Math.hypot(...x) ** 2 + Math.hypot(...y) ** 2
          return {...right, variance: (right.mean ** 2 * Math.expm1(squares)) / draw.numFeatures}
        },
      },
    }),
  },
  'queries that are not looked at': {
    check: 'ignored inputs',
    estimator: attending(
      'blind',
      map => inputs => map.attend({...inputs, query: tf.onesLike(inputs.query)}),
    ),
  },
  'a division by the length of a query': {
    check: 'zeros',
    estimator: own('units', {
      unbiasedFor: 'none',
      target: () => undefined,
      phi: inputs => tokens => {
        const lengths = tf.sqrt(tf.sum(tf.square(tokens), -1, true))
        return positive(inputs)(tf.div(tokens, lengths))
      },
    }),
  },
  'another result on other backends': {
    check: 'backends agree',
    estimator: own('at-home', {
      phi: inputs => tokens =>
        tf.add(positive(inputs)(tokens), tf.getBackend() === 'cpu' ? 0 : 0.01),
    }),
  },
  'an option that is used and declared unused': {
    check: 'unused options',
    estimator: own('used', {
      options: z.object({...guardOptions, offset: z.number().min(0).default(0)}),
      unused: () => ({offset: 'added to nothing'}),
      phi: inputs => tokens =>
        tf.add(positive(inputs)(tokens), (inputs.options as {offset: number}).offset),
    }),
  },
  'an option that the decoder does not follow': {
    check: 'options in the decoder',
    estimator: own('deaf', {
      unbiasedFor: 'none',
      options: z.object({...guardOptions, offset: z.number().min(0).default(0)}),
      phi: inputs => tokens => {
        const {offset} = inputs.options as {offset: number}
        return tf.add(positive(inputs)(tokens), inputs.call ? offset : 0)
      },
    }),
  },
  'attention that is declared exact': {
    check: 'exact output',
    estimator: {
      ...own('inexact'),
      unbiasedFor: 'exact',
    },
  },
  'outputs that are declared unbiased': {
    check: 'output mean',
    estimator: {...own('ratio'), unbiasedFor: 'output'},
  },
}
