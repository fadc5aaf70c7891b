/** Processes as the system lists them. */
import {existsSync, readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'

/** Processes that have this text in their environment, where the system tells. */
export function processesWith(mark: string): string[] {
  if (!existsSync('/proc/self/environ')) return []
  return readdirSync('/proc').filter(pid => {
    if (!/^\d+$/.test(pid)) return false
    try {
      return readFileSync(join('/proc', pid, 'environ'), 'utf8').includes(mark)
    } catch {
      return false // another user's, or gone
    }
  })
}
