/** What is timed against others: one form of one engine, ready for a case. */
import type {Departures} from './reference-weights.js'

export interface Engine {
  /** `rfa` or the name of a peer. */
  engine: string
  /** Which of its forms. */
  form: string
  departs: Departures
  /** `[H, L, D]` of the first run. */
  output: Float32Array
  /** Nanoseconds of at most `samples` runs, none begun after `seconds`; one before them does not count. */
  time(samples: number, seconds: number): Promise<number[]>
  dispose(): void
}
