import {exitCodeOf} from './exit-codes.js'

/** What of `process` is needed, so that tests can be it. */
export interface IdleSource {
  on(event: 'beforeExit', listener: () => void): unknown
  off(event: 'beforeExit', listener: () => void): unknown
}

/**
 * Detects a command that awaits something that can no longer happen: Node would end it as if all were well.
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

/** What of `process` is needed for {@link watchForExit}. */
export interface ExitSource {
  on(event: 'exit', listener: (code: number) => void): unknown
  off(event: 'exit', listener: (code: number) => void): unknown
}

/**
 * Watches for an end of the process in the midst of a command, as a plug-in may bring it.
 *
 * @param tell - called at that end, except when an impatient user ends it
 * @returns ends the watch
 */
export function watchForExit(tell: () => void, source: ExitSource = process): () => void {
  const leave = (code: number) => {
    if (code !== exitCodeOf('INTERRUPTED')) tell()
  }
  source.on('exit', leave)
  return () => source.off('exit', leave)
}
