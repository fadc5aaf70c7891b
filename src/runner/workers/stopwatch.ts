/** Adds up the time that something takes, without the time in which it waits for its turn. */
export class Stopwatch {
  readonly #now: () => number
  #sum = 0
  #since: number | undefined

  /** Starts at once. @param now - clock in ms, any origin */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#since = now()
  }

  get running(): boolean {
    return this.#since !== undefined
  }

  /** So far, in ms. */
  get ms(): number {
    return this.#sum + (this.#since === undefined ? 0 : this.#now() - this.#since)
  }

  stop(): void {
    this.#sum = this.ms
    this.#since = undefined
  }

  start(): void {
    this.#since ??= this.#now()
  }
}

/** Longest delay of a Node timer, in ms; longer ones would fire at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1

/** A limit on the time that something takes; it stands still while that waits for its turn. */
export class TimeLimit {
  readonly #watch = new Stopwatch()
  readonly #limitMs: number | null
  readonly #act: () => void
  #timer: NodeJS.Timeout | undefined

  /**
   * @param limitMs - from now on; `null`: none
   * @param act - called once when the time is up
   */
  constructor(limitMs: number | null, act: () => void) {
    this.#limitMs = limitMs
    this.#act = act
    this.#arm()
  }

  pause(): void {
    this.#watch.stop()
    this.end()
  }

  resume(): void {
    this.#watch.start()
    this.#arm()
  }

  /** It does not act any more. */
  end(): void {
    clearTimeout(this.#timer)
  }

  #arm(): void {
    if (this.#limitMs === null) return
    const left = Math.max(0, this.#limitMs - this.#watch.ms)
    this.#timer = setTimeout(this.#act, Math.min(left, LONGEST_DELAY_MS))
  }
}
