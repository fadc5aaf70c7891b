import {RfaError} from '../errors.js'

/**
 * Waits for what comes before the first cell, but not beyond an interrupt: it may hang, as a folder on
 * a lost file server does.
 *
 * @param late - called with a result that comes after the interruption
 * @throws {INTERRUPTED} when the signal came first
 */
export async function unlessInterrupted<Value>(
  signal: AbortSignal | undefined,
  awaited: Promise<Value>,
  late: (value: Value) => unknown,
): Promise<Value> {
  if (!signal) return awaited
  let stop = () => {}
  const interrupted = new Promise<never>((_, reject) => {
    stop = () => reject(new RfaError('INTERRUPTED', 'interrupted before any cell was run'))
  })
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  try {
    return await Promise.race([interrupted, awaited])
  } catch (error) {
    if (signal.aborted) void awaited.then(late, () => {})
    throw error
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
