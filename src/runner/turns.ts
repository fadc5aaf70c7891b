/** Turns of those that compute one at a time: who asks gets the next one after all who asked before. */
export class Turns {
  /** Those that wait, the first of them next. */
  readonly #line: {place: Place; begin: () => void}[] = []
  #holder: Place | undefined
  #closed = false

  /** A place in the line; it is nobody's turn until it is taken. */
  place(): Place {
    return new Place(this)
  }

  /** Makes nobody wait any more: for the end of all. */
  close(): void {
    this.#closed = true
    for (const {begin} of this.#line.splice(0)) begin()
  }

  /** Waits for the turn of a place. */
  take(place: Place): Promise<void> {
    if (this.#closed) return Promise.resolve()
    if (!this.#holder) {
      this.#holder = place
      return Promise.resolve()
    }
    return new Promise(begin => this.#line.push({place, begin}))
  }

  /** Whether others wait. */
  get wanted(): boolean {
    return this.#line.length > 0
  }

  /** Ends the turn of a place, or its waiting for one. */
  leave(place: Place): void {
    const at = this.#line.findIndex(one => one.place === place)
    if (at >= 0) this.#line.splice(at, 1)
    if (this.#holder !== place) return
    const next = this.#line.shift()
    this.#holder = next?.place
    next?.begin()
  }
}

/** Somebody in the line. */
export class Place {
  readonly #turns: Turns

  constructor(turns: Turns) {
    this.#turns = turns
  }

  /** Waits for a turn. */
  take(): Promise<void> {
    return this.#turns.take(this)
  }

  /** Lets all others have theirs first. @returns whether there were any */
  async pass(): Promise<boolean> {
    if (!this.#turns.wanted) return false
    this.leave()
    await this.take()
    return true
  }

  /** Ends its turn, or its waiting: a promise of {@link take} then stays open. */
  leave(): void {
    this.#turns.leave(this)
  }
}
