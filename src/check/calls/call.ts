/** One call of an estimator with everything fixed, and its result on the current backend. */
import {
  attend,
  type Calibration,
  drawNoise,
  drawProjection,
  type Estimator,
  type HostArray,
  type OrthSign,
  type PresetName,
  type ProjectionName,
} from '../../attention/index.js'
import {noiseSpecs} from '../../attention/internal.js'
import {estimatorNamed, resolveOptions, supportsOf, usesProjection} from '../../attention/names.js'
import {tf} from '../../tf.js'
import {
  compute,
  type HostArrays,
  type HostInputs,
  hostInputs,
  maskTensor,
  namedTensors,
  type Sizes,
  scatteredMask,
  toTensor,
  toTensors,
} from './arrays.js'

/** Seed of projections and noise, for calls without one. */
export const CASE_SEED = 5

/** Random rows on the host. */
export interface HostProjection {
  /** `[M, D]`, or `[H, M, D]` where each head has its own. */
  data: ArrayLike<number>
  numFeatures: number
  perHead: boolean
}

/** One call of an estimator, everything in it fixed. */
export interface Call {
  method: string
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
  /** Of the arrays that it is given. Default: {@link CASE_SEED} */
  seed?: number
  /** The draw that the call makes itself, instead of being given arrays. */
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

/** Why the estimator has no such form with these options, by its own declaration. */
export function unsupportedReason(given: Call): string | undefined {
  const {method, sizes, causal, masked} = given
  const supports = supportsOf(estimatorNamed(method), optionsOf(given))
  if (causal && !supports.causal) return `${method} declares no causal form`
  if (!causal && !supports.bidirectional) return `${method} declares no bidirectional form`
  if (masked && !supports.keyMask) return `${method} declares no form with a key mask`
  if (sizes.queryLen !== sizes.keyLen && !supports.cross) return `${method} declares no cross form`
  return undefined
}

export function optionsOf({method, preset = 'exact', options = {}}: Call) {
  return resolveOptions(estimatorNamed(method) as Estimator, preset, options)
}

export interface HostCall {
  inputs: HostInputs
  projection: HostProjection | undefined
  keyMask: Float32Array | undefined
  noise: HostArrays
}

export function hostCall(given: Call): HostCall {
  const {sizes, masked, inputScale} = given
  return {
    inputs: given.inputs ?? hostInputs(sizes, inputScale),
    projection: callProjection(given),
    keyMask: given.keyMask ?? (masked ? scatteredMask(sizes) : undefined),
    noise: callArrays(given),
  }
}

function callArrays(given: Call): HostArrays {
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

function drawOf({draw, seed = CASE_SEED}: Call) {
  return draw ?? {seed, replicate: 0}
}

function callProjection(given: Call): HostProjection | undefined {
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

export interface CallResult {
  out: Float32Array
  /** Of the output. */
  shape: readonly number[]
  denominator?: Float32Array
}

export function runCall(given: Call): CallResult {
  const {method, preset = 'exact', options, sizes, causal = false, scale} = given
  const {inputs, projection, keyMask, noise} = hostCall(given)
  const {calibration, gate, parameters = {}} = given
  let shape: readonly number[] = []
  const [out, denominator] = compute(() => {
    const result = attend(...toTensors(inputs), {
      method,
      preset,
      ...formOf(causal, inputs),
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
    shape = result.out.shape
    return result.denominator ? [result.out, result.denominator] : [result.out]
  })
  return {out: out!, shape, ...(denominator && {denominator})}
}

/** Causal queries that are fewer than keys are the first tokens. */
export function formOf(causal: boolean, {query, key}: HostInputs) {
  const align = {causalAlign: 'start'} as const
  return {causal, ...(causal && query.shape[2] < key.shape[2] && align)}
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
