/** What of `process` is needed, so that tests can be it. */
export interface IdleSource {
  on(event: 'beforeExit', listener: () => void): unknown
  off(event: 'beforeExit', listener: () => void): unknown
}

/**
 * Watches for a command that waits for what nothing is left to bring: Node would end it as if all were well.
 *
 * @param tell - called once, when that is certain
 * @returns ends the watch
 */
export function watchForNoEnd(tell: () => void, source: IdleSource = process): () => void {
  let turns = 0
  const idle = () => {
    turns++
    // others may wait for this very moment, and the command goes on
    if (turns === 1) setImmediate(() => {})
    if (turns === 2) tell()
  }
  source.on('beforeExit', idle)
  return () => source.off('beforeExit', idle)
}
