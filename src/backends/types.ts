/** Whether a backend can run here. */
export interface Availability {
  available: boolean
  /** What it is, with versions: one short line. */
  detail: string
  /** Why it is not available. */
  reason?: string
  /** What to do about it. */
  remedy?: string
}

/** One line of `rfa doctor`. */
export interface BackendReport extends Availability {
  name: string
}

/** One TensorFlow.js backend. */
export interface Backend {
  /** Loads what is needed and runs one tiny operation; never throws. */
  probe(): Promise<Availability>
  /** Makes it the current backend; called after a successful probe. */
  activate(): Promise<void>
  /** Facts that records name; called after {@link activate}. */
  facts(): {threads: number; instructionSet: string | null}
}
