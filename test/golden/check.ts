/** What every attention case is checked for. */
import * as tf from '@tensorflow/tfjs-core'
import type {z} from 'zod'
import {attend} from '../../src/attention/attention.js'
import {supportsOf} from '../../src/attention/forms/estimator.js'
import type {
  Decoder,
  Estimator,
  MethodName,
  PresetName,
  Projection,
} from '../../src/attention/index.js'
import {estimatorNamed, resolveOptions} from '../../src/attention/resolve.js'
import {
  compute,
  type HostArrays,
  type HostInputs,
  maskTensor,
  namedTensors,
  sliceRows,
  toTensors,
} from '../helpers/arrays.js'
import {decodeAll, decoderFor} from '../helpers/decode.js'
import {assertWithin, type Bounded, gamma, maxAbs} from '../helpers/rounding.js'
import {
  type HostProjection,
  TWINS,
  type TwinInputs,
  type TwinResult,
} from '../helpers/twins/index.js'
import {forEachHead} from '../helpers/twins/types.js'
import {type FeatureBuilder, keyFactors} from '../helpers/twins/weighted.js'
import type {CaseArrays, GoldenCase} from './cases.js'
import {uniformOf} from './drawn-keys.js'
import type {AttentionRequest} from './request.js'

/** A request of one method, with the arrays of the case under this library's names. */
export interface Call {
  method: MethodName
  preset: PresetName
  options: Record<string, unknown>
  numFeatures?: number | undefined
  noise: HostArrays
  parameters: HostArrays
  /** `[B, H, S]`. */
  gate?: HostArrays[string] | undefined
  features: AttentionRequest['features']
}

/** The call of one of the methods that a case asks for. */
export function callOf(
  golden: GoldenCase,
  arrays: CaseArrays,
  request: AttentionRequest,
  method: MethodName,
): Call {
  const {preset, options, num_features: numFeatures, drawn_keys, features} = request
  const uniform = drawn_keys && {uniform: uniformOf(golden, arrays, drawn_keys)}
  return {
    ...{method, preset, options, numFeatures, features},
    noise: {...named(arrays, request.noise), ...uniform},
    parameters: named(arrays, request.parameters),
    gate: request.gate === undefined ? undefined : arrays.array(request.gate),
  }
}

function named(arrays: CaseArrays, names: Readonly<Record<string, string>>): HostArrays {
  return Object.fromEntries(
    Object.entries(names).map(([own, theirs]) => [
      own,
      own === 'sigma' ? perHead(arrays, theirs) : arrays.array(theirs),
    ]),
  )
}

/** Numbers of one head or of each head, as `[H, d]`. */
function perHead(arrays: CaseArrays, name: string): HostArrays[string] {
  const [, heads, , headDim] = arrays.shape('q') as [number, number, number, number]
  const given = arrays.numbers(name)
  const data = Float64Array.from({length: heads * headDim}, (_, at) => given[at % given.length]!)
  return {shape: [heads, headDim], data}
}

/** The host side of a case: its arrays, with values beyond the last key left out. */
function hostSide(arrays: CaseArrays): HostInputs {
  const query = arrays.host('q')
  const key = arrays.host('k')
  const value = arrays.host('v')
  return {query, key, value: sliceRows(value, 0, Math.min(value.shape[2], key.shape[2]))}
}

/** What the library takes where it is not told. */
const DEFAULT_FEATURES = 256

/** Options in force. */
export function resolved({method, preset, options}: Call): z.output<z.ZodObject> {
  return resolveOptions(estimatorNamed(method) as Estimator, preset, options)
}

/** The twin's inputs of a case. */
export function twinInputs(golden: GoldenCase, arrays: CaseArrays, call: Call): TwinInputs {
  const inputs = hostSide(arrays)
  return {
    ...inputs,
    projection: arrays.projection(),
    causal: golden.causal === true,
    keyMask: arrays.keyMask(),
    numFeatures: call.numFeatures ?? arrays.projection()?.numFeatures ?? DEFAULT_FEATURES,
    noise: call.noise,
    parameters: call.parameters,
    gate: call.gate,
    logitScale: inputs.query.shape[3] ** -0.5,
    options: resolved(call),
  }
}

/** W as a tensor. */
function projectionTensor(projection: HostProjection, headDim: number): Projection {
  const {data, numFeatures, perHead} = projection
  const values = Float32Array.from(data)
  const heads = values.length / (numFeatures * headDim)
  return perHead
    ? tf.tensor3d(values, [heads, numFeatures, headDim])
    : tf.tensor2d(values, [numFeatures, headDim])
}

const twins = new Map<string, TwinResult>()

/** The twin's result; the same for every backend, so computed once. */
export function twinOf(golden: GoldenCase, inputs: TwinInputs, {method}: Call): TwinResult {
  const key = JSON.stringify([golden.name, method, inputs.options])
  const found = twins.get(key) ?? TWINS[method](inputs)
  twins.set(key, found)
  return found
}

/**
 * Compares with the peer twice: the twin in double precision within the reference's own tolerance,
 * so that formula and options are known to be the peer's, and this library within that plus the
 * rounding bound of the case.
 */
export function checkAttention(golden: GoldenCase, arrays: CaseArrays, call: Call): void {
  const twin = twinOf(golden, twinInputs(golden, arrays, call), call)
  checkOutput(golden, arrays, 'out', twin.out)
  const result = runAttention(golden, arrays, call)
  assertCase(golden, arrays, 'out', result.out, twin.out)
  if (arrays.has('denominator_before_clamp') && result.denominator && twin.denominator) {
    const name = 'denominator_before_clamp'
    assertCase(golden, arrays, name, result.denominator, twin.denominator)
  }
}

export function checkOutput(
  golden: GoldenCase,
  arrays: CaseArrays,
  name: string,
  twin: Bounded,
): void {
  const expected = arrays.numbers(name)
  const tolerance = referenceError(golden, expected)
  const bound = new Float64Array(expected.length).fill(tolerance)
  assertWithin(`${golden.name}: twin of ${name}`, twin.value, expected, bound)
}

/** Tolerances of references whose case states none: the loosest that the manifest gives their precision. */
const LOOSEST = {float64: 1e-7, other: 1e-3} as const

/** The error of the reference itself. */
export function referenceError({rtol, compute_dtype}: GoldenCase, expected: Float64Array): number {
  const loosest = compute_dtype === 'float64' ? LOOSEST.float64 : LOOSEST.other
  return (rtol ?? loosest) * maxAbs(expected)
}

/**
 * At least this share of elements must be decidable in float32, else the case says nothing. Signed
 * features at large norms leave some out: their denominators pass through zero.
 */
const DECIDABLE = 0.5

/** Asserts that `actual` is within the rounding bound plus the reference's tolerance of array `name`. */
export function assertCase(
  golden: GoldenCase,
  arrays: CaseArrays,
  name: string,
  actual: ArrayLike<number>,
  {error}: Pick<Bounded, 'error'>,
): void {
  arrays.compared.add(name)
  const expected = arrays.numbers(name)
  const tolerance = referenceError(golden, expected)
  const label = `${golden.name}: ${name}`
  const found = assertWithin(
    label,
    actual,
    expected,
    error.map(bound => bound + tolerance),
  )
  if (found.decidable < DECIDABLE * expected.length) {
    throw new Error(`${label}: float32 decides too little: ${found.report}`)
  }
}

export function runAttention(golden: GoldenCase, arrays: CaseArrays, call: Call) {
  const inputs = hostSide(arrays)
  const projection = arrays.projection()
  const keyMask = arrays.keyMask()
  const [out, denominator] = compute(() => {
    const result = attend(...toTensors(inputs), {
      method: call.method,
      preset: call.preset,
      causal: golden.causal === true,
      ...(projection && {projection: projectionTensor(projection, inputs.query.shape[3])}),
      ...(keyMask && {keyMask: maskTensor(keyMask, inputs.key.shape[0])}),
      ...(call.numFeatures && {numFeatures: call.numFeatures}),
      noise: namedTensors<tf.Tensor4D>(call.noise),
      parameters: namedTensors(call.parameters),
      ...(call.gate && {gate: namedTensors<tf.Tensor3D>({gate: call.gate}).gate!}),
      ...call.options,
    })
    return result.denominator ? [result.out, result.denominator] : [result.out]
  })
  return {out: out!, denominator}
}

/** For features without projection. */
const NO_ROWS: HostProjection = {data: [], numFeatures: 0, perHead: false}

/**
 * Checks `phi_q` and `phi_k` where the case has them.
 *
 * @param build - the twin's features, for the bound
 * @param features - raw inputs to features in the peer's order, on the current backend
 * @param scale - factor of the peer's features over the twin's
 */
export function checkFeatures(
  golden: GoldenCase,
  arrays: CaseArrays,
  call: Call,
  build: FeatureBuilder,
  features: (x: tf.Tensor4D, projection: Projection, side: 'query' | 'key') => tf.Tensor4D,
  scale = 1,
): void {
  const inputs = twinInputs(golden, arrays, call)
  for (const [name, side] of [
    ['phi_q', 'query'],
    ['phi_k', 'key'],
  ] as const) {
    if (!arrays.has(name)) continue
    const errors: number[] = []
    forEachHead(inputs, head => {
      const {error, count} = build(head, inputs)[side]
      // orders differ between libraries: a row's largest error bounds each of its features
      for (let row = 0; row * count < error.length; row++) {
        const worst = maxAbs(error.subarray(row * count, (row + 1) * count)) * scale
        for (let s = 0; s < count; s++) errors.push(worst)
      }
    })
    const actual = compute(() => {
      const projection = projectionTensor(inputs.projection ?? NO_ROWS, inputs.query.shape[3])
      const [query, key] = toTensors(inputs)
      return features(side === 'query' ? query : key, projection, side)
    })
    const rounding = gamma(4) * maxAbs(arrays.numbers(name)) // the peer's scale applied here
    const error = Float64Array.from(errors, e => e + rounding)
    assertCase(golden, arrays, name, actual, {error})
  }
}

/** A guard too small to act. With it the sums of gated methods are not relative to the largest weight. */
export const INACTIVE = 'nudge:1e-30'

/** Bounds on running sums over the first `count` keys: S `[B H, F, Dv]` and z `[B H, F]`. */
function stateBounds(given: TwinInputs, build: FeatureBuilder, count: number) {
  const inputs = {...given, options: {...given.options, denGuard: INACTIVE}}
  const S: number[] = []
  const z: number[] = []
  forEachHead(inputs, head => {
    const pair = build(head, inputs)
    const {key} = pair
    const {valueDim, value} = head
    const forgotten = keyFactors(head, pair, count - 1)
    for (let s = 0; s < key.count; s++) {
      const perKey = Array.from({length: count}, (_, j) => {
        const at = j * key.count + s
        const {factor, relative} = forgotten?.(j) ?? {factor: 1, relative: 0}
        const own = gamma(2 * count + 2) + relative
        return factor * (key.error[at]! * (1 + own) + own * Math.abs(key.value[at]!))
      })
      z.push(perKey.reduce((sum, e) => sum + e, 0))
      for (let d = 0; d < valueDim; d++) {
        S.push(perKey.reduce((sum, e, j) => sum + e * Math.abs(value[j * valueDim + d]!), 0))
      }
    }
  })
  return {S: Float64Array.from(S), z: Float64Array.from(z)}
}

/** Why there is nothing to run the recurrent form for. */
function lacksDecoder(golden: GoldenCase, inputs: TwinInputs, call: Call, sums: boolean): boolean {
  const {decode} = supportsOf(estimatorNamed(call.method) as Estimator, inputs.options)
  // a recurrence has one query per key and no masked keys, and draws its noise itself
  const square = !inputs.causal || inputs.query.shape[2] === inputs.key.shape[2]
  const runs = decode && square && !inputs.keyMask && Object.keys(call.noise).length === 0
  return !runs || !(golden.causal === true || sums)
}

/**
 * Runs the recurrent form, where the method has one with these options, over the case and checks its output (when
 * causal) and its running sums.
 */
export function checkDecoder(golden: GoldenCase, arrays: CaseArrays, call: Call): void {
  const inputs = twinInputs(golden, arrays, call)
  const snapshots = snapshotNames(arrays, inputs.key.shape[2])
  if (lacksDecoder(golden, inputs, call, snapshots.size > 0)) return
  const step = makeDecoder(inputs, call)
  // queries of a cross-attention case take no part in the sums: the keys stand in for them
  const query = golden.causal === true ? inputs.query : inputs.key
  const {out, states} = decodeAll(step, {...inputs, query}, [...snapshots.keys()], call.gate)
  step.dispose()
  if (golden.causal === true) {
    assertCase(golden, arrays, 'out', out, twinOf(golden, inputs, call).out)
  }
  const {build} = TWINS[call.method]
  if (snapshots.size > 0 && !build) {
    throw new Error(`${golden.name}: the twin of ${call.method} has no features to bound sums by`)
  }
  for (const [tokens, suffix] of snapshots) {
    const bounds = stateBounds(inputs, build!, tokens)
    const state = states.get(tokens)!
    const S = plus(state.state!, arrays, 'S0')
    const z = plus(state.normalizer!, arrays, 'z0')
    assertCase(golden, arrays, `state_S${suffix}`, S, {error: bounds.S})
    assertCase(golden, arrays, `state_Z${suffix}`, z, {error: bounds.z})
  }
}

/** Sums over the case's keys on top of sums carried in, where the case has such. */
function plus(sums: Float32Array, arrays: CaseArrays, initial: string): ArrayLike<number> {
  if (!arrays.has(initial)) return sums
  const before = arrays.numbers(initial)
  return Float64Array.from(sums, (sum, at) => sum + before[at]!)
}

/** Which states the case stores: `state_S` after all keys, `state_S_16` after sixteen. */
function snapshotNames(arrays: CaseArrays, count: number): Map<number, string> {
  const found = new Map<number, string>()
  if (arrays.has('state_S')) found.set(count, '')
  for (let tokens = 1; tokens < count; tokens++) {
    if (arrays.has(`state_S_${tokens}`)) found.set(tokens, `_${tokens}`)
  }
  return found
}

function makeDecoder(inputs: TwinInputs, call: Call): Decoder {
  const {query, value, projection} = inputs
  const [batch, heads, , headDim] = query.shape
  const sizes = {batch, heads, headDim, valueDim: value.shape[3]}
  const asked = {
    method: call.method,
    preset: call.preset,
    ...sizes,
    ...(call.numFeatures && {numFeatures: call.numFeatures}),
    parameters: namedTensors(call.parameters),
    ...(projection && {projection: projectionTensor(projection, headDim)}),
    ...call.options,
  }
  return decoderFor(asked, inputs)
}
