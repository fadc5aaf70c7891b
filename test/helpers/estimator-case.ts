/** One call of an estimator with everything fixed, its twin's judgement, and its result on a backend. */
import {createHash} from 'node:crypto'
import * as tf from '@tensorflow/tfjs-core'
import {attend} from '../../src/attention/attention.js'
import {noiseSpecs} from '../../src/attention/forms/noise.js'
import {
  type Calibration,
  drawNoise,
  drawProjection,
  type Estimator,
  type HostArray,
  type MethodName,
  type OrthSign,
  type PresetName,
  type ProjectionName,
} from '../../src/attention/index.js'
import {estimatorNamed, resolveOptions, usesProjection} from '../../src/attention/resolve.js'
import {
  compute,
  type HostArrays,
  type HostInputs,
  hostInputs,
  maskTensor,
  namedTensors,
  type Sizes,
  scatteredMask,
  shapeName,
  toTensor,
  toTensors,
} from './arrays.js'
import {SLOW} from './effort.js'
import {type HostProjection, TWINS, type TwinResult} from './twins/index.js'

/** Seed of the projections and noise of cases. */
export const CASE_SEED = 5

export interface EstimatorCase {
  method: MethodName
  preset?: PresetName
  options?: Record<string, unknown>
  sizes: Sizes
  causal?: boolean
  masked?: boolean
  /** beta; default D^-1/2. */
  scale?: number
  /** Standard deviation of queries and keys; default 1. */
  inputScale?: number
  /** One projection `[M, D]` for all heads instead of one per head. */
  sharedProjection?: boolean
  /** The draw that the call makes itself, instead of being given arrays of seed {@link CASE_SEED}. */
  draw?: {
    seed: number
    replicate: number
    projection?: ProjectionName | undefined
    orthSign?: OrthSign | undefined
  }
  /** Instead of seeded normals of `sizes`. */
  inputs?: HostInputs
  /** Instead of a drawn projection. */
  projection?: HostProjection
  /** `[B, S]`, instead of a scattered mask or none. */
  keyMask?: Float32Array
  /** Instead of drawn noise, by name. */
  noise?: HostArrays
  parameters?: HostArrays
  /** Forget gates, `[B, H, S]`. */
  gate?: HostArrays[string]
  /** Tokens to take statistics from. */
  calibration?: {query: HostArray; key: HostArray}
}

/** How a case is named in test titles. */
export function caseName({method, preset, sizes, causal, masked, scale}: EstimatorCase): string {
  const words = [
    method,
    preset ?? '',
    shapeName(sizes),
    causal ? 'causal' : '',
    masked ? 'masked' : '',
    scale === undefined ? '' : `scale ${scale}`,
  ]
  return words.filter(word => word !== '').join(' ')
}

/** Bidirectional and causal, with and without masked keys. */
export const FORMS = [
  {causal: false, masked: false},
  {causal: true, masked: false},
  {causal: false, masked: true},
  {causal: true, masked: true},
] as const

/**
 * Every method on every shape, one of its forms at a time: forms and shapes rotate against each other, so
 * that each form of a method meets several shapes and each pair meets several methods. Slow runs take
 * all pairs.
 */
export function shapeCases(
  methods: readonly MethodName[],
  shapes: readonly Pick<EstimatorCase, 'sizes' | 'sharedProjection' | 'scale'>[],
): EstimatorCase[] {
  return methods.flatMap((method, offset) =>
    shapes.flatMap((shape, index) => {
      const forms = FORMS.map(form => ({method, ...shape, ...form}))
      if (SLOW) return forms
      const declared = forms.filter(form => whyNot(form) === undefined)
      return declared.length === 0 ? forms[0]! : declared[(index + offset) % declared.length]!
    }),
  )
}

/** Why the estimator has no such form, by its own declaration. */
export function whyNot({method, sizes, causal, masked}: EstimatorCase): string | undefined {
  const {supports} = estimatorNamed(method)
  if (causal && !supports.causal) return `${method} declares no causal form`
  if (!causal && !supports.bidirectional) return `${method} declares no bidirectional form`
  if (masked && !supports.keyMask) return `${method} declares no form with a key mask`
  if (sizes.queryLen !== sizes.keyLen && !supports.cross) return `${method} declares no cross form`
  return undefined
}

export function optionsOf({method, preset = 'exact', options = {}}: EstimatorCase) {
  return resolveOptions(estimatorNamed(method) as Estimator, preset, options)
}

/** Everything that a case is made of, on the host. */
export interface HostCase {
  inputs: HostInputs
  projection: HostProjection | undefined
  keyMask: Float32Array | undefined
  noise: HostArrays
}

/** Inputs, projection, noise and mask of a case on the host. */
export function hostCase(given: EstimatorCase): HostCase {
  const {sizes, masked, inputScale} = given
  return {
    inputs: given.inputs ?? hostInputs(sizes, inputScale),
    projection: caseProjection(given),
    keyMask: given.keyMask ?? (masked ? scatteredMask(sizes) : undefined),
    noise: caseNoise(given),
  }
}

function caseNoise(given: EstimatorCase): HostArrays {
  const {method, sizes, causal = false} = given
  const {batch, heads} = sizes
  const [, , queryLen, headDim] = given.inputs?.query.shape ?? [0, 0, sizes.queryLen, sizes.headDim]
  const keyLen = given.inputs?.key.shape[2] ?? sizes.keyLen
  const shape = {...sizes, queryLen, keyLen, headDim, causal}
  const specs = noiseSpecs(estimatorNamed(method), shape, optionsOf(given))
  const {seed, replicate} = drawOf(given)
  const drawn = Object.entries(specs).map(([name, spec]) => {
    const array = {
      shape: [spec.shared ? 1 : batch, heads, spec.rows, spec.columns],
      data: drawNoise(name, spec, sizes, {seed, replicate}),
    }
    return [name, array] as const
  })
  return {...Object.fromEntries(drawn), ...given.noise}
}

function drawOf({draw}: EstimatorCase) {
  return draw ?? {seed: CASE_SEED, replicate: 0}
}

function caseProjection(given: EstimatorCase): HostProjection | undefined {
  const {method, sharedProjection: shared} = given
  const estimator = estimatorNamed(method)
  const {heads, numFeatures, headDim} = given.sizes
  if (!usesProjection(estimator, optionsOf(given))) return undefined
  const {projection: name = estimator.projection!.default, ...draw} = drawOf(given)
  const sizes = {numFeatures, headDim, heads: shared ? 1 : heads}
  return (
    given.projection ?? {
      data: Float32Array.from(drawProjection({name, ...sizes, ...draw})),
      numFeatures,
      perHead: !shared,
    }
  )
}

/** The case on the current backend. */
export function runCase(given: EstimatorCase): {out: Float32Array; denominator?: Float32Array} {
  const {method, preset = 'exact', options, sizes, causal = false, scale} = given
  const {inputs, projection, keyMask, noise} = hostCase(given)
  const {calibration, gate, parameters = {}} = given
  const [out, denominator] = compute(() => {
    const result = attend(...toTensors(inputs), {
      method,
      preset,
      causal,
      numFeatures: sizes.numFeatures,
      ...(given.draw ?? {noise: namedTensors<tf.Tensor4D>(noise)}),
      parameters: namedTensors(parameters),
      ...(gate && {gate: namedTensors<tf.Tensor3D>({gate}).gate!}),
      ...(calibration && {calibration: toCalibration(calibration)}),
      ...(scale !== undefined && {scale}),
      ...(projection && !given.draw && {projection: toProjection(projection, sizes.headDim)}),
      ...(keyMask && {keyMask: maskTensor(keyMask, sizes.batch)}),
      ...options,
    })
    return result.denominator ? [result.out, result.denominator] : [result.out]
  })
  return {out: out!, ...(denominator && {denominator})}
}

export function toCalibration({query, key}: {query: HostArray; key: HostArray}): Calibration {
  return {query: toTensor(query), key: toTensor(key)}
}

/** A projection as a tensor, `[M, D]` or `[H, M, D]`. */
export function toProjection({data, numFeatures, perHead}: HostProjection, headDim: number) {
  const values = Float32Array.from(data)
  return perHead
    ? tf.tensor3d(values, [values.length / (numFeatures * headDim), numFeatures, headDim])
    : tf.tensor2d(values, [numFeatures, headDim])
}

/** The twin's bounds on each output element of a case. */
export function outputBound(given: EstimatorCase): Float64Array {
  return twinOfCase(given).out.error
}

const judged = new Map<string, TwinResult>()

/** The twin's result; computed once for all backends. */
export function twinOfCase(given: EstimatorCase): TwinResult {
  const key = keyOf(given)
  const found = judged.get(key) ?? judgement(given)
  judged.set(key, found)
  return found
}

/** Equal for equal cases: arrays count by their digests. */
function keyOf(given: EstimatorCase): string {
  return JSON.stringify(given, (_, value) => (ArrayBuffer.isView(value) ? digestOf(value) : value))
}

function digestOf({buffer, byteOffset, byteLength}: ArrayBufferView): string {
  const bytes = new Uint8Array(buffer, byteOffset, byteLength)
  return createHash('sha1').update(bytes).digest('base64')
}

function judgement(given: EstimatorCase): TwinResult {
  const {inputs, ...host} = hostCase(given)
  return TWINS[given.method]({
    ...inputs,
    ...host,
    numFeatures: given.sizes.numFeatures,
    parameters: given.parameters ?? {},
    calibration: given.calibration,
    gate: given.gate,
    causal: given.causal ?? false,
    logitScale: given.scale ?? given.sizes.headDim ** -0.5,
    options: optionsOf(given),
  })
}
