import {readFile} from 'node:fs/promises'
import {describe, expected, messageOf, RfaError} from '../errors.js'
import {errorCode} from '../files.js'

/**
 * Reads a file that holds a JSON object.
 *
 * @param remedy - what to try where there is no such file
 * @throws {FILE_MISSING} when there is none
 * @throws {BAD_FILE} when it cannot be read, or holds something else
 */
export async function readJson(file: string, remedy: string): Promise<object> {
  let value: unknown
  try {
    value = JSON.parse(await readFile(file, 'utf8'))
  } catch (cause) {
    const missing = ['ENOENT', 'ENOTDIR'].includes(errorCode(cause) ?? '')
    const message = missing
      ? `${file}: expected a file, got none`
      : `${file}: expected JSON, got ${messageOf(cause)}`
    const suggestions = missing ? [remedy] : []
    throw new RfaError(missing ? 'FILE_MISSING' : 'BAD_FILE', message, {suggestions, cause})
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw expected('BAD_FILE', file, 'a JSON object', describe(value))
}
