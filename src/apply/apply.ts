/** One estimator on the queries, keys and values of a file; the output goes to another file. */
import {z} from 'zod'
import {attend, recordOperations} from '../attention/index.js'
import {hostData, noiseSpecs} from '../attention/internal.js'
import {
  ORTH_SIGNS,
  type OrthSign,
  type PresetName,
  type ProjectionName,
  projectionNamed,
} from '../attention/names.js'
import {type BackendChoice, useBackend} from '../backends/index.js'
import {describe, expected, RfaError} from '../errors.js'
import {computedBy as backendFacts} from '../experiments/computed-by.js'
import {type ResolvedMethod, resolveMethod} from '../experiments/method.js'
import type {AttentionArray, AttentionInput} from '../inputs/attention-input.js'
import {writeArrays} from '../inputs/files/index.js'
import {checkOutput} from '../inputs/files/output.js'
import {DEFAULT_LAYOUT, exchangeAxes, exchanged, LAYOUTS, type Layout} from '../inputs/layout.js'
import {inputWarnings, loadInput} from '../inputs/load.js'
import {type NdArray, toFloat32} from '../inputs/nd-array.js'
import type {InputSpec} from '../inputs/spec.js'
import {type PluginRecord, pluginRecord} from '../plugins/record.js'
import {computedBy, operationForms} from '../results/record.js'
import {tf} from '../tf.js'

/** What to run on what. */
export interface ApplyRequest {
  input: InputSpec
  /** `.npz`, `.npy` or `.safetensors`. */
  output: string
  /** Replace an output that is there, if it is no input. */
  force: boolean
  method: string
  preset: PresetName
  options: Record<string, string | number | boolean>
  causal: boolean
  numFeatures: number
  /** `null`: the method's own. A `projection` array in the file goes before it. */
  projection: ProjectionName | null
  orthSign: OrthSign
  seed: number
  /** beta; `null`: 1 / sqrt(D). */
  scale: number | null
  backend: BackendChoice
  /** Of the backend; its own choice where not given. */
  threads?: number | undefined
  /** The plug-in that the method comes from, if it is not built in. */
  origin?: PluginRecord | undefined
}

const APPLY_SCHEMA = 'rfa.apply/1'

/** What was done; `--json` prints it. */
export const applyRecord = z.object({
  schema: z.literal(APPLY_SCHEMA).describe('Name and version of this format.'),
  output: z.string().describe('The file that was written.'),
  shape: z.array(z.number().int()).describe('Of its array `out`, in the layout.'),
  layout: z
    .enum(LAYOUTS)
    .describe('Order of its axes, as in the input. bhld: B, H, L, Dv; blhd: B, L, H, Dv.'),
  method: z.string().describe('The estimator.'),
  preset: z.string().describe('Which release it followed; `exact`: none.'),
  plugin: pluginRecord.nullable().describe('Where it comes from; `null`: it is built in.'),
  feature_dim: z.number().int().describe('F, length of phi; 0: no features.'),
  ...computedBy,
  operations: operationForms,
  projection: z
    .string()
    .nullable()
    .describe('Where the random vectors came from; `null`: there are none.'),
  orth_sign: z
    .enum(ORTH_SIGNS)
    .nullable()
    .describe('Signs of its orthogonal factors; `null`: it has none, or came from the file.'),
  used_extras: z
    .array(z.string())
    .describe('Arrays of the file that the method used beside q, k and v.'),
  not_finite: z.number().int().describe('Entries of the output that are not finite.'),
})
export type ApplyRecord = z.infer<typeof applyRecord>

/** Who is told what while it is done. */
export interface ApplyListeners {
  /** Why `auto` passed over a backend. */
  note?(text: string): void
  /** What to be wary of in the input. */
  warn?(text: string): void
}

/**
 * Runs the estimator and writes its output as array `out` of four axes, in the layout of the input:
 * `[B, H, L, Dv]` or `[B, L, H, Dv]`.
 *
 * The file may also hold `projection` (`[M, D]` or `[H, M, D]`), `gate` (`[B, H, S]`, `[B, S, H]` where tokens come
 * before heads, or without a batch of 1, or `[S]` of a single head), the method's random arrays as `noise.NAME`
 * (`noise` for one of that name) and its learned arrays by their names, whose axes no layout changes.
 *
 * @throws {WOULD_OVERWRITE} when the output is one of the inputs, or exists and is not forced
 * @throws {UNSUPPORTED} when the file has a projection, gate or noise that the method does not take
 * @throws {SHAPE_MISMATCH} when an array does not have the shape that the method wants
 * @throws what reading, attention and writing throw
 */
export async function applyEstimator(
  request: ApplyRequest,
  {note, warn}: ApplyListeners = {},
): Promise<ApplyRecord> {
  await checkOutput(request.output, {inputs: inputFiles(request.input), force: request.force})
  for (const warning of await inputWarnings(request.input)) warn?.(warning)
  const layout = layoutOf(request.input)
  const input = await loadInput(request.input, {seqLen: null, seed: request.seed})
  const {threads} = request
  const backend = await useBackend(request.backend, {threads, note})
  const method = await resolveMethod(request)
  const extras = extraTensors(input, request, method)
  const {result, operations} = recordOperations(() => forward(request, input, extras))
  tf.dispose(extras as unknown as tf.TensorContainer)
  const out = inLayout(result, layout)
  await writeArrays(
    request.output,
    {out: {shape: out.shape, dtype: 'float32', data: Float32Array.from(out.data)}},
    {method: request.method, preset: request.preset, input: input.label, layout},
  )
  const {projection: given, gate, noise, parameters} = extras
  const own = method.projected ? (request.projection ?? method.estimator.projection!.default) : null
  return {
    schema: APPLY_SCHEMA,
    output: request.output,
    shape: out.shape,
    layout,
    method: request.method,
    preset: request.preset,
    plugin: request.origin ?? null,
    feature_dim: method.estimator.featureDim(
      given?.shape.at(-2) ?? request.numFeatures,
      input.query.shape[3],
      method.options,
    ),
    ...backendFacts(backend),
    operations,
    projection: given ? 'from the file' : own,
    orth_sign: given || !own || !projectionNamed(own).takesOrthSign ? null : request.orthSign,
    used_extras: [
      ...Object.keys({...(given && {projection: given}), ...(gate && {gate})}),
      ...Object.keys(noise).map(name => `${NOISE_PREFIX}${name}`),
      ...Object.keys(parameters),
    ],
    not_finite: result.data.reduce((count, x) => count + (Number.isFinite(x) ? 0 : 1), 0),
  }
}

/** The files that an input is read from. */
function inputFiles(input: InputSpec): readonly string[] {
  return input.kind === 'file' ? input.paths : []
}

/** The order of the axes of an input, in which its output is written. */
function layoutOf(input: InputSpec): Layout {
  return (input.kind === 'file' ? input.layout : undefined) ?? DEFAULT_LAYOUT
}

/** An output `[B, H, L, Dv]` with its axes in a layout. */
function inLayout(result: AttentionArray, layout: Layout): AttentionArray {
  if (layout === DEFAULT_LAYOUT) return result
  const {shape, data} = result
  return {shape: exchanged(shape), data: exchangeAxes(data, shape, 'out')}
}

interface Extras {
  projection?: tf.Tensor2D | tf.Tensor3D
  gate?: tf.Tensor3D
  noise: Record<string, tf.Tensor4D>
  parameters: Record<string, tf.Tensor>
}

/** Arrays beside q, k, v that the method takes; one that it does not take is an error, not ignored. */
function extraTensors(
  input: AttentionInput,
  request: ApplyRequest,
  method: ResolvedMethod,
): Extras {
  const {estimator, projected} = method
  const takes = namesTaken(input, request, method)
  const extras: Extras = {noise: {}, parameters: {}}
  const refuse = (name: string) => notTaken(input.label, name, estimator.name)
  for (const [name, array] of input.extras) {
    const tensor = () => tf.tensor(toFloat32(array), array.shape)
    if (name === 'projection') {
      if (!projected) throw refuse(name)
      checkRank(name, array, [2, 3])
      extras.projection = tensor() as tf.Tensor2D
    } else if (name === 'gate') {
      if (!estimator.takesGate) throw refuse(name)
      extras.gate = gateTensor(input, array, layoutOf(request.input))
    } else if (takes.noise.includes(noiseName(name))) {
      extras.noise[noiseName(name)] = tensor() as tf.Tensor4D
    } else if (takes.parameters.includes(name)) {
      extras.parameters[name] = tensor()
    } else if (name === 'noise' || name.startsWith(NOISE_PREFIX)) {
      throw refuse(name)
    }
  }
  return extras
}

/** Arrays `noise.NAME` are the method's random array NAME; `noise` alone is the one of that name. */
const NOISE_PREFIX = 'noise.'

function noiseName(name: string): string {
  return name.startsWith(NOISE_PREFIX) ? name.slice(NOISE_PREFIX.length) : name
}

/** Names of the random and learned arrays that the method takes on this input. */
function namesTaken(
  {query, key, value}: AttentionInput,
  {numFeatures, causal}: ApplyRequest,
  {estimator, options}: ResolvedMethod,
) {
  const [batch, heads, queryLen, headDim] = query.shape
  const sizes = {batch, heads, queryLen, keyLen: key.shape[2], headDim, valueDim: value.shape[3]}
  const shape = {...sizes, numFeatures, causal}
  return {
    noise: Object.keys(noiseSpecs(estimator, shape, options)),
    parameters: Object.keys(estimator.parameters?.(shape, options) ?? {}),
  }
}

/** The gate as `[B, H, S]`. */
function gateTensor({query}: AttentionInput, gate: NdArray, layout: Layout): tf.Tensor3D {
  const [batch, heads] = query.shape
  checkRank('gate', gate, [1, 2, 3])
  const tokensFirst = layout === 'blhd' && gate.shape.length > 1
  const length = gate.shape.at(tokensFirst ? -2 : -1)!
  const headsFit = !tokensFirst || gate.shape.at(-1) === heads
  if (gate.data.length !== batch * heads * length || !headsFit) {
    const what = tokensFirst ? `[${batch}, S, ${heads}]` : `[${batch}, ${heads}, S]`
    throw expected('SHAPE_MISMATCH', 'gate', what, describe(gate.shape))
  }
  const data = tokensFirst
    ? exchangeAxes(gate.data, [batch, length, heads, 1], 'gate')
    : toFloat32(gate)
  return tf.tensor3d(data, [batch, heads, length])
}

function checkRank(name: string, {shape}: NdArray, ranks: number[]): void {
  if (ranks.includes(shape.length)) return
  throw expected('SHAPE_MISMATCH', name, `${ranks.join(' or ')} axes`, describe(shape))
}

function notTaken(label: string, name: string, method: string): RfaError {
  return new RfaError(
    'UNSUPPORTED',
    `${label}: holds an array ${describe(name)}, which ${method} does not take`,
    {suggestions: ['rename or remove the array', 'see rfa methods for those that take it']},
  )
}

function forward(
  request: ApplyRequest,
  {query, key, value}: AttentionInput,
  {projection, gate, noise, parameters}: Extras,
): AttentionArray {
  const {method, preset, options, causal, numFeatures, orthSign, seed, scale} = request
  const {out} = hostData(() => {
    const {out} = attend(
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
        orthSign,
        noise,
        parameters,
        ...(gate && {gate}),
        ...(scale !== null && {scale}),
        ...(projection ? {projection} : request.projection && {projection: request.projection}),
      },
    )
    return {out}
  })
  const [batch, heads, queryLen] = query.shape
  return {shape: [batch, heads, queryLen, value.shape[3]], data: out as AttentionArray['data']}
}
