/**
 * Where options act: an option that no line here is about acts by itself, in every form and at any of the values
 * that its schema suggests. What is said here is checked: a silent option must be silent.
 */
import type {MethodName} from '../../src/attention/index.js'
import type {RandomStream} from '../../src/random/index.js'
import {type HostArrays, hostNormals, type Sizes} from './arrays.js'

/** Forms in which a method is run. */
export type Form = 'bidirectional' | 'causal'

export interface Place {
  /** Options beside which the option acts. */
  beside?: Readonly<Record<string, unknown>>
  /** Values to draw from instead of those that the schema suggests. */
  values?: (stream: RandomStream) => unknown
  /** Forms in which no value changes anything, with the reason. */
  silent?: Partial<Record<Form, string>>
  /** Forms that refuse its values, with the reason. */
  refused?: Partial<Record<Form, string>>
  /** Some keys are masked. */
  masked?: boolean
  /** Learned arrays beside which it acts. */
  parameters?: (sizes: Sizes) => HostArrays
}

/** Guards act on denominators, epsilons on features: a form that takes logarithms has neither. */
const GUARD = 'add:0.5'
const CAUSAL_ONLY = {bidirectional: 'acts on running sums'}
const between = (low: number, high: number) => (stream: RandomStream) =>
  Number((low + (high - low) * stream.uniform()).toPrecision(3))
const whole = (low: number, high: number) => (stream: RandomStream) =>
  low + Math.floor((high - low + 1) * stream.uniform())

/** By the name of the option, for every method that has no line of its own. */
const PLACES: Readonly<Record<string, readonly Place[]>> = {
  causalDenGuard: [
    {silent: CAUSAL_ONLY},
    {beside: {denGuard: GUARD}, values: () => 'none', silent: CAUSAL_ONLY},
  ],
  normalizerEpsilon: [{silent: CAUSAL_ONLY}],
  featureScale: [{beside: {denGuard: GUARD}, values: between(0.05, 0.25)}],
  projectionScale: [{beside: {featureEpsilon: 0.2}}],
  queryScale: [{beside: {denGuard: GUARD}}],
  prefix: [{values: whole(6, 9), silent: {bidirectional: 'all tokens are there at once'}}],
  ridge: [{values: between(0.1, 0.6)}],
}

const NO_STABILIZER = {stabilizer: 'none'}
const JOINT = {causalNormalizer: 'joint'}
const CUT = {window: 3, chunkSize: 2}
const CANCELS = 'a factor on x is one on features, and cancels'
const HOMOGENEOUS = {bidirectional: CANCELS, causal: CANCELS}
const NO_BIDIRECTIONAL = {bidirectional: 'the causal form alone has it'}

/** Where a method differs from that. */
const OF_METHOD: Partial<Record<MethodName, Readonly<Record<string, readonly Place[]>>>> = {
  'favor-pos': {
    stabilizer: [{beside: {featureEpsilon: 0.2}}],
    featureEpsilon: [{beside: NO_STABILIZER}, {beside: {stabilizer: 'max'}}],
    epsilonPlace: [{beside: {...NO_STABILIZER, featureEpsilon: 0.2}}],
    featureScale: [{beside: {...NO_STABILIZER, denGuard: GUARD}}],
    normalizerEpsilon: [{beside: NO_STABILIZER, silent: CAUSAL_ONLY}],
    denGuard: [{beside: NO_STABILIZER}],
    causalDenGuard: [{beside: NO_STABILIZER, silent: CAUSAL_ONLY}],
  },
  'favor-hyp': {
    stabilizer: [{beside: {denGuard: GUARD}}],
    denGuard: [{beside: NO_STABILIZER}, {beside: {stabilizer: 'norm-max'}}],
    causalDenGuard: [{beside: NO_STABILIZER, silent: CAUSAL_ONLY}],
  },
  'favor-trig': {
    norms: [{beside: {denGuard: GUARD}}, {values: () => 'none'}],
    constantFeature: [{}, {beside: {norms: 'none'}}, {beside: {norms: 'max'}}],
  },
  oprf: {
    a: [{values: between(-0.3, 0.1)}, {beside: {stabilizer: 'max'}, values: between(-0.3, 0.1)}],
    rule: [{}, {beside: {stabilizer: 'max'}}],
    stabilizer: [{beside: {featureEpsilon: 0.2}}],
    sums: [
      {beside: {stabilizer: 'max'}, silent: {causal: 'as many queries as keys, all in the prefix'}},
      {beside: {stabilizer: 'max', prefix: 6}},
    ],
    scaledTwice: [{beside: {stabilizer: 'max'}}],
    featureEpsilon: [{beside: {stabilizer: 'max'}}],
    denGuard: [{beside: {stabilizer: 'max'}}],
    causalDenGuard: [{beside: {stabilizer: 'max'}, silent: CAUSAL_ONLY}],
  },
  'rfa-gate': {
    constantGate: [{values: between(0.3, 0.9)}],
    gateBias: [{beside: {gating: 'sigmoid'}}],
  },
  'rfa-arccos': {featureScale: [{beside: {featureEpsilon: 0.2}}, {beside: {denGuard: GUARD}}]},
  cosformer: {maxLength: [{values: whole(16, 40)}]},
  maclaurin: {maxDegree: [{values: whole(1, 4)}]},
  dpfp: {nu: [{values: stream => [1, 3, 4][Math.floor(3 * stream.uniform())]}]},
  efficient: {
    causalNormalizer: [{silent: CAUSAL_ONLY}],
    queryScale: [
      {silent: {causal: 'each row is divided by the sum of its weights'}},
      {beside: {...JOINT, causalDenGuard: GUARD}},
    ],
    bucket: [{silent: CAUSAL_ONLY}, {beside: JOINT, silent: CAUSAL_ONLY}],
    normalizerEpsilon: [{beside: JOINT, silent: CAUSAL_ONLY}],
    causalDenGuard: [{beside: JOINT, silent: CAUSAL_ONLY}],
  },
  lara: {
    alphaFloor: [{values: between(0.1, 0.4)}],
    gridHeight: [{beside: {proposals: 'grid'}, values: () => 2}],
    gridWidth: [{beside: {proposals: 'grid'}, values: () => 8}],
    learnedPlace: [{parameters: learnedMaps}],
    balance: [{beside: {sampling: 'antithetic'}}, {beside: {sampling: 'multisample'}}],
    maskedMeans: [{masked: true}],
  },
  eva: {
    window: [{beside: {chunkSize: 2}, values: whole(2, 5)}],
    overlap: [{beside: CUT}],
    chunkSize: [{beside: {window: 3}, values: whole(2, 5)}],
    gridWidth: [
      {beside: CUT, values: () => 4, refused: {causal: 'the past of a grid is no square'}},
    ],
    localKeys: [{beside: CUT}],
    count: [{beside: CUT}],
    padding: [{beside: CUT, masked: true}],
    proposal: [{beside: CUT}],
    causalProposal: [
      {beside: CUT, values: () => 'average', silent: NO_BIDIRECTIONAL},
      {beside: CUT, values: () => 'zero', silent: NO_BIDIRECTIONAL},
      {beside: {...CUT, proposal: 'zero'}, values: () => 'sum', silent: NO_BIDIRECTIONAL},
    ],
    sampling: [{beside: CUT}],
    noiseScale: [{beside: {...CUT, sampling: 'sampled'}}],
  },
  'favor-relu': {inputScaling: [{beside: {featureEpsilon: 0.2}}, {silent: HOMOGENEOUS}]},
  nystrom: {
    iterations: [{values: whole(0, 3)}],
    pinvScale: [{beside: {iterations: 1}}],
    landmarks: [{beside: {iterations: 2}}],
  },
  reformer: {
    rounds: [{values: whole(1, 3)}],
    chunkSize: [{values: whole(2, 4)}],
    lookBack: [{beside: {rounds: 2, chunkSize: 2}}],
    buckets: [{values: stream => 2 + 4 * Math.floor(2 * stream.uniform())}],
  },
}

/** Layer normalisation, which does not commute with taking means. */
function learnedMaps({headDim}: Sizes): HostArrays {
  const {data} = hostNormals('learned', [1, 1, 1, headDim])
  return {keyNormWeight: {shape: [headDim], data: data.map(x => 1 + x / 4)}}
}

const PAIRED = 'features of w and of -w come in pairs, so the sign of a row does not matter'
const COUNTED_BY_SIZE = {numFeatures: 'chunks have a size of their own'}

/** Common options that change nothing for a method that has a use for them, with the reason. */
export const COMMON_SILENT: Partial<Record<MethodName, Partial<Record<string, string>>>> = {
  rfa: {orthSign: PAIRED},
  'rfa-gate': {orthSign: PAIRED},
  'favor-trig': {orthSign: PAIRED},
  'favor-hyp': {orthSign: PAIRED},
  hrf: {orthSign: PAIRED},
  'favor-relu': {scale: CANCELS},
  eva: COUNTED_BY_SIZE,
}

/** Options beside which the common ones act. */
export const COMMON_BESIDE: Partial<Record<MethodName, Record<string, unknown>>> = {
  eva: {...CUT, sampling: 'sampled'},
}

/** Options with which a method cannot decode: those that need the whole sequence, or that have no recurrent form. */
export const NO_DECODER: Partial<
  Record<MethodName, (options: Record<string, unknown>) => boolean>
> = {
  'favor-pos': ({stabilizer}) => stabilizer !== 'log',
  'favor-hyp': ({stabilizer}) => stabilizer !== 'log',
  oprf: ({stabilizer}) => stabilizer !== 'log',
  'favor-trig': ({norms}) => norms === 'max',
  efficient: ({bucket}) => bucket !== 1,
}

/** Where the option of a method acts. */
export function placesOf(method: MethodName, option: string): readonly Place[] {
  return OF_METHOD[method]?.[option] ?? PLACES[option] ?? [{}]
}

/** Options that the tables name, by method. */
export function namedOptions(): {method: MethodName; options: string[]}[] {
  return Object.entries(OF_METHOD).map(([method, places]) => ({
    method: method as MethodName,
    options: Object.keys(places),
  }))
}
