/** Files of JSON in the folder of a model, which anybody may have written. */
import {describe, expected, messageOf, RfaError} from '../errors.js'
import {duplicateKey} from '../inputs/files/safetensors-header.js'
import {readWhole} from '../inputs/files/source.js'

/** Bytes of such a file: the largest tokenizers have half of them. */
const MOST_BYTES = 2 ** 26

/**
 * Reads a file that holds a JSON object. Numbers that Python writes and JSON lacks are read, too: `Infinity` as a number that is
 * not finite, `NaN` as a text, so that a field of a number refuses it.
 *
 * @param remedy - what to try where there is no such file
 * @throws {FILE_MISSING} when there is none
 * @throws {BAD_FILE} when it is not a regular file, too large, not of UTF-8 or JSON, has a key twice, or holds something else
 */
export async function readJson(file: string, remedy: string): Promise<object> {
  const value = await readAnyJson(file, remedy)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw expected('BAD_FILE', file, 'a JSON object', describe(value))
}

/** {@link readJson} of any value. */
export async function readAnyJson(file: string, remedy: string): Promise<unknown> {
  const {json, value} = parsed(file, await textOf(file, remedy))
  const twice = duplicateKey(json)
  if (twice === undefined) return value
  const again = 'take one of them out: which one counts is not said'
  throw expected('BAD_FILE', file, `the key ${describe(twice)} once`, 'it twice', again)
}

/** {@link readJson}; `{}` where there is no such file. */
export async function readOptionalJson(file: string): Promise<object> {
  try {
    return await readJson(file, '')
  } catch (error) {
    if (error instanceof RfaError && error.code === 'FILE_MISSING') return {}
    throw error
  }
}

async function textOf(file: string, remedy: string): Promise<string> {
  try {
    return new TextDecoder('utf-8', {fatal: true}).decode(await readWhole(file, MOST_BYTES))
  } catch (cause) {
    if (!(cause instanceof RfaError)) {
      throw expected('BAD_FILE', file, 'JSON in UTF-8', 'other bytes')
    }
    if (cause.code !== 'FILE_MISSING') throw cause
    const message = `${file}: expected a file, got none`
    throw new RfaError('FILE_MISSING', message, {suggestions: [remedy], cause})
  }
}

/** A text that the parser takes, and what it says. */
function parsed(file: string, text: string): {json: string; value: unknown} {
  try {
    return {json: text, value: JSON.parse(text)}
  } catch (cause) {
    const json = pythonNumbers(text)
    if (json !== text) return parsed(file, json)
    const found = `other text (${messageOf(cause).replace(/^Expected /, 'no ')})`
    throw expected('BAD_FILE', file, 'JSON', found, 'copy or write it again')
  }
}

/** The same with numbers of Python outside of quotes in a form that the parser takes. */
function pythonNumbers(text: string): string {
  const parts: string[] = []
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at)
    const open = quote < 0 ? text.length : quote
    let end = open + 1
    while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1
    const between = text.slice(at, open)
    parts.push(between.replace(/\bNaN\b/g, '"NaN"').replace(/\bInfinity\b/g, '1e999'))
    parts.push(text.slice(open, end + 1))
    at = end + 1
  }
  return parts.join('')
}
