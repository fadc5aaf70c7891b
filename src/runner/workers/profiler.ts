/** Where a worker spends its time: V8's own profiler, from inside the process. */
import type {Session} from 'node:inspector/promises'
import {loadAddon} from '../../backends/native/loader.js'
import {writeAtomic} from '../../files.js'

let session: Session | undefined

/** Begins to sample the stack of this thread, once a millisecond; what runs on other threads is not seen. */
export async function startProfile(): Promise<void> {
  const inspector = await import('node:inspector/promises')
  session = new inspector.Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.start')
}

/**
 * Ends it and writes what was sampled since, in the format of Chrome's CPU profiles.
 *
 * @param path - the file; its folder exists
 * @throws {NOT_WRITABLE} when it cannot be written
 */
export async function saveProfile(path: string): Promise<void> {
  if (!session) throw new Error('a profile that was not begun cannot be saved')
  const {profile} = await session.post('Profiler.stop')
  session.disconnect()
  session = undefined
  const names = addonNames()
  for (const {callFrame} of profile.nodes) {
    // all functions of an addon have one address, and V8 calls it by the name of any of them
    if (callFrame.url === '' && names.has(callFrame.functionName)) callFrame.functionName = ADDON
  }
  await writeAtomic(path, JSON.stringify(profile))
}

/** What calls of the addon are called; the frame above says which call it is. */
const ADDON = '(native addon)'

/** Functions of the addon, and methods of its classes. */
function addonNames(): Set<string> {
  const result = loadAddon()
  if (!('addon' in result)) return new Set()
  const methods = Object.values(result.addon).flatMap(member =>
    typeof member === 'function' && member.prototype
      ? Object.getOwnPropertyNames(member.prototype)
      : [],
  )
  return new Set([...Object.keys(result.addon), ...methods])
}
