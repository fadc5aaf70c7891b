import type {HostLoops} from '../host-loops.js'

/** Whether a backend can run here. */
export interface Availability {
  available: boolean
  /** What it is, with versions: one short line. */
  detail: string
  /** Why it is not available. */
  reason?: string
  /** What to do about it. */
  remedy?: string
  /** Switched off or never built: a common way to live, not worth a word. */
  absent?: boolean
}

export interface BackendReport extends Availability {
  name: string
}

/** How many threads to compute with; a backend's own choice where nothing is said. */
export interface ThreadOptions {
  threads?: number | undefined
  /** What to take where no number is asked for; backends of one thread take that. Default: their own choice. */
  threadShare?: number | undefined
}

/** One TensorFlow.js backend. */
export interface Backend {
  /** Threads it can be set to use: any number, or one. */
  threading: 'any' | 'one'
  /** The threads of its first use in a process hold for all others. */
  keepsThreads?: boolean
  /**
   * An entry has the same bits wherever it stands in a tensor, whatever the others are, and for any number of threads.
   */
  sameBits: boolean
  /** Loads what is needed and runs one tiny operation; never throws. */
  probe(options?: ThreadOptions): Promise<Availability>
  /** Makes it the current backend; called after a successful probe. */
  activate(options?: ThreadOptions): Promise<void>
  /** Binds each of several threads to one processor from now on, where the system can do that. */
  bindThreads?(): void
  /** Loops over plain arrays that it has faster than the common ones; called after {@link activate}. */
  hostLoops?(): Partial<HostLoops>
  /** Facts that records name; called after {@link activate}. */
  facts(): {threads: number; instructionSet: string | null}
  /** The detail of an available backend with what takes a moment to find out, for `rfa doctor`. */
  describe?(): string
}
