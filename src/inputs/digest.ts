import {createHash} from 'node:crypto'
import {createReadStream} from 'node:fs'
import {expected} from '../errors.js'
import type {InputSpec} from '../results/schemas/common.js'

/**
 * Pins the files of an input to their present content, so that a run is never resumed, nor a record
 * mistaken for current, after the data changed. A generator needs no pin: its seed is in the plan.
 *
 * @returns the same input with `digest`, the SHA-256 of all files' bytes in order, in hex
 * @throws {FILE_MISSING} when a file is not there or cannot be read
 */
export async function pinInput(spec: InputSpec): Promise<InputSpec> {
  if (spec.kind !== 'file') return spec
  const hash = createHash('sha256')
  for (const path of spec.paths) {
    try {
      for await (const chunk of createReadStream(path)) hash.update(chunk)
    } catch (cause) {
      const {code} = cause as NodeJS.ErrnoException
      const got = code === 'ENOENT' ? 'none' : `one that cannot be read (${code})`
      throw expected('FILE_MISSING', path, 'a file', got, 'check the path')
    }
  }
  return {...spec, digest: hash.digest('hex')}
}
