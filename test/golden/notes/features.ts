/** Methods that are features and a quotient of sums. */
import type {PresetName} from '../../../src/attention/index.js'
import type {GoldenCase} from '../cases.js'
import type {AttentionRequest, WrittenRequest} from '../request.js'
import {
  addedEpsilon,
  guardField,
  guardOfNote,
  numberAs,
  numberField,
  type Reading,
  textField,
} from './read.js'

type Asked = Partial<Pick<AttentionRequest, 'preset' | 'options' | 'features'>>

const asks = (method: AttentionRequest['methods'][number], rest: Asked): WrittenRequest => ({
  kind: 'attention',
  methods: [method],
  ...rest,
})

/** A reading of several of the peers' methods as one of ours, each with its own preset and options. */
function reading(
  methods: Readonly<Record<string, Asked>>,
  method: AttentionRequest['methods'][number],
  options: (golden: GoldenCase, asked: Asked) => AttentionRequest['options'],
): Reading {
  return {
    methods: Object.keys(methods),
    request(golden) {
      const asked = methods[golden.method]!
      return asks(method, {...asked, options: {...asked.options, ...options(golden, asked)}})
    },
  }
}

const ELU_PEERS: readonly [RegExp, PresetName][] = [
  [/^idiap\//, 'fast-transformers'],
  [/^fla-org\//, 'fla'],
  [/^google-research/, 'google-slim'],
]

/** Here `eps` is what is added to the denominator. */
const elu: Reading = {
  methods: ['linear elu+1', 'slim performer elu+1'],
  request(golden) {
    const preset = ELU_PEERS.find(([pattern]) => pattern.test(golden.peer))?.[1]
    if (!preset) throw new Error(`${golden.name}: no preset reproduces ${golden.peer}`)
    return asks('elu', {preset, options: addedEpsilon(golden)})
  },
}

/** `eps` is what is added to each feature. */
const cosformer = reading(
  {'kernelized relu-only cosformer reweighting': {preset: 'hku'}},
  'cosformer',
  golden => ({...numberAs(golden, 'eps', 'featureEpsilon'), ...guardField(golden, 'denGuard')}),
)

/** `nu` where the manifest names it, else the peer's usual 2. */
const dpfp: Reading = {
  methods: ['kernelized dpfp'],
  request(golden, arrays) {
    const headDim = arrays.shape('q')[3]!
    const featureDim = numberField(golden, 'm') ?? numberField(golden, 'num_features')
    const nu = numberField(golden, 'nu') ?? (featureDim ? featureDim / (2 * headDim) : 2)
    return asks('dpfp', {preset: 'hku', options: {nu, denGuard: denominatorGuard(golden)}})
  },
}

const squaredRelu = reading(
  {'slim performer sqr': {preset: 'google-slim'}},
  'squared-relu',
  golden => ({
    denGuard: denominatorGuard(golden),
  }),
)

const denominatorGuard = (golden: GoldenCase) => guardOfNote(textField(golden, 'denom_note'))

const efficient: Reading = {
  methods: ['efficient attention', 'efficient attention (softmax q over d, softmax/exp k)'],
  request(golden) {
    if (golden.method !== 'efficient attention') {
      const options = numberAs(golden, 'denom_eps', 'normalizerEpsilon')
      return asks('efficient', {preset: 'performer-pytorch', options})
    }
    const bucket = golden.causal && {bucket: numberField(golden, 'bucket_size') ?? 1}
    const options = {...bucket, ...guardField(golden, 'causalDenGuard')}
    return asks('efficient', {preset: 'linear-attention-transformer', options})
  },
}

/** xformers adds this inside the exponent, where it cancels. */
const EXPONENT = 1e-6

/** `eps` is added to features; a text means that it cancels. */
const favorPositive = reading(
  {
    'favor+ softmax': {preset: 'performer-pytorch'},
    'favor+ pos': {preset: 'google-jax'},
    'kernelized favorp': {preset: 'hku'},
    'slim performer favor+_2': {preset: 'google-slim'},
    'favor+ SMOrf': {preset: 'xformers', features: {exponent: EXPONENT}},
  },
  'favor-pos',
  golden => ({
    ...numberAs(golden, 'eps', 'featureEpsilon'),
    ...numberAs(golden, 'denom_eps', 'normalizerEpsilon'),
  }),
)

const favorHyperbolic = reading(
  {
    favorhyp: {preset: 'fast-transformers', features: {stabilizer: 'none'}},
    favorhyp_stab: {
      preset: 'fast-transformers',
      options: {stabilizer: 'norm-max'},
      features: {stabilizer: 'norm-max'},
    },
    'favor+ SMHyp': {preset: 'xformers', features: {stabilizer: 'none', exponent: EXPONENT}},
    'favor+ SMReg': {preset: 'xformers', features: {stabilizer: 'none', exponent: EXPONENT}},
  },
  'favor-hyp',
  addedEpsilon,
)

const favorTrigonometric = reading(
  {
    'favor+ sincos': {preset: 'google-jax'},
    'kernelized fourier': {preset: 'hku'},
    rff: {preset: 'fast-transformers'},
    rff_smooth: {preset: 'fast-transformers', options: {constantFeature: 1}},
  },
  'favor-trig',
  (golden, {preset}) => ({
    ...(preset === 'fast-transformers' && addedEpsilon(golden)),
    ...(preset === 'hku' && guardField(golden, 'denGuard')),
  }),
)

/** `eps` is added to features, but for `genrelu`, where it is added to the denominator. */
const favorRelu = reading(
  {
    'favor+ generalized relu': {preset: 'performer-pytorch'},
    'generalized relu without projection': {
      preset: 'performer-pytorch',
      options: {features: 'deterministic'},
    },
    'favor+ relu_det': {preset: 'google-jax'},
    'favor+ relu_ortho': {preset: 'google-jax', options: {features: 'random'}},
    'slim performer relu': {preset: 'google-slim'},
    genrelu: {preset: 'fast-transformers'},
    'kernelized relu': {preset: 'hku'},
    'kernelized relu-only': {
      preset: 'hku',
      options: {features: 'deterministic', inputScaling: 'raw', projectionScale: 'none'},
    },
  },
  'favor-relu',
  rectifiedOptions,
)

const favorSigmoid = reading(
  {'kernelized sigmoid-only': {preset: 'hku'}},
  'favor-sigmoid',
  rectifiedOptions,
)

function rectifiedOptions(golden: GoldenCase, {preset}: Asked): AttentionRequest['options'] {
  const toDenominator = preset === 'fast-transformers'
  return {
    ...(toDenominator ? addedEpsilon(golden) : numberAs(golden, 'eps', 'featureEpsilon')),
    ...numberAs(golden, 'denom_eps', 'normalizerEpsilon'),
    ...(preset === 'hku' && guardField(golden, 'denGuard')),
  }
}

/** A formula of A that exchanges the dimension and the mean of |x+y|^2; A comes from the whole sequence. */
const oprf: Reading = {
  methods: ['FAVOR++ / OPRF'],
  request: () => asks('oprf', {options: {prefix: 0, rule: 'swapped'}}),
}

export const FEATURES: readonly Reading[] = [
  elu,
  cosformer,
  dpfp,
  squaredRelu,
  efficient,
  favorPositive,
  favorHyperbolic,
  favorTrigonometric,
  favorRelu,
  favorSigmoid,
  oprf,
]
