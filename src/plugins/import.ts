import {RfaError} from '../errors.js'

/** Longest time that a module may take, in ms: it may fetch something. */
const LIMIT_MS = 60_000

/**
 * Imports a module, which may wait at its top level, but not for ever.
 *
 * @param url - of its file
 * @param limitMs - longest time. Default: a minute
 * @throws {PLUGIN_FAILED} where it takes longer, and where it waits for what nothing is left to bring
 * @throws what the module throws
 */
export async function importModule(
  url: string,
  limitMs = LIMIT_MS,
): Promise<Record<string, unknown>> {
  let stop = () => {}
  const endless = new Promise<never>((_, reject) => {
    const late = () => reject(hangs(`one that still waits after ${limitMs / 1000} s`))
    const idle = () => reject(hangs('one that waits for what never comes'))
    // neither keeps the process alive, so that `idle` is told at once
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
  const remedy = 'look at its top-level await, and at those of what it imports'
  return new RfaError('PLUGIN_FAILED', `expected a module that can be loaded, got ${got}`, {
    suggestions: [remedy],
  })
}
