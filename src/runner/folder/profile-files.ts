/** The profiles of a run: `profile/worker-1.cpuprofile` and so on in its folder. */
import {readdir} from 'node:fs/promises'
import {join} from 'node:path'
import {notWritable} from '../../files.js'
import {makeFolder} from '../../results/files.js'

/** The folder's name inside that of the run. */
export const PROFILE_FOLDER = 'profile'

/**
 * Makes the folder.
 *
 * @returns names one file after the other; they follow those of earlier sessions of the run, which stay
 * @throws {NOT_WRITABLE} when it cannot be made
 */
export async function profileFiles(directory: string): Promise<() => string> {
  const folder = join(directory, PROFILE_FOLDER)
  await makeFolder(folder)
  const names = await readdir(folder).catch(error => {
    throw notWritable(folder, error)
  })
  const numbers = names.map(name => Number(/^worker-(\d+)\.cpuprofile$/.exec(name)?.[1] ?? 0))
  let last = Math.max(0, ...numbers)
  return () => join(folder, `worker-${++last}.cpuprofile`)
}
