import {fileURLToPath} from 'node:url'
import {expected, RfaError} from '../errors.js'

/** Longest time that a module may take, in ms: it may fetch something. */
const LIMIT_MS = 60_000

/** URLs of modules with an import that has begun. */
const begun: string[] = []

/**
 * Why the process ends in the midst of a command: modules of others may call `process.exit`, or throw in a timer.
 *
 * @returns the error; `undefined` where there are none
 */
export function exitOfPlugins(): RfaError | undefined {
  if (begun.length === 0) return undefined
  const paths = begun.map(url => fileURLToPath(url)).join(', ')
  const got = `an exit with code ${process.exitCode ?? 0} during the command`
  return expected('PLUGIN_FAILED', paths, 'a plug-in that does not end the process', got, REMEDY)
}

const REMEDY = 'look for process.exit, and for what it throws in timers'

/**
 * Imports a module, which may wait at its top level, but not for ever.
 *
 * @param url - of its file
 * @param limitMs - longest time. Default: a minute
 * @throws {PLUGIN_FAILED} where it takes longer, and where it waits for what nothing is left to bring
 */
export async function importModule(
  url: string,
  limitMs = LIMIT_MS,
): Promise<Record<string, unknown>> {
  begun.push(url)
  let stop = () => {}
  const endless = new Promise<never>((_, reject) => {
    const late = () => reject(hangs(`one that still waits after ${limitMs / 1000} s`))
    const idle = () => reject(hangs('one that waits for something that never comes'))
    // neither keeps the process alive, so that `idle` comes at once
    const timer = setTimeout(late, limitMs).unref()
    process.once('beforeExit', idle)
    stop = () => {
      clearTimeout(timer)
      process.off('beforeExit', idle)
    }
  })
  try {
    return await Promise.race([import(url), endless])
  } finally {
    stop()
  }
}

function hangs(got: string): RfaError {
  const remedy = 'check its top-level await, and those of its imports'
  return new RfaError('PLUGIN_FAILED', `expected a module that can be loaded, got ${got}`, {
    suggestions: [remedy],
  })
}
