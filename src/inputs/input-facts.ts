/** Facts about an input that need no reading or generating. */
import type {CausalView} from '../causal-view.js'
import {describe, expected} from '../errors.js'
import {filesText} from './arrangement.js'
import {
  type AttentionShapes,
  checkAttentionShapes,
  cutLengths,
  fourAxes,
  layoutWarning,
  sizesOf,
} from './attention-input.js'
import type {GeneratorShape} from './generators/index.js'
import {
  type FileSpec,
  factsOf,
  filesOf,
  layoutIn,
  maskPlaceOf,
  type OneFile,
  type OptionalPlace,
  type Place,
  placesOf,
  textsOf,
  withInput,
} from './input-files.js'
import {commonWidth, joinedShapes} from './joined.js'
import {checkMaskShape} from './key-mask.js'
import {DEFAULT_LAYOUT, type Layout} from './layout.js'
import {rankWarning, readLayout, type StatedTexts, unreadTexts} from './metadata.js'
import {DTYPES, elementCount} from './nd-array.js'
import {statedByArrays} from './other-arrays.js'
import {checkProjection, outputPlacesOf} from './output-projection.js'
import type {InputSpec} from './spec.js'

const FLOAT = 4

/** Sizes of an input at one length. */
export type InputSizes = Omit<GeneratorShape, 'seed'>

/** Facts about an input that need no reading or generating. */
export interface InputFacts {
  /** What `loadInput` gives at each of the lengths asked for. */
  sizes: InputSizes[]
  /** Heads of keys and values as they stand in the file, which may serve several heads of queries each. */
  keyHeads: number
  /** Bytes that loading takes at its peak, whatever the length: files are read whole. */
  loadingBytes: number
  /** There is a key mask, which may hide keys. */
  masked: boolean
  /** Columns of the output projection; 0: there is none. */
  projectedWidth: number
}

/** Which part of an input is meant, and what goes before what the file says of it. */
export interface PartOfInput {
  /** Layer of a file of several; absent: the arrays of no layer. */
  layer?: number | undefined
  /** beta; absent or `null`: as the file says, else `1/sqrt(D)`. */
  logitScale?: number | null | undefined
}

/**
 * The sizes of an input at these lengths and the memory that loading takes, from the header of a file alone.
 *
 * @throws what `loadInput` throws before it reads or makes arrays
 */
export async function inputFacts(
  spec: InputSpec,
  seqLens: readonly (number | null)[],
  part: PartOfInput = {},
): Promise<InputFacts> {
  if (spec.kind === 'generator') {
    const sizes = seqLens.map(seqLen => generatedSizes(spec, seqLen))
    return {sizes, keyHeads: spec.heads, loadingBytes: 0, masked: false, projectedWidth: 0}
  }
  const headers = await readHeaders(spec, part)
  const label = labelOf(spec, part)
  const {padded, ...shapes} = joinedShapes(label, headers)
  const {batch, heads, headDim, valueDim} = sizesOf(shapes)
  const sizes = seqLens.map(seqLen => {
    const [queryLen, keyLen] = cutLengths({label, ...shapes}, seqLen)
    return {batch, heads, queryLen, keyLen, headDim, valueDim}
  })
  return {
    sizes,
    keyHeads: shapes.key.shape[1],
    loadingBytes: loadingBytes(headers, shapes),
    masked: padded || headers.some(({mask}) => mask !== undefined),
    projectedWidth: commonWidth(headers.map(({projection}) => projection)),
  }
}

/**
 * What to be wary of in an input, from the header of a file alone: axes that look as if they were in another order, what a
 * file says that settings go before, and what it says that cannot be read.
 *
 * @param causal - whether attention is causal; absent: it does not matter
 * @throws {BAD_OPTION} see {@link requireCorner}
 * @throws what `loadInput` throws before it reads arrays
 */
export async function inputWarnings(
  spec: InputSpec,
  {causal, causalAlign, ...part}: PartOfInput & Partial<CausalView> = {},
): Promise<string[]> {
  if (spec.kind === 'generator') return []
  const overrides = {logitScale: part.logitScale, layout: spec.layout}
  return (await readHeaders(spec, part)).flatMap(headers => {
    requireCorner(headers.label, sizesOf(headers), {causal, causalAlign})
    const {layout, texts, places, name} = headers
    const rank = places[0]!.shape.length
    return [
      layoutWarning(sizesOf(headers), layout),
      spec.layout === undefined ? rankWarning(texts.layout, rank) : undefined,
      ...unreadTexts(texts, {...overrides, causal}),
      overridden('layout', texts.layout, spec.layout),
      overridden('scale', texts.scale, part.logitScale),
    ]
      .filter(text => text !== undefined)
      .map(text => `${name}: ${text}`)
  })
}

/** @throws {BAD_OPTION} where causal queries are fewer than keys and nothing says which tokens they are, or it is said of others */
export function requireCorner(
  where: string,
  {queryLen, keyLen}: {queryLen: number; keyLen: number},
  {causal, causalAlign}: Partial<CausalView>,
): void {
  if (causal === false && causalAlign !== undefined) {
    const remedy = 'add `causal`, or leave `causalAlign` out'
    const what = '`causalAlign` of causal attention'
    throw expected('BAD_OPTION', where, what, 'bidirectional', remedy)
  }
  if (!causal || queryLen >= keyLen || causalAlign !== undefined) return
  const what = 'queries and keys of the same length where attention is causal, or `causalAlign`'
  const advice = 'set `causalAlign: end` where the queries are the last tokens'
  const other = 'set `causalAlign: start` where they are the first ones'
  throw expected('BAD_OPTION', where, what, `${queryLen} queries, ${keyLen} keys`, advice, other)
}

/** beta of an input: as asked for, else as the file says, else `1/sqrt(D)`. @throws what `loadInput` throws before it reads arrays */
export async function logitScaleOf(spec: InputSpec, part: PartOfInput = {}): Promise<number> {
  if (spec.kind === 'generator') return part.logitScale ?? spec.head_dim ** -0.5
  const [first] = await readHeaders(spec, part)
  return first!.logitScale
}

/** A setting that is another than what the file says. */
function overridden(
  name: 'layout' | 'scale',
  said: string | undefined,
  given: string | number | null | undefined,
): string | undefined {
  if (said === undefined || given === undefined || given === null) return undefined
  const meant = typeof given === 'number' ? Number(said) : (readLayout(said) ?? said)
  if (given === meant) return undefined
  return `\`${name}: ${given}\` overrides the metadata of the file, which says ${describe(said)}`
}

interface Headers extends AttentionShapes {
  /** Of the file; `label` with the layer. */
  name: string
  label: string
  places: Place[]
  mask: OptionalPlace | undefined
  projection: OptionalPlace | undefined
  layout: Layout
  texts: StatedTexts
  /** See {@link logitScaleOf}. */
  logitScale: number
}

/** What each file of a part says. */
function readHeaders(spec: FileSpec, part: PartOfInput): Promise<Headers[]> {
  return withInput(spec, part.layer, async files => {
    const headers: Headers[] = []
    for (const one of filesOf(files, spec)) headers.push(await headersOf(one, part))
    return headers
  })
}

/**
 * Where the arrays of a part stand in a file, and what it says of them.
 *
 * @throws see {@link layoutIn}, {@link factsOf}, {@link placesOf}, {@link statedByArrays} and {@link maskPlaceOf}
 */
export async function partIn({files, spec}: OneFile, {layer, logitScale}: PartOfInput) {
  const layout = layoutIn(files, spec, layer)
  const {layout: _, ...stated} = factsOf(files, spec, layer, {logitScale})
  const places = await placesOf(files, spec, {layer, layout})
  const byArrays = await statedByArrays({files, spec}, layer, {logitScale})
  const mask = maskPlaceOf(files, spec, layer)
  return {layout, places, mask, ...outputPlacesOf(files, layer), stated: {...byArrays, ...stated}}
}

/** The shapes of queries, keys and values, which belong together, and what the file says of them. */
async function headersOf(one: OneFile, part: PartOfInput): Promise<Headers> {
  const {files, spec} = one
  const [name, label] = [labelOf(spec, {}), labelOf(spec, part)]
  const {layout, places, mask, projection, stated} = await partIn(one, part)
  const [query, key, value] = places.map(({shape, where}) => ({
    shape: fourAxes(shape, where, layout),
  }))
  const shapes = {query: query!, key: key!, value: value!}
  checkAttentionShapes(label, shapes, layout)
  const {batch, keyLen, heads, headDim, valueDim} = sizesOf(shapes)
  if (mask) checkMaskShape(mask.shape, mask.where, batch, keyLen)
  if (projection) checkProjection(projection, heads * valueDim)
  const texts = textsOf(files, part.layer)
  const logitScale = part.logitScale ?? stated.logitScale ?? headDim ** -0.5
  return {name, label, ...shapes, places, mask, projection, layout, texts, logitScale}
}

/**
 * Bytes of the arrays as they are read, and of those that are made of them: float32 that stays in its order is not
 * copied, numbers of 16 bits are widened into new memory, keys and values of shared heads are repeated, and files of one
 * batch are copied into it.
 */
function loadingBytes(files: readonly Headers[], {query, key, value}: AttentionShapes): number {
  const count = ({shape}: {shape: readonly number[]}) => elementCount(shape)
  const group = query.shape[1] / key.shape[1]
  const repeated = group === 1 ? 0 : group * (count(key) + count(value))
  const joined = files.length === 1 ? 0 : count(query) + count(key) + count(value)
  return files.reduce((sum, own) => sum + readingBytes(own), FLOAT * (repeated + joined))
}

/** Of one file. */
function readingBytes({places, mask, projection, layout}: Headers): number {
  const masked = mask ? elementCount(mask.shape) * (DTYPES[mask.dtype ?? 'uint8'].bytes + 1) : 0
  const projected = projection
    ? elementCount(projection.shape) * (DTYPES[projection.dtype ?? 'float32'].bytes + FLOAT)
    : 0
  return places.reduce((sum, {shape, dtype}) => {
    const held = DTYPES[dtype].storage === Float32Array
    const widened = held && dtype !== 'float32' ? FLOAT : 0
    const made = held && layout === DEFAULT_LAYOUT ? 0 : FLOAT
    return sum + elementCount(shape) * (DTYPES[dtype].bytes + widened + made)
  }, masked + projected)
}

/** @throws {BAD_OPTION} without a length */
export function generatedSizes(
  {name, batch, heads, head_dim, value_dim, key_len}: Extract<InputSpec, {kind: 'generator'}>,
  seqLen: number | null,
): InputSizes {
  if (seqLen === null) {
    throw expected('BAD_OPTION', '`seqLen`', `a length for the generator ${name}`, 'none')
  }
  const lengths = {queryLen: seqLen, keyLen: key_len ?? seqLen}
  return {batch, heads, ...lengths, headDim: head_dim, valueDim: value_dim}
}

/** File names without folders, and the layer. */
export function labelOf({paths}: FileSpec, {layer}: PartOfInput): string {
  const files = filesText(paths)
  return layer === undefined ? files : `${files}, layer ${layer}`
}
