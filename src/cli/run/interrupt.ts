/** Ctrl-C as a value: the running grid stops between two writes, and the command says how to go on. */
export interface Interruption {
  /** Aborted by the first of the {@link SIGNALS}. */
  signal: AbortSignal
  /** Gives the signals back to the process. */
  dispose(): void
}

/** Ctrl-C, the end that schedulers announce, and a terminal or ssh that was closed. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
type Signal = (typeof SIGNALS)[number]

/** The part of `process` that is needed, so that tests can send signals. */
export interface SignalSource {
  on(event: Signal, listener: () => void): unknown
  off(event: Signal, listener: () => void): unknown
  exit(code: number): void
}

/**
 * Listens for the {@link SIGNALS}. The first one aborts; a SIGINT or SIGTERM after it leaves at once,
 * for a user who does not want to wait. A closed terminal is different: SIGHUP may come twice, from the shell and
 * from the kernel.
 */
export function listenForInterrupt(source: SignalSource = process): Interruption {
  const controller = new AbortController()
  const stop = () => {
    controller.abort()
  }
  const stopOrLeave = () => {
    if (controller.signal.aborted) source.exit(130)
    stop()
  }
  const listeners = SIGNALS.map(
    signal => [signal, signal === 'SIGHUP' ? stop : stopOrLeave] as const,
  )
  for (const [signal, listener] of listeners) source.on(signal, listener)
  return {
    signal: controller.signal,
    dispose() {
      for (const [signal, listener] of listeners) source.off(signal, listener)
    },
  }
}
