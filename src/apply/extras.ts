/** Arrays of a file other than queries, keys and values that a method takes. */
import {noiseSpecs} from '../attention/internal.js'
import {describe, expected, RfaError} from '../errors.js'
import type {ResolvedMethod} from '../experiments/method.js'
import {type AttentionInput, sizesOf} from '../inputs/attention-input.js'
import {exchangeAxes, type Layout} from '../inputs/layout.js'
import {type NdArray, toFloat32} from '../inputs/nd-array.js'
import {tf} from '../tf.js'

/** What a method takes of a file, as tensors that the caller disposes of. */
export interface Extras {
  projection?: tf.Tensor2D | tf.Tensor3D
  gate?: tf.Tensor3D
  noise: Record<string, tf.Tensor4D>
  parameters: Record<string, tf.Tensor>
}

/** What is computed, as far as it matters to these arrays. */
interface ExtrasCall {
  numFeatures: number
  causal: boolean
  /** The order of the axes of a gate. */
  layout: Layout
}

/**
 * Arrays other than q, k, v that the method takes; any further array is an error.
 *
 * @throws {UNSUPPORTED} for one that it does not take @throws {SHAPE_MISMATCH} for one of other axes
 */
export function extraTensors(
  input: AttentionInput,
  call: ExtrasCall,
  method: ResolvedMethod,
): Extras {
  const {estimator, projected} = method
  const takes = namesTaken(input, call, method)
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
      extras.gate = gateTensor(input, array, call.layout)
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

/** Names in the file of the arrays that were taken. */
export function usedNames({projection, gate, noise, parameters}: Extras): string[] {
  return [
    ...Object.keys({...(projection && {projection}), ...(gate && {gate})}),
    ...Object.keys(noise).map(name => `${NOISE_PREFIX}${name}`),
    ...Object.keys(parameters),
  ]
}

/** Names of the random and learned arrays that the method takes on this input. */
function namesTaken(
  input: AttentionInput,
  {numFeatures, causal}: ExtrasCall,
  {estimator, options}: ResolvedMethod,
) {
  const shape = {...sizesOf(input), numFeatures, causal}
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
