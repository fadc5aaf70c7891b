/** Texts as tokens, by `tokenizer.json` of a folder. */
import {join} from 'node:path'
import {clipped, describe, expected, RfaError} from '../errors.js'
import {readJson, readOptionalJson} from './json.js'
import {type EncodedText, runTokenizer, type TokenizerJob} from './tokenizer-thread.js'
import type {ModelShape, TokenBatch, TokenizedTexts, TokenizeOptions} from './types.js'
import {checkVocabulary, otherVocabulary} from './vocabulary.js'

/** Texts of a batch where nothing else is said. */
const BATCH_SIZE = 32

/** Tokens of a batch at most, with padding: three blocks of rows of a product, and what a layer makes of them stays near the caches. */
const BATCH_TOKENS = 1152

/** Time of a text, and for each of its characters in addition: some ten times what an honest tokenizer takes. */
const LIMIT = {text: 20_000, character: 0.02}

/** See `Model.tokenize`. */
export type Tokenize = (
  texts: readonly string[],
  options?: TokenizeOptions,
) => Promise<TokenizedTexts>

/**
 * Reads `tokenizer.json`, and `tokenizer_config.json` where it is there. The tokenizer itself is made with the first texts.
 *
 * @param folder - as the user wrote it
 * @throws {FILE_MISSING | BAD_FILE} when `tokenizer.json` is not there, or is not a tokenizer
 * @throws {BAD_FILE} when its vocabulary is not that of the model
 */
export async function openTokenizer(folder: string, facts: ModelShape): Promise<Tokenize> {
  const file = join(folder, 'tokenizer.json')
  const remedy = 'write it with `tokenizer.save_pretrained(FOLDER)` of Transformers'
  const json = await readJson(file, remedy)
  const config = await readOptionalJson(join(folder, 'tokenizer_config.json'))
  if (!('model' in json)) {
    throw expected('BAD_FILE', file, 'a tokenizer', 'one without a model', remedy)
  }
  checkVocabulary(file, json, facts)
  return async (given, options = {}) => {
    const {maxTokens, batchSize, least, limitMs} = checkedOptions(options, facts)
    const longest = given.reduce((most, text) => Math.max(most, text.length), 0)
    const limit = limitMs ?? LIMIT.text + LIMIT.character * longest
    const job = {json, config, texts: given, maxTokens, limitMs: limit}
    const rows = (await idsOf(file, job)).map(encoded => cut(encoded, {file, maxTokens, facts}))
    const texts = batchesOf(rows, least, batchSize)
    refuseBeyondWindow(texts.batches, facts)
    return texts
  }
}

/** Rows of ids as batches, without those that are too short. @throws {BAD_FILE} where all are */
export function batchesOf(
  all: readonly number[][],
  least: number,
  batchSize = BATCH_SIZE,
): TokenizedTexts {
  const taken = all.flatMap((ids, at) => (ids.length >= least ? [at] : []))
  if (taken.length === 0) throw tooShort(all.length, least)
  const rows = taken.map(at => all[at]!)
  return {...toBatches(rows, batchSize), taken, leftOut: all.length - rows.length}
}

/** Ids of a text, and without special tokens where it is too long. */
type Ids = Exclude<EncodedText, {fault: string}>

/** @throws {UNSUPPORTED} where there are none, naming the text */
async function idsOf(file: string, job: TokenizerJob): Promise<Ids[]> {
  const end = await runTokenizer(job)
  if ('fault' in end) throw unrunnable(file, end.fault, end.text, job.texts)
  return end.rows.map((row, at) => {
    if ('fault' in row) throw unrunnable(file, row.fault, at, job.texts)
    return row
  })
}

function unrunnable(
  file: string,
  fault: string,
  at: number | undefined,
  texts: readonly string[],
): RfaError {
  const on = at === undefined ? '' : ` on text ${at + 1}, ${describe(texts[at])}`
  const message = `${file}: expected a tokenizer that can be run here, got one that cannot${on}: ${clipped(fault)}`
  const without = at === undefined ? [] : ['leave that text out']
  return new RfaError('UNSUPPORTED', message, {suggestions: [...without, 'use another model']})
}

function tooShort(texts: number, least: number): RfaError {
  const what = least === 1 ? 'at least one token in a text' : `texts of ${least} tokens or more`
  const got = `${texts} with fewer`
  return expected('BAD_FILE', 'texts', what, got, 'give longer texts')
}

/** @throws {UNSUPPORTED} for texts of which queries would not see all tokens */
function refuseBeyondWindow(batches: readonly TokenBatch[], {window}: ModelShape): void {
  const longest = Math.max(...batches.map(({length}) => length))
  if (window === undefined || longest <= window) return
  const what = `at most ${window} tokens in a text, the sliding window of the model`
  const remedy = `cut the texts: \`maxTokens: ${window}\``
  throw expected('UNSUPPORTED', 'texts', what, `${longest}`, remedy)
}

function checkedOptions(options: TokenizeOptions, facts: ModelShape) {
  const {maxTokens = facts.maxTokens, batchSize = BATCH_SIZE, least = 1, limitMs} = options
  for (const [name, value] of Object.entries({maxTokens, batchSize, least})) {
    if (Number.isInteger(value) && value > 0) continue
    throw expected('BAD_OPTION', name, 'a positive integer', describe(value))
  }
  return {maxTokens: Math.min(maxTokens, facts.maxTokens), batchSize, least, limitMs}
}

interface Limits {
  file: string
  maxTokens: number
  facts: ModelShape
}

/** Tokens of a text, special ones at both ends kept where it is cut. */
function cut({ids, plain}: Ids, limits: Limits): number[] {
  const all = checkedIds(ids, limits)
  if (plain === undefined) return all
  const own = checkedIds(plain, limits)
  const {maxTokens} = limits
  const special = all.length - own.length
  const room = maxTokens - special
  if (room <= 0) {
    const what = `more than the ${special} special tokens`
    throw expected('BAD_OPTION', 'maxTokens', what, String(maxTokens))
  }
  let first = 0
  while (first < special && !own.every((id, at) => all[first + at] === id)) first++
  return [...all.slice(0, first), ...own.slice(0, room), ...all.slice(first + own.length)]
}

/** Ids that the model has embeddings of. */
function checkedIds(ids: readonly unknown[], {file, facts}: Limits): number[] {
  return ids.map(id => {
    if (typeof id !== 'number' || !Number.isInteger(id) || id < 0) {
      const remedy = 'give it an `unk_token`, or leave texts with such letters out'
      throw expected('BAD_FILE', file, 'an id for every token', describe(id), remedy)
    }
    if (id >= facts.vocabulary) throw otherVocabulary(file, id, facts)
    return id
  })
}

function toBatches(
  rows: readonly number[][],
  batchSize: number,
): Pick<TokenizedTexts, 'batches' | 'order'> {
  const sorted = rows.map((_, index) => index).sort((a, b) => rows[a]!.length - rows[b]!.length)
  const order: number[][] = []
  let open: number[] = []
  for (const index of sorted) {
    // the longest one so far: all are padded to it
    const tokens = (open.length + 1) * rows[index]!.length
    if (open.length === 0 || open.length === batchSize || tokens > BATCH_TOKENS) {
      open = []
      order.push(open)
    }
    open.push(index)
  }
  return {batches: order.map(texts => padded(texts.map(text => rows[text]!))), order}
}

/** Which token pads makes no difference: no other token sees it. */
function padded(rows: readonly number[][]): TokenBatch {
  const lengths = rows.map(ids => ids.length)
  const length = Math.max(...lengths)
  const ids = new Int32Array(rows.length * length)
  rows.forEach((row, at) => {
    ids.set(row, at * length)
  })
  return {ids, batch: rows.length, length, lengths}
}
