/** What the files of a recorded plug-in hold now: read, never imported. */
import {createHash} from 'node:crypto'
import {readFile, stat} from 'node:fs/promises'
import {dirname, relative, resolve, sep} from 'node:path'
import {expected, type RfaError} from '../errors.js'
import {type PluginRecord, pluginDigest} from './record.js'

/** In place of the digest of a file that is not there, or that cannot be read. */
const GONE = 'nothing'

export async function sha256Of(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex')
}

/** A recorded plug-in with what its files hold now. @param file - that it is, without symbolic links */
export async function recordNow(file: string, wanted: PluginRecord): Promise<PluginRecord> {
  const sha256 = await digestOf(file)
  // other paths of a record count only where the module is the one that was recorded
  if (sha256 !== wanted.sha256) return {...wanted, path: file, sha256, imports: []}
  const imports = wanted.imports.map(async ({path}) => ({
    path,
    sha256: await digestOf(resolve(dirname(file), path)),
  }))
  return {...wanted, path: file, imports: await Promise.all(imports)}
}

async function digestOf(file: string): Promise<string> {
  try {
    return (await stat(file)).isFile() ? await sha256Of(file) : GONE
  } catch {
    return GONE
  }
}

/** The path of a file of a plug-in in its record. @param file - the module @param other - the file */
export function pathInRecord(file: string, other: string): string {
  return relative(dirname(file), other).split(sep).join('/')
}

/** What each file of a plug-in must hold, by its path. */
export function pinsOf(file: string, {sha256, imports}: PluginRecord): Record<string, string> {
  const others = imports.map(({path, sha256}) => [resolve(dirname(file), path), sha256])
  return Object.fromEntries([...others, [file, sha256]])
}

/** The file of a plug-in that is another one now, by its path in the record; `undefined`: all are the same. */
export function changedFile(wanted: PluginRecord, now: PluginRecord): string | undefined {
  if (now.sha256 !== wanted.sha256) return wanted.path
  return wanted.imports.find(({sha256}, at) => now.imports[at]?.sha256 !== sha256)?.path
}

/** Error of a plug-in that is not the recorded one any more. @param changed - the file that differs */
export function notRecorded(wanted: PluginRecord, changed: string, now?: PluginRecord): RfaError {
  const got = now ? ` of SHA-256 ${short(pluginDigest(now))}` : ''
  const what = `a plug-in that stays as it was when the plan was made, SHA-256 ${short(pluginDigest(wanted))}`
  const found = `one${got} with another ${changed}`
  const remedy = 'put back the files that the plan was made with'
  const other = 'make the plan anew, or start a new run'
  return expected('FILE_CHANGED', wanted.path, what, found, remedy, other)
}

function short(digest: string): string {
  return digest.slice(0, 12)
}
