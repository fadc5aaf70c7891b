import {stat} from 'node:fs/promises'
import {expected} from '../../errors.js'

interface OutputRules {
  /** Files that are read: none of them may be replaced, whatever `force` says. */
  inputs: readonly string[]
  /** Replace any other file. */
  force: boolean
}

/**
 * Refuses to write over something, before anything is computed.
 *
 * @param path - what is to be written
 * @throws {WOULD_OVERWRITE} when it is one of the inputs, by whatever name, or exists and is not forced, or is a
 *   directory
 */
export async function checkOutput(path: string, {inputs, force}: OutputRules): Promise<void> {
  const present = await identityOf(path)
  if (present === undefined) return
  if (present.isFolder) {
    const hint = 'name a file in it'
    throw expected('WOULD_OVERWRITE', '`output`', 'a file', `${path}, a directory`, hint)
  }
  const another = 'name another file with `output`'
  for (const input of inputs) {
    if ((await identityOf(input))?.id !== present.id) continue
    const what = 'another file than the input'
    throw expected('WOULD_OVERWRITE', '`output`', what, path, another)
  }
  if (force) return
  const got = `${path}, which exists`
  const replace = 'add `force` to replace it'
  throw expected('WOULD_OVERWRITE', '`output`', 'a new file', got, another, replace)
}

/** What stands at a path, the same for all its names, links included; `undefined` where there is nothing. */
async function identityOf(path: string): Promise<{id: string; isFolder: boolean} | undefined> {
  const found = await stat(path, {bigint: true}).catch(() => undefined)
  return found && {id: `${found.dev}:${found.ino}`, isFolder: found.isDirectory()}
}
