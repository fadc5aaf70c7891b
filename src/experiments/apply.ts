/** One estimator on the queries, keys and values of a file; the output goes to another file. */
import * as tf from '@tensorflow/tfjs-core'
import {attend} from '../attention/attention.js'
import {recordOperations} from '../attention/kernels/index.js'
import type {ProjectionName} from '../attention/projections/index.js'
import type {PresetName} from '../attention/types.js'
import {type BackendChoice, useBackend} from '../backends/index.js'
import {describe, expected, RfaError} from '../errors.js'
import type {AttentionInput} from '../inputs/attention-input.js'
import {writeArrays} from '../inputs/files/index.js'
import {loadInput} from '../inputs/load.js'
import {type NdArray, toFloat32} from '../inputs/nd-array.js'
import type {InputSpec} from '../results/schemas/index.js'
import {resolveMethod} from './method.js'

/** What to run on what. */
export interface ApplyRequest {
  input: InputSpec
  /** `.npz`, `.npy` or `.safetensors`. */
  output: string
  method: string
  preset: PresetName
  options: Record<string, string | number | boolean>
  causal: boolean
  numFeatures: number
  /** `null`: the method's own. A `projection` array in the file goes before it. */
  projection: ProjectionName | null
  seed: number
  /** beta; `null`: 1 / sqrt(D). */
  scale: number | null
  backend: string
}

/** What was done; `--json` prints it. */
export interface ApplyRecord {
  schema: 'rfa.apply/1'
  output: string
  shape: number[]
  method: string
  preset: string
  feature_dim: number
  backend: string
  operations: Record<string, string>
  /** Where the random vectors came from. */
  projection: string | null
  /** Arrays of the file that the method used beside q, k and v. */
  used_extras: string[]
  not_finite: number
}

/**
 * Runs the estimator and writes its output as array `out` `[B, H, L, Dv]`.
 *
 * The file may also hold `projection` (`[M, D]` or `[H, M, D]`) and `gate` (`[B, H, S]`, or without
 * leading axes of length 1).
 *
 * @throws {UNSUPPORTED} when the file has a gate or noise that the method does not take
 * @throws what reading, attention and writing throw
 */
export async function applyEstimator(request: ApplyRequest): Promise<ApplyRecord> {
  const input = await loadInput(request.input, {seqLen: null, seed: request.seed})
  const backend = await useBackend(request.backend as BackendChoice)
  const method = await resolveMethod(request)
  const extras = extraTensors(input, request.method, {
    projection: method.projected,
    gate: method.estimator.takesGate ?? false,
  })
  const {result, operations} = recordOperations(() => forward(request, input, extras))
  tf.dispose(Object.values(extras))
  await writeArrays(
    request.output,
    {out: {shape: result.shape, dtype: 'float32', data: Float32Array.from(result.data)}},
    {method: request.method, preset: request.preset, input: input.label},
  )
  const {projection: given} = extras
  const own = method.projected ? (request.projection ?? method.estimator.projection!.default) : null
  return {
    schema: 'rfa.apply/1',
    output: request.output,
    shape: result.shape,
    method: request.method,
    preset: request.preset,
    feature_dim: method.estimator.featureDim(
      given?.shape.at(-2) ?? request.numFeatures,
      input.query.shape[3],
      method.options,
    ),
    backend: backend.name,
    operations,
    projection: given ? 'from the file' : own,
    used_extras: Object.keys(extras),
    not_finite: result.data.reduce((count, x) => count + (Number.isFinite(x) ? 0 : 1), 0),
  }
}

interface Extras {
  projection?: tf.Tensor2D | tf.Tensor3D
  gate?: tf.Tensor3D
}

/** Arrays beside q, k, v that the method takes; one that it does not take is an error, not ignored. */
function extraTensors(
  input: AttentionInput,
  method: string,
  takes: {projection: boolean; gate: boolean},
): Extras {
  const [batch, heads] = input.query.shape
  const extras: Extras = {}
  const projection = input.extras.get('projection')
  const gate = input.extras.get('gate')
  if (input.extras.has('noise')) throw notTaken(input.label, 'noise', method)
  if (projection) {
    if (!takes.projection) throw notTaken(input.label, 'projection', method)
    checkRank('projection', projection, [2, 3])
    const {shape} = projection
    extras.projection = tf.tensor<tf.Rank.R2>(toFloat32(projection), shape as [number, number])
  }
  if (gate) {
    if (!takes.gate) throw notTaken(input.label, 'gate', method)
    checkRank('gate', gate, [1, 2, 3])
    const length = gate.shape.at(-1)!
    if (gate.data.length !== batch * heads * length) {
      throw expected('SHAPE_MISMATCH', 'gate', `[${batch}, ${heads}, S]`, describe(gate.shape))
    }
    extras.gate = tf.tensor3d(toFloat32(gate), [batch, heads, length])
  }
  return extras
}

function checkRank(name: string, {shape}: NdArray, ranks: number[]): void {
  if (ranks.includes(shape.length)) return
  throw expected('SHAPE_MISMATCH', name, `${ranks.join(' or ')} axes`, describe(shape))
}

function notTaken(label: string, name: string, method: string): RfaError {
  return new RfaError(
    'UNSUPPORTED',
    `${label}: holds an array "${name}", which ${method} does not take`,
    {suggestions: ['rename or remove the array', 'see rfa methods for those that take it']},
  )
}

function forward(
  request: ApplyRequest,
  {query, key, value}: AttentionInput,
  {projection, gate}: Extras,
): {shape: number[]; data: Float32Array} {
  const {method, preset, options, causal, numFeatures, seed, scale} = request
  return tf.tidy(() => {
    const out = attend(
      tf.tensor4d(query.data, query.shape),
      tf.tensor4d(key.data, key.shape),
      tf.tensor4d(value.data, value.shape),
      {
        ...options,
        method,
        preset,
        causal,
        numFeatures,
        seed,
        ...(gate && {gate}),
        ...(scale !== null && {scale}),
        ...(projection ? {projection} : request.projection && {projection: request.projection}),
      },
    ).out
    return {shape: out.shape, data: out.dataSync() as Float32Array}
  })
}
