/** The recurrent form run over whole sequences. */
import {type Decoder, type DecoderOptions, decoder} from '../../attention/index.js'
import {extendedDecoder, hostData} from '../../attention/internal.js'
import {estimatorNamed} from '../../attention/names.js'
import {tf} from '../../tf.js'
import {
  compute,
  type HostArrays,
  type HostInputs,
  namedTensors,
  sliceRows,
  toTensors,
} from './arrays.js'
import {CASE_SEED, type Call, hostCall, toCalibration, toProjection} from './call.js'

/** Options with names that are checked at run time. */
type AnyDecoderOptions = Omit<DecoderOptions, 'method'> & {method: string}

type Shape3 = [number, number, number]

/** Outputs of all tokens `[B, H, L, Dv]` and the state after chosen ones. */
export interface Decoded {
  out: Float32Array
  /** State tensors by name after each token asked for. */
  states: Map<number, Record<string, Float32Array>>
}

/** Options that the recurrent form needs to run over `length` tokens. */
export function recurrentOptions(method: string, length: number): Record<string, unknown> {
  const {lengthOption} = estimatorNamed(method)
  return lengthOption === undefined ? {} : {[lengthOption]: length}
}

/** A decoder of `length` tokens: if the method needs it, it knows their number. @throws as `decoder` */
export function decoderOver(given: AnyDecoderOptions, length: number): Decoder {
  // names and options are checked as it is made
  return decoder({...recurrentOptions(given.method, length), ...given} as DecoderOptions)
}

/**
 * A decoder that gives what a causal call over these tokens gives. If the method needs it, it knows the number of
 * tokens and is calibrated on those that the causal form takes statistics from.
 */
export function decoderFor(given: AnyDecoderOptions, inputs: HostInputs): Decoder {
  const length = inputs.key.shape[2]
  const calibration = prefixOf(given, inputs)
  if (!calibration) return decoderOver(given, length)
  const tensors = toCalibration(calibration)
  const made = decoderOver({...given, calibration: tensors}, length)
  tf.dispose([tensors.query, tensors.key])
  return made
}

/** The recurrent form of a causal case, on the projection and the noise of the call. */
export function decoderOfCall(given: Call): Decoder {
  const {inputs, projection} = hostCall(given)
  const {batch, heads, headDim, valueDim, numFeatures} = given.sizes
  const {method, preset, scale, options, parameters, draw, seed = CASE_SEED} = given
  const rows = projection && !draw && toProjection(projection, headDim)
  const learned = parameters && namedTensors(parameters)
  const asked = {
    ...{method, batch, heads, headDim, valueDim, numFeatures},
    ...(draw ?? {seed}),
    ...(preset && {preset}),
    ...options,
    ...(learned && {parameters: learned}),
    ...(scale !== undefined && {scale}),
    ...(rows && {projection: rows}),
  }
  try {
    const owned = [...(rows ? [rows] : []), ...Object.values(learned ?? {})]
    return extendedDecoder(decoderFor(asked, inputs), owned)
  } catch (error) {
    tf.dispose([rows, learned])
    throw error
  }
}

/** Outputs of the recurrent form of a causal case, `[B, H, L, Dv]`. */
export function decodeCall(given: Call): Float32Array {
  const step = decoderOfCall(given)
  const {out} = decodeAll(step, hostCall(given).inputs)
  step.dispose()
  return out
}

/** The tokens that a causal call takes statistics from, `undefined` for methods without statistics. */
function prefixOf(given: AnyDecoderOptions, {query, key}: HostInputs) {
  const {calibrates, options} = estimatorNamed(given.method)
  if (!calibrates) return undefined
  const {prefix} = {...options.parse({}), ...given} as unknown as {prefix: number}
  const first = (tokens: HostInputs['key']) =>
    sliceRows(tokens, 0, prefix === 0 ? tokens.shape[2] : Math.min(prefix, tokens.shape[2]))
  return {query: first(query), key: first(key)}
}

/**
 * Feeds every token of the keys, with the query at the same place, and frees everything but the decoder.
 *
 * @param snapshots - numbers of tokens after which to copy the state
 * @param gate - `[B, H, S]`, for methods that take gates
 */
export function decodeAll(
  decoder: Decoder,
  inputs: HostInputs,
  snapshots: readonly number[] = [],
  gate?: HostArrays[string],
): Decoded {
  const states = new Map<number, Record<string, Float32Array>>()
  const out = compute(() => {
    const [query, key, value] = toTensors(inputs)
    const gates = gate && tf.tensor3d(Float32Array.from(gate.data), [...gate.shape] as Shape3)
    const tokens: tf.Tensor[] = []
    for (let t = 0; t < key.shape[2]; t++) {
      const open = gates && tf.slice(gates, [0, 0, t], [-1, -1, 1])
      tokens.push(decoder.next(token(query, t), token(key, t), token(value, t), open))
      if (snapshots.includes(t + 1)) states.set(t + 1, copyState(decoder))
    }
    return tf.concat(tokens, 2)
  })
  return {out, states}
}

/** Position `t` of the third axis, `[B, H, 1, width]`. */
export function token(tensor: tf.Tensor4D, t: number): tf.Tensor4D {
  const [batch, heads, , width] = tensor.shape
  return tf.slice(tensor, [0, 0, t, 0], [batch, heads, 1, width])
}

function copyState({state}: Decoder): Record<string, Float32Array> {
  const data = Object.entries(hostData(() => ({...state})))
  return Object.fromEntries(data.map(([name, values]) => [name, Float32Array.from(values)]))
}
