/** Feature maps with one defect each, and the check that is named for it. */
import {defineFeatureMap, type Estimator, guardOptions, tf, z} from '../../src/attention/index.js'

/** An estimator, and the check that must fail. */
export interface Broken {
  estimator: Estimator
  check: string
}

type Facts = Parameters<typeof defineFeatureMap>[0]

/** Exponentials of projections, honest and sound; `facts` in place of its own. */
function featureMap(name: string, facts: object = {}): Estimator {
  return defineFeatureMap({
    name,
    title: 'exponentials of bounded projections',
    citation: 'none',
    formula: 'phi(x) = exp(tanh(W x))',
    advice: '',
    nonNegative: true,
    projection: {default: 'iid'},
    inputs: () => 'canonical',
    options: z.object({...guardOptions}),
    featureDim: (numFeatures: number) => numFeatures,
    phi: inputs => bounded(inputs),
    ...facts,
  } as Facts) as unknown as Estimator
}

type PhiInputs = Parameters<Facts['phi']>[0]

/** `W x`, `[B, H, n, M]`. */
function projected({projection, inputScale}: PhiInputs, tokens: tf.Tensor4D): tf.Tensor4D {
  const rows = projection as tf.Tensor
  const [, heads] = tokens.shape
  const perHead = rows.rank === 2 ? tf.expandDims(rows, 0) : rows
  const [own, count, dim] = perHead.shape as [number, number, number]
  const tiled = tf.tile(tf.reshape(perHead, [1, own, count, dim]), [
    tokens.shape[0],
    own === 1 ? heads : 1,
    1,
    1,
  ])
  return tf.matMul(tf.mul(tokens, inputScale), tiled, false, true)
}

const bounded =
  (inputs: PhiInputs) =>
  (tokens: tf.Tensor4D): tf.Tensor4D =>
    tf.exp(tf.tanh(projected(inputs, tokens)))

const softmax = () => ({
  kernel: 'softmax',
  inputs: 'canonical',
  inputScale: 1,
  label: 'softmax',
})

/** The sound one: every check passes. */
export const SOUND = featureMap('sound')

let calls = 0

/** Decoders of a sound map, the output of each step passed on by `change`. */
function changedDecoder(
  map: Estimator,
  change: (out: tf.Tensor4D) => tf.Tensor4D,
): Estimator['decoder'] {
  return inputs => {
    const inner = map.decoder!(inputs)
    return {
      next: (query, key, value) => change(inner.next(query, key, value)),
      dispose: () => inner.dispose(),
      get state() {
        return inner.state
      },
      get stateBytes() {
        return inner.stateBytes
      },
    }
  }
}

const stateful = featureMap('stateful')
const carried: {state?: tf.Tensor} = {}

/** Positive features with the largest of a token apart, as a scale of it: their products are unbiased with it. */
export const SCALED = featureMap('scaled', {
  unbiasedFor: 'softmax-kernel',
  target: softmax,
  phi: (inputs: PhiInputs) => ({
    scaled: (tokens: tf.Tensor4D) => {
      const x = tf.mul(tokens, inputs.inputScale)
      const halfNorm = tf.mul(tf.sum(tf.square(x), -1, true), 0.5)
      const logs = tf.sub(projected(inputs, tokens), halfNorm)
      const top = tf.max(logs, -1, true)
      return {features: tf.exp(tf.sub(logs, top)), logScale: tf.squeeze(top, [3])}
    },
  }),
})

/** Moments of `exp(x.y)` from positive features, with a factor on mean and variance. */
const moments =
  (onMean: number, onVariance: number) =>
  (x: Float64Array, y: Float64Array, {numFeatures}: {numFeatures: number}) => {
    const dot = x.reduce((sum, each, at) => sum + each * y[at]!, 0)
    const both = x.reduce((sum, each, at) => sum + (each + y[at]!) ** 2, 0)
    const variance = (Math.exp(2 * dot) * Math.expm1(both)) / numFeatures
    return {mean: onMean * Math.exp(dot), variance: onVariance * variance, kurtosis: 3}
  }

const positiveFacts = {
  target: softmax,
  phi: ({inputScale, projection}: PhiInputs) => ({kind: 'log-positive', projection, inputScale}),
}

const positiveKernel = {
  formula: () => 'exp(x.y)',
  idle: () => ({}),
  factor: (numFeatures: number) => numFeatures ** -0.5,
}

/** phi(x) = (x, 1), drawing nothing: phi(x).phi(y) = 1 + x.y. */
const affine = {
  projection: undefined,
  nonNegative: false,
  featureDim: (_numFeatures: number, headDim: number) => headDim + 1,
  phi:
    ({inputScale}: PhiInputs) =>
    (tokens: tf.Tensor4D): tf.Tensor4D =>
      tf.concat(
        [tf.mul(tokens, inputScale), tf.onesLike(tf.slice(tokens, [0, 0, 0, 0], [-1, -1, -1, 1]))],
        -1,
      ),
}

/** Draws nothing, and states so: every estimate is 1 + x.y. */
export const DETERMINISTIC = featureMap('deterministic', {
  ...affine,
  kernel: {
    formula: () => '1 + x.y',
    idle: () => ({}),
    moments: (x: Float64Array, y: Float64Array) => ({
      mean: 1 + x.reduce((sum, each, at) => sum + each * y[at]!, 0),
      variance: 0,
      kurtosis: 0,
    }),
  },
})

/** Options whose ranges and kinds leave little to draw. */
export const NARROW = featureMap('narrow', {
  options: z.object({
    ...guardOptions,
    window: z.number().int().min(8).max(64).default(16),
    decay: z.number().min(0.9).max(1).default(0.99),
    shift: z.number().optional(),
    blocks: z.number().int().multipleOf(8).min(24).max(40).default(32),
    even: z
      .number()
      .refine(x => x % 2 === 0)
      .default(4),
    only: z.number().min(1).max(1).default(1),
    mode: z.string().default('a'),
    kind: z.literal('b').default('b'),
    list: z.array(z.number()).default([1]),
  }),
})

export const BROKEN: Readonly<Record<string, Broken>> = {
  'features relative to the mean of the sequence': {
    check: 'causality',
    estimator: featureMap('future', {
      phi: (inputs: PhiInputs) => (tokens: tf.Tensor4D) => {
        const w = projected(inputs, tokens)
        return tf.exp(tf.tanh(tf.sub(w, tf.mean(w, 2, true))))
      },
    }),
  },
  'another length of phi': {
    check: 'feature length',
    estimator: featureMap('longer', {featureDim: (numFeatures: number) => numFeatures + 1}),
  },
  'a kernel off by a factor': {
    check: 'kernel mean',
    estimator: featureMap('biased', {
      unbiasedFor: 'softmax-kernel',
      target: softmax,
      // positive features without their norms: a bias of exp((|y|^2 - |z|^2) / 2) between keys
      phi: (inputs: PhiInputs) => (tokens: tf.Tensor4D) => tf.exp(projected(inputs, tokens)),
    }),
  },
  'a counter in the module': {
    check: 'nothing left behind',
    estimator: featureMap('counting', {
      phi: (inputs: PhiInputs) => (tokens: tf.Tensor4D) => {
        calls++
        return tf.add(bounded(inputs)(tokens), calls / 1000)
      },
    }),
  },
  'a state that decoders share': {
    check: 'decoders are separate',
    estimator: {
      ...stateful,
      decoder: changedDecoder(stateful, out => {
        const before = carried.state
        const mixed = before ? tf.add(out, tf.mul(before, 0.01)) : out
        before?.dispose()
        carried.state = tf.keep(tf.clone(out))
        return mixed as tf.Tensor4D
      }),
    },
  },
  'a step that keeps what it gave': {
    check: 'memory of a decoder',
    estimator: {
      ...featureMap('hoarding'),
      decoder: changedDecoder(stateful, out => {
        tf.keep(tf.clone(out))
        return out
      }),
    },
  },
  'rows without keys that are one': {
    check: 'no key left',
    estimator: (() => {
      const map = featureMap('keyless')
      const {features: _, ...rest} = map
      const attend: Estimator['attend'] = inputs => {
        const {out} = map.attend(inputs)
        if (!inputs.keyMask) return {out}
        const none = tf.sub(1, tf.max(inputs.keyMask, -1))
        return {out: tf.add(out, tf.reshape(none, [...none.shape, 1, 1, 1]))}
      }
      return {...rest, attend} as Estimator
    })(),
  },
  'a gradient that is cut off': {
    check: 'gradients',
    estimator: featureMap('cut', {
      phi: (inputs: PhiInputs) => (tokens: tf.Tensor4D) => {
        const features = bounded(inputs)(tokens)
        const stop = tf.customGrad(x => ({
          value: tf.clone(x as tf.Tensor),
          gradFunc: dy => tf.mul(dy, 0.5),
        }))
        return stop(features) as tf.Tensor4D
      },
    }),
  },
  'random numbers of its own': {
    check: 'same draw, same bits',
    estimator: featureMap('gambling', {
      phi: (inputs: PhiInputs) => (tokens: tf.Tensor4D) =>
        tf.add(bounded(inputs)(tokens), Math.random()),
    }),
  },
  'negative features': {
    check: 'no negative weight',
    estimator: featureMap('negative', {
      phi: (inputs: PhiInputs) => (tokens: tf.Tensor4D) =>
        tf.add(tf.tanh(projected(inputs, tokens)), 0.3),
    }),
  },
  'a mask that is not looked at': {
    check: 'masked padding',
    estimator: (() => {
      const map = featureMap('unmasked')
      const {features: _, ...rest} = map
      return {...rest, attend: inputs => map.attend({...inputs, keyMask: undefined})} as Estimator
    })(),
  },
  'features of single tokens that differ': {
    check: 'decoder equals causal',
    estimator: featureMap('other-decoder', {
      phi: (inputs: PhiInputs) => (tokens: tf.Tensor4D) =>
        tf.add(bounded(inputs)(tokens), tokens.shape[2] === 1 ? 0.1 : 0),
    }),
  },
  'rows that sum to less than one': {
    check: 'constant values',
    estimator: (() => {
      const map = featureMap('shrinking')
      const {features: _, ...rest} = map
      const attend: Estimator['attend'] = inputs => ({out: tf.mul(map.attend(inputs).out, 0.999)})
      return {...rest, attend} as Estimator
    })(),
  },
  'a tensor that is kept': {
    check: 'memory of a call',
    estimator: featureMap('keeping', {
      phi: (inputs: PhiInputs) => (tokens: tf.Tensor4D) => tf.keep(bounded(inputs)(tokens)),
    }),
  },
  'places of keys': {
    check: 'order of keys',
    estimator: featureMap('placed', {
      phi: (inputs: PhiInputs) => ({
        query: bounded(inputs),
        key: (tokens: tf.Tensor4D) => {
          const places = tf.reshape(tf.range(1, 1 + tokens.shape[2]), [1, 1, tokens.shape[2], 1])
          return tf.mul(bounded(inputs)(tokens), places) as tf.Tensor4D
        },
      }),
    }),
  },
  'an option that the schema lets be too small': {
    check: 'options run',
    estimator: featureMap('fragile', {
      options: z.object({...guardOptions, power: z.number().positive().default(1)}),
      phi: (inputs: PhiInputs) => {
        const {power} = inputs.options as {power: number}
        if (power !== 1) throw new TypeError('power is 1')
        return bounded(inputs)
      },
    }),
  },
  'a size of the state that is not so': {
    check: 'state size',
    estimator: {...featureMap('small-state'), stateBytes: () => 8},
  },
  'variance of half the size': {
    check: 'kernel variance',
    estimator: featureMap('sure', {
      ...positiveFacts,
      unbiasedFor: 'softmax-kernel',
      kernel: {...positiveKernel, moments: moments(1, 0.5)},
    }),
  },
  'a mean that is a tenth too large': {
    check: 'kernel mean',
    estimator: featureMap('off-mean', {
      ...positiveFacts,
      kernel: {...positiveKernel, moments: moments(1.1, 1)},
    }),
  },
  'a kernel that features without a draw do not have': {
    check: 'kernel mean',
    estimator: featureMap('affine', {...affine, unbiasedFor: 'softmax-kernel', target: softmax}),
  },
  'a variance of what draws nothing': {
    check: 'kernel variance',
    estimator: featureMap('unsure', {
      ...affine,
      kernel: {...positiveKernel, factor: undefined, moments: moments(1, 1)},
    }),
  },
  'masked keys times infinity': {
    check: 'content of masked keys',
    estimator: (() => {
      const map = featureMap('overflowing-mask', {keyOrderMatters: false})
      const {features: _, ...rest} = map
      const attend: Estimator['attend'] = inputs => {
        const {out} = map.attend(inputs)
        if (!inputs.keyMask) return {out}
        // of ordinary keys no exponential overflows, of masked ones with other content some do
        const sums = tf.sum(tf.exp(tf.mul(tf.square(inputs.key), 4)), -1)
        const hidden = tf.expandDims(tf.sub(1, inputs.keyMask), 1)
        const wasted = tf.mul(tf.sum(tf.mul(sums, hidden), -1), 0)
        return {out: tf.add(out, tf.reshape(wasted, [...wasted.shape, 1, 1]))}
      }
      return {...rest, attend} as Estimator
    })(),
  },
}
