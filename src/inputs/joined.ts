/** Several files that one layer read, as the sequences of one batch. */
import {describe, expected} from '../errors.js'
import {
  type AttentionArray,
  type AttentionInput,
  type AttentionShapes,
  sizesOf,
} from './attention-input.js'
import type {KeyMask} from './key-mask.js'
import type {Four} from './layout.js'

interface FileShapes extends AttentionShapes {
  /** Its name, in messages. */
  label: string
}

interface JoinedShapes extends AttentionShapes {
  /** Whether sequences differ in length, so that shorter ones are padded. */
  padded: boolean
}

/** What all files of a batch have in common, by its place in the shapes of an array. */
const ALIKE = [
  ['query', 1, 'number of query heads'],
  ['key', 1, 'number of key heads'],
  ['query', 3, 'head dimension'],
  ['value', 3, 'value dimension'],
] as const

/**
 * The shapes of files as one batch: B adds up, lengths come from the longest.
 *
 * @param label - of the batch, in messages
 * @param files - at least one
 * @throws {SHAPE_MISMATCH} where heads or dimensions differ; where lengths do and queries are not the tokens of keys, which a
 *   mask could not hide
 */
export function joinedShapes(label: string, files: readonly FileShapes[]): JoinedShapes {
  const [first, ...others] = files as readonly [FileShapes, ...FileShapes[]]
  for (const other of others) {
    const odd = ALIKE.find(([role, axis]) => first[role].shape[axis] !== other[role].shape[axis])
    if (odd) throw unlike(label, `one ${odd[2]}`, [first, other], odd[0])
  }
  const lengths = files.map(file => sizesOf(file))
  const [queryLen, keyLen] = [
    Math.max(...lengths.map(own => own.queryLen)),
    Math.max(...lengths.map(own => own.keyLen)),
  ]
  const short = files.find((_, at) => {
    const own = lengths[at]!
    return own.queryLen < queryLen || own.keyLen < keyLen
  })
  const cross = files.find((_, at) => lengths[at]!.queryLen !== lengths[at]!.keyLen)
  if (short && cross) {
    const what = 'one length, or with equal numbers of queries and keys,'
    throw unlike(
      label,
      what,
      [cross, short === cross ? files.find(f => f !== cross)! : short],
      'query',
    )
  }
  const batch = lengths.reduce((sum, own) => sum + own.batch, 0)
  const joined = (role: 'query' | 'key' | 'value', length: number) => {
    const [, heads, , dim] = first[role].shape
    return {shape: [batch, heads, length, dim] as Four}
  }
  return {
    query: joined('query', queryLen),
    key: joined('key', keyLen),
    value: joined('value', keyLen),
    padded: short !== undefined,
  }
}

function unlike(
  label: string,
  what: string,
  files: readonly FileShapes[],
  role: 'query' | 'key' | 'value',
) {
  const got = files.map(file => `${role} ${describe(file[role].shape)} in ${file.label}`).join(', ')
  const remedy = 'run once for each file'
  return expected('SHAPE_MISMATCH', label, `files of one layer with ${what}`, got, remedy)
}

/**
 * Joins what one layer computed on several texts. Shorter sequences are padded with zeros, and a key mask hides the padding.
 * An output projection is kept where all files have one; other arrays and texts come from the first file.
 *
 * @param inputs - at least one, their keys and values not yet repeated for heads of queries
 * @throws {SHAPE_MISMATCH} see {@link joinedShapes}
 * @throws {BAD_OPTION} where they state different scales
 */
export function joinInputs(label: string, inputs: readonly AttentionInput[]): AttentionInput {
  const [first, ...others] = inputs as readonly [AttentionInput, ...AttentionInput[]]
  if (others.length === 0) return {...first, label}
  const {query, key, value, padded} = joinedShapes(label, inputs)
  const {
    keyMask: _,
    logitScale: __,
    residualNorm: ___,
    outputProjection,
    ranCausal,
    ...rest
  } = first
  const isProjected =
    commonWidth(
      inputs.map(own => own.outputProjection && {shape: own.outputProjection.shape.slice(2)}),
    ) > 0
  const residualNorm = joinedNorm(inputs)
  const logitScale = commonScale(label, inputs)
  const masked = padded || inputs.some(({keyMask}) => keyMask)
  return {
    ...rest,
    label,
    query: stacked(
      inputs.map(own => own.query),
      query.shape,
    ),
    key: stacked(
      inputs.map(own => own.key),
      key.shape,
    ),
    value: stacked(
      inputs.map(own => own.value),
      value.shape,
    ),
    ...(masked && {keyMask: joinedMask(inputs, key.shape)}),
    ...(isProjected && {outputProjection}),
    ...(residualNorm !== undefined && {residualNorm}),
    ...(logitScale !== undefined && {logitScale}),
    ...(ranCausal !== undefined && others.every(own => own.ranCausal === ranCausal) && {ranCausal}),
  }
}

/** Columns of the output projections of files; 0 where one has none, or they differ. */
export function commonWidth(
  projections: readonly ({shape: readonly number[]} | undefined)[],
): number {
  const widths = new Set(projections.map(own => own?.shape[1] ?? 0))
  return widths.size === 1 ? [...widths][0]! : 0
}

/** Root mean square length over the tokens of all files; `undefined` where one does not say. */
function joinedNorm(inputs: readonly AttentionInput[]): number | undefined {
  let [squares, tokens] = [0, 0]
  for (const {query, residualNorm} of inputs) {
    if (residualNorm === undefined) return undefined
    const own = query.shape[0] * query.shape[2]
    squares += own * residualNorm ** 2
    tokens += own
  }
  return Math.sqrt(squares / tokens)
}

/** The scale that all state, or none. @throws {BAD_OPTION} */
function commonScale(label: string, inputs: readonly AttentionInput[]): number | undefined {
  const [first, ...others] = inputs.map(({logitScale}) => logitScale)
  if (others.every(scale => scale === first)) return first
  const got = inputs.map(({logitScale, label: name}) => `${logitScale ?? 'none'} in ${name}`)
  const where = `${label}, metadata scale`
  const what = 'the same in all files of a layer'
  throw expected('BAD_OPTION', where, what, got.join(', '), 'say which with `scale`')
}

/** All sequences one after the other, each with zeros up to the length of the longest. */
function stacked(arrays: readonly AttentionArray[], shape: Four): AttentionArray {
  const [batch, heads, length, dim] = shape
  const data = new Float32Array(batch * heads * length * dim)
  let head = 0
  for (const own of arrays) {
    const [sequences, , rows] = own.shape
    for (let at = 0; at < sequences * heads; at++, head++) {
      const from = at * rows * dim
      data.set(own.data.subarray(from, from + rows * dim), head * length * dim)
    }
  }
  return {shape, data}
}

/** `[B, S]`: what the masks of files leave, without padding. */
function joinedMask(inputs: readonly AttentionInput[], [batch, , length]: Four): KeyMask {
  const mask = new Uint8Array(batch * length)
  let row = 0
  for (const {key, keyMask} of inputs) {
    const [sequences, , keys] = key.shape
    for (let at = 0; at < sequences; at++, row++) {
      const own = keyMask?.subarray(at * keys, (at + 1) * keys)
      if (own) mask.set(own, row * length)
      else mask.fill(1, row * length, row * length + keys)
    }
  }
  return mask
}
