/** Texts as tokens, by `tokenizer.json` of a folder. */
import {join} from 'node:path'
import {describe, expected, messageOf, RfaError} from '../errors.js'
import {readJson} from './json.js'
import type {ModelFacts, TokenBatch, TokenizedTexts, TokenizeOptions} from './types.js'

/** Texts of a batch where nothing else is said. */
const BATCH_SIZE = 32

/** Tokens of a batch at most, with padding: three blocks of rows of a product, and what a layer makes of them stays near the caches. */
const BATCH_TOKENS = 1152

/** What is used of a tokenizer of the package, whose types cannot be read by ECMAScript modules. */
interface Tokenizer {
  encode(text: string, options?: {add_special_tokens: boolean}): {ids: number[]}
  get_vocab(withAddedTokens: boolean): Map<string, number>
}

/** See `Model.tokenize`. */
export type Tokenize = (texts: readonly string[], options?: TokenizeOptions) => TokenizedTexts

/**
 * Reads `tokenizer.json`, and `tokenizer_config.json` where it is there.
 *
 * @param folder - as the user wrote it
 * @throws {FILE_MISSING | BAD_FILE} when `tokenizer.json` is not there, or is not a tokenizer
 * @throws {UNSUPPORTED} for a tokenizer with parts that are not known here
 * @throws {BAD_FILE} when its vocabulary is larger than that of the model
 */
export async function openTokenizer(folder: string, facts: ModelFacts): Promise<Tokenize> {
  const file = join(folder, 'tokenizer.json')
  const tokenizer = await loadTokenizer(folder, file)
  let last = 0
  for (const id of tokenizer.get_vocab(false).values()) last = Math.max(last, id)
  if (last >= facts.vocabulary) throw otherVocabulary(file, last, facts)
  return (texts, options = {}) => {
    const {maxTokens, batchSize} = checkedOptions(options, facts)
    const rows = texts.map((text, index) => {
      const ids = encoded(tokenizer, text, maxTokens)
      if (ids.length === 0) {
        const where = `text ${index + 1}`
        throw expected('BAD_FILE', where, 'at least one token', `none of ${describe(text)}`)
      }
      const beyond = ids.find(id => id >= facts.vocabulary)
      if (beyond !== undefined) throw otherVocabulary(file, beyond, facts)
      return ids
    })
    return toBatches(rows, batchSize)
  }
}

async function loadTokenizer(folder: string, file: string): Promise<Tokenizer> {
  const remedy = 'write it with `tokenizer.save_pretrained(FOLDER)` of Transformers'
  const json = await readJson(file, remedy)
  const config = await readOptional(join(folder, 'tokenizer_config.json'))
  if (!('model' in json))
    throw expected('BAD_FILE', file, 'a tokenizer', 'one without a model', remedy)
  const {Tokenizer} = await import('@huggingface/tokenizers')
  try {
    return new Tokenizer(json, config)
  } catch (cause) {
    const message = `${file}: expected a tokenizer that can be run here, got one that cannot: ${messageOf(cause)}`
    throw new RfaError('UNSUPPORTED', message, {suggestions: ['use another model'], cause})
  }
}

async function readOptional(file: string): Promise<object> {
  try {
    return await readJson(file, '')
  } catch (error) {
    if (error instanceof RfaError && error.code === 'FILE_MISSING') return {}
    throw error
  }
}

function otherVocabulary(file: string, id: number, {vocabulary}: ModelFacts): RfaError {
  const got = `one with token ${id}: it belongs to another model`
  const remedy = 'copy the whole folder again'
  const what = `a tokenizer for a vocabulary of ${vocabulary} tokens, 0 to ${vocabulary - 1}`
  return expected('BAD_FILE', file, what, got, remedy)
}

function checkedOptions(options: TokenizeOptions, facts: ModelFacts) {
  const {maxTokens = facts.maxTokens, batchSize = BATCH_SIZE} = options
  for (const [name, value] of Object.entries({maxTokens, batchSize})) {
    if (Number.isInteger(value) && value > 0) continue
    throw expected('BAD_OPTION', name, 'a positive integer', describe(value))
  }
  return {maxTokens: Math.min(maxTokens, facts.maxTokens), batchSize}
}

/** Tokens of a text, special ones at both ends kept where it is cut. */
function encoded(tokenizer: Tokenizer, text: string, maxTokens: number): number[] {
  const {ids} = tokenizer.encode(text)
  if (ids.length <= maxTokens) return ids
  const plain = tokenizer.encode(text, {add_special_tokens: false}).ids
  const special = ids.length - plain.length
  const room = maxTokens - special
  if (room <= 0) {
    throw expected(
      'BAD_OPTION',
      'maxTokens',
      `more than the ${special} special tokens`,
      String(maxTokens),
    )
  }
  let first = 0
  while (first < special && !plain.every((id, at) => ids[first + at] === id)) first++
  return [...ids.slice(0, first), ...plain.slice(0, room), ...ids.slice(first + plain.length)]
}

function toBatches(rows: readonly number[][], batchSize: number): TokenizedTexts {
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
