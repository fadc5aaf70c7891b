/** One estimator on the queries, keys and values of a file; the output goes to another file. */
import {basename} from 'node:path'
import {useBackend} from '../backends/index.js'
import {expected} from '../errors.js'
import {computedBy as backendFacts} from '../experiments/computed-by.js'
import {causalLabel, cornerText, inputLabel, methodLabel} from '../experiments/labels.js'
import {resolveMethod} from '../experiments/method.js'
import {tunedOf} from '../experiments/tuned-methods.js'
import {type AttentionArray, type AttentionInput, sizesOf} from '../inputs/attention-input.js'
import {arrayExtension, writeArrays} from '../inputs/files/index.js'
import {checkOutput} from '../inputs/files/output.js'
import {inputWarnings} from '../inputs/input-facts.js'
import {layoutOf} from '../inputs/input-files.js'
import {causalOf, partsOf} from '../inputs/input-parts.js'
import {KEY_MASK} from '../inputs/key-mask.js'
import {layerName} from '../inputs/layers.js'
import {DEFAULT_LAYOUT, exchangeAxes, exchanged, type Layout} from '../inputs/layout.js'
import {loadInput} from '../inputs/load.js'
import type {NdArray} from '../inputs/nd-array.js'
import {arrayNotes} from '../inputs/other-arrays.js'
import type {InputSpec} from '../inputs/spec.js'
import {tunedCall} from '../tuned/call.js'
import {tunedWarnings} from '../tuned/index.js'
import {type AppliedLayer, applyLayer} from './layer.js'
import {
  APPLY_SCHEMA,
  type AppliedArray,
  type ApplyRecord,
  type ApplyRequest,
  type SettledRequest,
} from './record.js'

export interface ApplyListeners {
  /** Why `auto` passed over a backend, and whether attention was causal. */
  note?(text: string): void
  /** What to be wary of in the input. */
  warn?(text: string): void
}

/**
 * Runs the estimator and writes its output as array `out` of four axes, in the layout of the input:
 * `[B, H, L, Dv]` or `[B, L, H, Dv]`; of several layers as `layers.N.out`. Key masks that hide anything and the texts of
 * the file go along where the format of the output has a place for them; outputs at hidden queries are those that the method gives.
 *
 * The file may also hold `projection` (`[M, D]` or `[H, M, D]`), `gate` (`[B, H, S]`, `[B, S, H]` where tokens come
 * before heads, or without a batch of 1, or `[S]` of a single head), the method's random arrays as `noise.NAME`
 * (`noise` for one of that name) and its learned arrays by their names. A layout does not change their axes. The
 * prefix `layers.N.` gives an array to one layer.
 *
 * @throws {WOULD_OVERWRITE} when the output is one of the inputs, or exists and is not forced
 * @throws {UNSUPPORTED} when the file has a projection, gate or noise that the method does not take, or hides keys from
 *   one that takes no mask
 * @throws {BAD_FILE} when several layers are to go into a .npy file
 * @throws {SHAPE_MISMATCH} when an array does not have the shape that the method wants, or learned parameters are of other heads
 * @throws {ARRAY_MISSING} when learned parameters lack a layer
 */
export async function applyEstimator(
  asked: ApplyRequest,
  {note, warn}: ApplyListeners = {},
): Promise<ApplyRecord> {
  const {output, method, preset, threads, seed} = asked
  await checkOutput(output, {inputs: inputFiles(asked.input), force: asked.force})
  const parts = await partsOf(asked.input, asked.layers)
  const layers = parts.flatMap(({layer}) => layer ?? [])
  if (layers.length > 1) checkSeveral(output, layers)
  const places = parts.map(part => ({...part, logitScale: asked.scale}))
  const causal = asked.causal ?? (await causalOf(asked.input, asked.layers))
  const request: SettledRequest = {...asked, causal}
  const warnings = await Promise.all(
    places.map(({input, ...place}) =>
      inputWarnings(input, {...place, causal, causalAlign: asked.causalAlign}),
    ),
  )
  for (const text of new Set(warnings.flat())) warn?.(text)
  const layout = await layoutOf(request.input)
  const resolved = await resolveMethod(request)
  const tuned = await tunedOf(request)
  const load = ({input, ...place}: (typeof places)[number]) =>
    loadInput(input, {seqLen: null, seed, ...place})
  let input = await load(places[0]!) // faults of the file come before faults of the backend
  const backend = await useBackend(request.backend, {threads, note})
  const applied: Output[] = []
  for (const [i, place] of places.entries()) {
    if (i > 0) input = await load(place)
    const several = places.length > 1
    const call = tuned && tunedCall(tuned, place.layer, 0)
    const layer = applyLayer({request, method: resolved, input, layout, tuned: call})
    applied.push(outputOf(layer, {...place, input, several, layout}))
    const setting = {layer: place.layer, causal, scale: layer.facts.logit_scale}
    for (const text of tuned ? tunedWarnings(tuned, setting) : []) warn?.(text)
  }
  const used = applied.flatMap(({facts}) => facts.used_extras)
  for (const text of await arrayNotes(asked.input, used)) note?.(text)
  await writeOutputs(request, applied, {metadata: input.metadata, layout})
  note?.(
    `${methodLabel(asked)} on ${inputLabel(asked.input)}, ${causalLabel(causal, input.ranCausal ?? null)}${cornerText(sizesOf(input), {...asked, causal})}`,
  )
  return {
    schema: APPLY_SCHEMA,
    ...{output, layout, causal, method, preset},
    ...(asked.causalAlign && {causal_align: asked.causalAlign}),
    plugin: request.origin ?? null,
    tuned: request.tuned ?? null,
    ...backendFacts(backend),
    operations: Object.assign({}, ...applied.map(({operations}) => operations)),
    arrays: applied.map(({facts}) => facts),
  }
}

/** What is written of one layer. */
interface Output {
  facts: AppliedArray
  operations: ApplyRecord['operations']
  arrays: Record<string, NdArray>
}

/** An output under its name, in the layout, and the mask that it was made with. */
function outputOf(
  {out, operations, facts}: AppliedLayer,
  how: {input: AttentionInput; layer: number | undefined; several: boolean; layout: Layout},
): Output {
  const {input, layer, several, layout} = how
  const named = (name: string) => (several ? layerName(layer!, name) : name)
  const {shape, data} = inLayout(out, layout)
  const [batch, , keyLen] = input.key.shape
  const mask = input.keyMask && {
    [named(KEY_MASK)]: {shape: [batch, keyLen], dtype: 'bool' as const, data: input.keyMask},
  }
  return {
    facts: {name: named('out'), layer: layer ?? null, shape, ...facts},
    operations,
    arrays: {[named('out')]: {shape, dtype: 'float32', data: Float32Array.from(data)}, ...mask},
  }
}

/** Writes all outputs, with the texts of the input: what was computed goes before what they say of that. */
async function writeOutputs(
  {output, method, preset, causal, input}: SettledRequest,
  outputs: readonly Output[],
  {metadata, layout}: {metadata: Record<string, string>; layout: Layout},
): Promise<void> {
  const scales = outputs.map(({facts: {layer, logit_scale: scale}}) => [
    outputs.length > 1 ? layerName(layer!, 'scale') : 'scale',
    String(scale),
  ])
  const arrays: Record<string, NdArray> = Object.assign({}, ...outputs.map(own => own.arrays))
  const [first] = Object.entries(arrays)
  // .npy has no place for a mask
  const kept = arrayExtension(output) === '.npy' ? Object.fromEntries([first!]) : arrays
  const texts = Object.entries(metadata).filter(([name]) => !/(^|\.)(scale|causal)$/.test(name))
  await writeArrays(output, kept, {
    ...Object.fromEntries([...texts, ...scales]),
    ...{method, preset, layout, causal: String(causal)},
    input: inputFiles(input)
      .map(path => basename(path))
      .join(', '),
  })
}

/** @throws {BAD_FILE} for a format that holds one array */
function checkSeveral(output: string, layers: readonly number[]): void {
  if (arrayExtension(output) !== '.npy') return
  const what = 'a .npz or .safetensors file for several layers'
  throw expected('BAD_FILE', '`output`', what, output, `or one of them: \`layer: ${layers[0]}\``)
}

function inputFiles(input: InputSpec): readonly string[] {
  return input.kind === 'file' ? input.paths : []
}

/** An output `[B, H, L, Dv]` with its axes in a layout. */
function inLayout(result: AttentionArray, layout: Layout): AttentionArray {
  if (layout === DEFAULT_LAYOUT) return result
  const {shape, data} = result
  return {shape: exchanged(shape), data: exchangeAxes(data, shape, 'out')}
}
