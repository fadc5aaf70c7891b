/** Ctrl-C as a value: the running grid stops between two writes, and the command says how to go on. */
export interface Interruption {
  /** Aborted by the first SIGINT or SIGTERM. */
  signal: AbortSignal
  /** Gives the signals back to the process. */
  dispose(): void
}

/** What of `process` is needed, so that tests can send signals of their own. */
export interface SignalSource {
  on(event: 'SIGINT' | 'SIGTERM', listener: () => void): unknown
  off(event: 'SIGINT' | 'SIGTERM', listener: () => void): unknown
  exit(code: number): void
}

/**
 * Listens for SIGINT and SIGTERM. The first one aborts; the second one leaves at once, for a user
 * who does not want to wait.
 */
export function listenForInterrupt(source: SignalSource = process): Interruption {
  const controller = new AbortController()
  const onSignal = () => {
    if (controller.signal.aborted) source.exit(130)
    controller.abort()
  }
  source.on('SIGINT', onSignal)
  source.on('SIGTERM', onSignal)
  return {
    signal: controller.signal,
    dispose() {
      source.off('SIGINT', onSignal)
      source.off('SIGTERM', onSignal)
    },
  }
}
