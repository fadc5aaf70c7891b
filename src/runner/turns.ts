import type {NextTurn} from '../experiments/experiment.js'

/** A place that waits for its turn. */
interface Waiting {
  place: Place
  /** Whether others may prepare meanwhile. */
  prepares: boolean
  begin(): void
}

/**
 * Turns for cells that compute one at a time. Several may prepare at the same time, but not while one computes. The
 * order is first come, first served.
 */
export class Turns {
  /** Most that prepare at once. */
  readonly #together: number
  /** Those that wait, the first of them next. */
  readonly #line: Waiting[] = []
  /** Places that have their turn: one that computes, or several that prepare. */
  readonly #holders = new Map<Place, {prepares: boolean}>()
  #closed = false

  constructor(together = 1) {
    this.#together = together
  }

  /** A place in the line; its turn comes once it asks. */
  place(): Place {
    return new Place(this)
  }

  /** Ends all waiting. */
  close(): void {
    this.#closed = true
    for (const {begin} of this.#line.splice(0)) begin()
  }

  /** Waits for the turn of a place. */
  take(place: Place, prepares: boolean): Promise<void> {
    if (this.#closed) return Promise.resolve()
    return new Promise(begin => {
      this.#line.push({place, prepares, begin})
      this.#admit()
    })
  }

  /** Whether others wait. */
  get wanted(): boolean {
    return this.#line.length > 0
  }

  /** Whether no more turns are given. */
  get closed(): boolean {
    return this.#closed
  }

  /** Whether a place has the turn to compute. */
  computes(place: Place): boolean {
    return this.#holders.get(place)?.prepares === false
  }

  /** Ends the turn of a place, or its waiting for one. */
  leave(place: Place): void {
    const at = this.#line.findIndex(one => one.place === place)
    if (at >= 0) this.#line.splice(at, 1)
    this.#holders.delete(place)
    this.#admit()
  }

  #admit(): void {
    for (let next = this.#line[0]; next && this.#mayBegin(next); next = this.#line[0]) {
      this.#line.shift()
      this.#holders.set(next.place, next)
      next.begin()
    }
  }

  #mayBegin({prepares}: Waiting): boolean {
    if (this.#holders.size === 0) return true
    const others = [...this.#holders.values()]
    return prepares && others.length < this.#together && others.every(one => one.prepares)
  }
}

/** A place in the line. */
export class Place {
  readonly #turns: Turns

  constructor(turns: Turns) {
    this.#turns = turns
  }

  /** Waits until it may prepare. */
  prepare(): Promise<void> {
    return this.#turns.take(this, true)
  }

  /** Waits for a turn to compute: lets all others have theirs first. */
  async pass(): Promise<NextTurn> {
    if (this.#turns.closed) return 'none'
    if (this.#turns.computes(this) && !this.#turns.wanted) return 'alone'
    this.leave()
    await this.#turns.take(this, false)
    return this.#turns.closed ? 'none' : 'after others'
  }

  /** Ends its turn, or its waiting: a promise of a turn then stays open. */
  leave(): void {
    this.#turns.leave(this)
  }
}
