/** Opens a file in the program that its user has chosen for such files. */
import {spawn} from 'node:child_process'

/** Program and arguments before the file; a shell takes no part, so that any name of a file is one argument. */
const OPENERS: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}
const ELSEWHERE = ['xdg-open'] as const

/**
 * Hands a file to the opener of the platform and does not wait for what it starts.
 *
 * @param path - absolute: a name that begins with a dash would be taken for an option
 * @returns whether there is an opener
 */
export function showFile(path: string, platform = process.platform): Promise<boolean> {
  const [program, ...args] = OPENERS[platform] ?? ELSEWHERE
  return new Promise(resolve => {
    const opener = spawn(program, [...args, path], {stdio: 'ignore', detached: true})
    opener.once('error', () => resolve(false))
    opener.once('spawn', () => {
      opener.unref()
      resolve(true)
    })
  })
}
