/**
 * Which tokens count. A key mask hides tokens: hidden keys take no part, and where queries and keys stand for the
 * same tokens, hidden queries are not part of the model's result. Neither may count in errors, reference values or
 * statistics, so these are computed on the remaining tokens of each sequence.
 */
import {type CausalView, keysBefore, keysInView} from '../causal-view.js'
import {expected} from '../errors.js'
import {type AttentionArray, type AttentionInput, sizesOf} from './attention-input.js'
import {placesInView} from './key-mask.js'

/** The tokens of one sequence of a batch that count. */
interface Sequence {
  /** Its place in the batch. */
  at: number
  queries: Int32Array
  keys: Int32Array
}

/** The sequences of an input with a mask; `undefined` where everything counts. */
function sequencesOf({keyMask, ...input}: AttentionInput): Sequence[] | undefined {
  if (!keyMask) return undefined
  const {batch, queryLen, keyLen} = sizesOf(input)
  return Array.from({length: batch}, (_, at) => {
    const keys = placesInView(keyMask.subarray(at * keyLen, (at + 1) * keyLen))
    const queries = queryLen === keyLen ? keys : Int32Array.from({length: queryLen}, (_, i) => i)
    return {at, queries, keys}
  })
}

/**
 * Inputs with only the tokens that count, without masks: the whole input if it has no mask, else a batch of one for
 * each sequence, made on demand. A causal query sees the same keys there, in the same order.
 *
 * @throws {UNSUPPORTED} when a causal mask would be another one among the keys that are left
 */
export function* partsInView(input: AttentionInput, view: CausalView): Generator<AttentionInput> {
  const sequences = sequencesOf(input)
  if (!sequences) return yield input
  const {keyMask: _, ...rest} = input
  for (const {at, queries, keys} of sequences) {
    if (view.causal && queries !== keys) requireOrder(input, at, keys, view)
    yield {
      ...rest,
      query: gathered(input.query, at, queries),
      key: gathered(input.key, at, keys),
      value: gathered(input.value, at, keys),
    }
  }
}

/** @throws {UNSUPPORTED} unless each query sees as many of the keys that are left as their number alone would say */
function requireOrder(input: AttentionInput, at: number, keys: Int32Array, view: CausalView): void {
  const sizes = sizesOf(input)
  const before = keysBefore(view, sizes)
  const left = {queryLen: sizes.queryLen, keyLen: keys.length}
  let seen = 0
  for (let row = 0; row < sizes.queryLen; row++) {
    while (seen < keys.length && keys[seen]! <= row + before) seen++
    if (seen !== keysInView(view, left, row)) throw brokenOrder(input, at, view)
  }
}

function brokenOrder({label}: AttentionInput, at: number, {causalAlign}: CausalView) {
  const end = causalAlign === 'end'
  const where = `${label}, key mask of sequence ${at}`
  const what = `only ${end ? 'the first keys' : 'keys at the end'} hidden, where attention is causal and queries and keys differ in number`
  const got = `a hidden key ${end ? 'behind the first query' : 'before one in view'}`
  return expected('UNSUPPORTED', where, what, got, 'say `noCausal`')
}

/** Some rows of every head of one sequence, `[1, H, n, D]`; no copy where it is all of them. */
function gathered({shape, data}: AttentionArray, at: number, rows: Int32Array): AttentionArray {
  const [, heads, length, dim] = shape
  const size = heads * length * dim
  const own = data.subarray(at * size, (at + 1) * size)
  if (rows.length === length) return {shape: [1, heads, length, dim], data: own}
  const out = new Float32Array(heads * rows.length * dim)
  copyRows(own, out, {heads, length, dim, rows})
  return {shape: [1, heads, rows.length, dim], data: out}
}

/** Copies rows of every head, neighbours together. */
function copyRows(
  from: Float32Array,
  to: Float32Array,
  {heads, length, dim, rows}: {heads: number; length: number; dim: number; rows: Int32Array},
): void {
  const runs = neighbours(rows)
  for (let head = 0; head < heads; head++) {
    let at = head * rows.length * dim
    for (const {first, count} of runs) {
      const start = (head * length + first) * dim
      to.set(from.subarray(start, start + count * dim), at)
      at += count * dim
    }
  }
}

/** Ascending places as runs of neighbours. */
function neighbours(places: Int32Array): {first: number; count: number}[] {
  const runs: {first: number; count: number}[] = []
  for (const place of places) {
    const run = runs.at(-1)
    if (run && run.first + run.count === place) run.count++
    else runs.push({first: place, count: 1})
  }
  return runs
}

/** How many queries are judged, over all sequences. */
export function judgedQueries(input: AttentionInput): number {
  const {batch, queryLen} = sizesOf(input)
  const sequences = sequencesOf(input)
  return sequences?.reduce((sum, {queries}) => sum + queries.length, 0) ?? batch * queryLen
}

/** Takes of rows `[B, H, L, width]` those of judged queries, as the parts in view have them. */
export type Judged = (rows: Float32Array, width: number) => Float32Array

/**
 * @returns the rows sequence by sequence, head by head, until the next call of the same width; or what it is given, where
 *   all queries are judged
 */
export function judgedRows(input: AttentionInput): Judged {
  const sequences = sequencesOf(input)
  if (!sequences) return rows => rows
  const {heads, queryLen: length} = sizesOf(input)
  const count = judgedQueries(input) * heads
  const kept = new Map<number, Float32Array>()
  return (rows, width) => {
    const out = kept.get(width) ?? new Float32Array(count * width)
    kept.set(width, out)
    const size = heads * width
    let end = 0
    for (const {at, queries} of sequences) {
      const own = rows.subarray(at * length * size, (at + 1) * length * size)
      const place = out.subarray(end, end + queries.length * size)
      copyRows(own, place, {heads, length, dim: width, rows: queries})
      end += place.length
    }
    return out
  }
}

/** The judged queries of each sequence by their places in the input, ascending; `undefined` where all are. */
export function judgedQueryPlaces(input: AttentionInput): Int32Array[] | undefined {
  return sequencesOf(input)?.map(({queries}) => queries)
}

/** The keys of each part in view by their places in the input, ascending; `undefined` where all are. */
export function judgedKeys(input: AttentionInput): Int32Array[] | undefined {
  return sequencesOf(input)?.map(({keys}) => keys)
}
