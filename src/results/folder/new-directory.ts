import {mkdir} from 'node:fs/promises'
import {dirname, join} from 'node:path'
import {errorCode, notWritable} from '../../files.js'
import {makeFolder} from '../files.js'

/**
 * Where a run goes when nothing else is said: `results/<experiment>-YYYYMMDD-HHMMSS`.
 *
 * @param date - shown in local time
 */
export function defaultRunDirectory(experiment: string, date: Date): string {
  const two = (value: number) => String(value).padStart(2, '0')
  const day = `${date.getFullYear()}${two(date.getMonth() + 1)}${two(date.getDate())}`
  const time = `${two(date.getHours())}${two(date.getMinutes())}${two(date.getSeconds())}`
  return join('results', `${experiment}-${day}-${time}`)
}

/**
 * Makes a new folder: of that name, or with `-2`, `-3` and so on where runs begin in the same second.
 *
 * @returns its path; it is empty
 * @throws {NOT_WRITABLE} when it cannot be made
 */
export async function makeNewDirectory(name: string): Promise<string> {
  await makeFolder(dirname(name))
  for (let count = 1; ; count++) {
    const path = count === 1 ? name : `${name}-${count}`
    try {
      await mkdir(path)
      return path
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw notWritable(path, error)
    }
  }
}
