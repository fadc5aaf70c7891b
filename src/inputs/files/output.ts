import {stat} from 'node:fs/promises'
import {expected} from '../../errors.js'

/** What a file may replace. */
export interface OutputRules {
  /** Files that are read: none of them may be replaced, whatever `force` says. */
  inputs: readonly string[]
  /** Replace any other file. */
  force: boolean
}

/**
 * Refuses to write over something, before anything is computed.
 *
 * @param path - what is to be written
 * @throws {WOULD_OVERWRITE} when it is one of the inputs, by whatever name, or exists and is not forced
 */
export async function checkOutput(path: string, {inputs, force}: OutputRules): Promise<void> {
  const present = await identityOf(path)
  if (present === undefined) return
  const another = 'name another file with `output`'
  for (const input of inputs) {
    if ((await identityOf(input)) !== present) continue
    const what = 'another file than the input'
    throw expected('WOULD_OVERWRITE', '`output`', what, path, another)
  }
  if (force) return
  const got = `${path}, which exists`
  const replace = 'add `force` to replace it'
  throw expected('WOULD_OVERWRITE', '`output`', 'a new file', got, another, replace)
}

/** The same for all names of a file, links included; `undefined` where there is none. */
async function identityOf(path: string): Promise<string | undefined> {
  const found = await stat(path, {bigint: true}).catch(() => undefined)
  return found && `${found.dev}:${found.ino}`
}
