/** Which tokens are learned on, and which are held out. */
import {createHash} from 'node:crypto'
import type {CausalView} from '../../../causal-view.js'
import {expected} from '../../../errors.js'
import {
  type AttentionArray,
  type AttentionInput,
  firstRows,
  sizesOf,
} from '../../../inputs/attention-input.js'
import {cutKeyMask, placesInView} from '../../../inputs/key-mask.js'
import {judgedQueries, partsInView} from '../../../inputs/masked-tokens.js'

/** Tokens of a layer. */
export interface LayerInput extends AttentionInput {
  /** Those of the model as it is, of the same texts. Default: these are. */
  original?: AttentionInput | undefined
}

export interface Split {
  by: 'texts' | 'tokens'
  learned: LayerInput
  heldOut: LayerInput
}

/** Fewest tokens of a single text on either side. */
const LEAST_TOKENS = 8

/**
 * Holds out some of the texts, evenly spread; of a single text the last tokens, which then attend among themselves. Texts with the
 * same queries, keys and values are on one side, and those that are all the same are a single one.
 *
 * @param share - to hold out; at least one text is
 * @throws {BAD_OPTION} for a single text with too few tokens
 * @throws {UNSUPPORTED} for a single text of causal queries that are not the tokens of its keys
 */
export function splitInput(input: LayerInput, share: number, view: CausalView): Split {
  const {batch} = sizesOf(input)
  const texts = Array.from({length: batch}, (_, at) => at)
  const prints = texts.map(at => fingerprint(someTexts(input, [at])))
  const different = [...new Set(prints)]
  if (different.length === 1) {
    return splitTokens([...partsInView(someTexts(input, [0]), view)][0]!, share, view)
  }
  const held = different.filter((_, at) => Math.floor((at + 1) * share) > Math.floor(at * share))
  if (held.length === 0) held.push(different.at(-1)!)
  if (held.length === different.length) held.shift()
  const isHeld = (at: number) => held.includes(prints[at]!)
  return {
    by: 'texts',
    learned: someTexts(
      input,
      texts.filter(at => !isHeld(at)),
    ),
    heldOut: someTexts(input, texts.filter(isHeld)),
  }
}

/** The same for two texts with the same numbers, padding behind them apart. */
function fingerprint({query, key, value, keyMask = new Uint8Array()}: AttentionInput): string {
  const hash = createHash('sha256').update(keyMask)
  for (const {data, shape} of [query, key, value]) {
    const {buffer, byteOffset, byteLength} = data
    hash.update(JSON.stringify(shape)).update(new Uint8Array(buffer, byteOffset, byteLength))
  }
  return hash.digest('hex')
}

/** Some sequences of a batch, without padding that all of them have. */
export function someTexts(input: LayerInput, texts: readonly number[]): LayerInput {
  const {label, keyMask, original, ...rest} = input
  const {queryLen, keyLen} = sizesOf(input)
  const masks = keyMask && texts.map(at => keyMask.subarray(at * keyLen, (at + 1) * keyLen))
  const ends = queryLen === keyLen ? masks?.map(mask => 1 + placesInView(mask).at(-1)!) : undefined
  const seen = Math.max(...(ends ?? [keyLen]))
  const own = (array: AttentionArray, length: number) => firstRows(sequences(array, texts), length)
  const mask = masks && Uint8Array.from(masks.flatMap(one => [...one]))
  const left = mask && cutKeyMask(mask, keyLen, seen, label)
  return {
    ...rest,
    label,
    query: own(input.query, ends ? seen : queryLen),
    key: own(input.key, seen),
    value: own(input.value, seen),
    ...(left && {keyMask: left}),
    ...(original && {original: someTexts(original, texts)}),
  }
}

function sequences({shape, data}: AttentionArray, texts: readonly number[]): AttentionArray {
  const [, heads, length, dim] = shape
  const size = heads * length * dim
  const out = new Float32Array(texts.length * size)
  texts.forEach((at, i) => {
    out.set(data.subarray(at * size, (at + 1) * size), i * size)
  })
  return {shape: [texts.length, heads, length, dim], data: out}
}

function splitTokens(input: LayerInput, share: number, {causal}: CausalView): Split {
  const {queryLen, keyLen} = sizesOf(input)
  if (causal && queryLen !== keyLen) {
    const got = `one text of ${queryLen} causal queries and ${keyLen} keys`
    throw expected('UNSUPPORTED', input.label, 'at least two texts', got, 'give more texts')
  }
  const held = Math.max(LEAST_TOKENS, Math.round(queryLen * share))
  const cut = queryLen - held
  if (cut < LEAST_TOKENS) {
    const what = `at least two texts, or ${2 * LEAST_TOKENS} tokens to hold ${LEAST_TOKENS} of them out`
    throw expected('BAD_OPTION', input.label, what, `one text of ${queryLen}`, 'give more texts')
  }
  // keys that do not stand for the tokens of queries stay for both
  const own = queryLen === keyLen
  const partOf = (of: LayerInput, first: number, count: number): LayerInput => ({
    ...of,
    query: tokens(of.query, first, count),
    key: own ? tokens(of.key, first, count) : of.key,
    value: own ? tokens(of.value, first, count) : of.value,
    ...(of.original && {original: partOf(of.original, first, count)}),
  })
  return {by: 'tokens', learned: partOf(input, 0, cut), heldOut: partOf(input, cut, held)}
}

/** Some tokens of every head of a single sequence. */
function tokens({shape, data}: AttentionArray, first: number, count: number): AttentionArray {
  const [, heads, length, dim] = shape
  const out = new Float32Array(heads * count * dim)
  for (let head = 0; head < heads; head++) {
    const start = (head * length + first) * dim
    out.set(data.subarray(start, start + count * dim), head * count * dim)
  }
  return {shape: [1, heads, count, dim], data: out}
}

export function countsOf(input: AttentionInput): {texts: number; tokens: number} {
  return {texts: sizesOf(input).batch, tokens: judgedQueries(input)}
}
