/** Numbers of the tokens of `tokenizer.json`, looked at before a tokenizer is made of them. */
import {describe, expected, type RfaError} from '../errors.js'
import type {ModelShape} from './types.js'

const REMEDY =
  'write the tokenizer of this model into the folder: `tokenizer.save_pretrained(FOLDER)` of Transformers'

/**
 * Holds ids against the rows of the table of embeddings. Added tokens, which texts need not have, may go beyond it by their number.
 *
 * @param json - the content of the file
 * @throws {BAD_FILE} for ids that are not whole numbers from 0, that several tokens share, or that the model does not have
 */
export function checkVocabulary(file: string, json: object, facts: ModelShape): void {
  const tokens = new Map<number, string>()
  const ids = new Map<string, number>()
  const note = (token: string, id: unknown, end: number) => {
    const place = `${file}, token ${describe(token)}`
    if (typeof id !== 'number' || !Number.isInteger(id) || id < 0) {
      throw expected('BAD_FILE', place, 'an id that is a whole number from 0', describe(id), REMEDY)
    }
    if (id >= end) throw otherVocabulary(file, id, facts)
    const [other, own] = [tokens.get(id) ?? token, ids.get(token) ?? id]
    if (other !== token) {
      const got = `${id}, as ${describe(other)} has`
      throw expected('BAD_FILE', place, 'an id that no other token has', got, REMEDY)
    }
    if (own !== id) throw expected('BAD_FILE', place, 'one id', `${own} and ${id}`, REMEDY)
    tokens.set(id, token)
    ids.set(token, id)
  }
  for (const [token, id] of vocabularyOf(json)) note(token, id, facts.vocabulary)
  const added = addedOf(json)
  const end = Math.max(facts.vocabulary, ids.size) + added.length
  for (const [token, id] of added) note(token, id, end)
}

/** @param id - one that the model has no embedding of */
export function otherVocabulary(file: string, id: number, {vocabulary}: ModelShape): RfaError {
  const got = `one with token ${id}: it belongs to another model`
  const what = `a tokenizer for a vocabulary of ${vocabulary} tokens, 0 to ${vocabulary - 1}`
  return expected('BAD_FILE', file, what, got, REMEDY)
}

/** Tokens of the model of a tokenizer; those of a list have their places as ids. */
function vocabularyOf(json: object): [string, unknown][] {
  const vocab = field(field(json, 'model'), 'vocab')
  if (Array.isArray(vocab)) {
    return vocab.map((item, id) => [String(Array.isArray(item) ? item[0] : item), id])
  }
  return typeof vocab === 'object' && vocab !== null ? Object.entries(vocab) : []
}

function addedOf(json: object): [string, unknown][] {
  const added = field(json, 'added_tokens')
  if (!Array.isArray(added)) return []
  return added.map(item => [String(field(item, 'content')), field(item, 'id')])
}

function field(value: unknown, name: string): unknown {
  const known: Readonly<Record<string, unknown>> = Object(value)
  return Object.hasOwn(known, name) ? known[name] : undefined
}
