/** Which tokens are learned on, and which are held out. */
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

/** An input in two. */
export interface Split {
  by: 'texts' | 'tokens'
  learned: AttentionInput
  heldOut: AttentionInput
}

/** Fewest tokens of a single text on either side. */
const LEAST_TOKENS = 8

/**
 * Holds out some of the texts, evenly spread; of a single text the last tokens, which then attend among themselves.
 *
 * @param share - to hold out; at least one text is
 * @throws {BAD_OPTION} for a single text with too few tokens
 * @throws {UNSUPPORTED} for a single text of causal queries that are not the tokens of its keys
 */
export function splitInput(input: AttentionInput, share: number, view: CausalView): Split {
  const {batch} = sizesOf(input)
  if (batch === 1) return splitTokens([...partsInView(input, view)][0]!, share, view)
  const texts = Array.from({length: batch}, (_, at) => at)
  const held = texts.filter(at => Math.floor((at + 1) * share) > Math.floor(at * share))
  if (held.length === 0) held.push(batch - 1)
  if (held.length === batch) held.shift()
  return {
    by: 'texts',
    learned: someTexts(
      input,
      texts.filter(at => !held.includes(at)),
    ),
    heldOut: someTexts(input, held),
  }
}

/** Some sequences of a batch, without padding that all of them have. */
export function someTexts(input: AttentionInput, texts: readonly number[]): AttentionInput {
  const {label, keyMask, ...rest} = input
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

function splitTokens(input: AttentionInput, share: number, {causal}: CausalView): Split {
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
  const part = (first: number, count: number): AttentionInput => ({
    ...input,
    query: tokens(input.query, first, count),
    key: own ? tokens(input.key, first, count) : input.key,
    value: own ? tokens(input.value, first, count) : input.value,
  })
  return {by: 'tokens', learned: part(0, cut), heldOut: part(cut, held)}
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

/** Texts and tokens of an input. */
export function countsOf(input: AttentionInput): {texts: number; tokens: number} {
  return {texts: sizesOf(input).batch, tokens: judgedQueries(input)}
}
