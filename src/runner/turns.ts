import type {NextTurn} from '../experiments/experiment.js'
import {type RandomStream, randomStream, shuffled} from '../random/index.js'

/** A place that waits for its turn. */
interface Waiting {
  place: Place
  /** Whether others may prepare meanwhile. */
  prepares: boolean
  begin(): void
}

/**
 * Turns for cells that compute one at a time. Several may prepare at the same time, but not while one computes. They go by
 * rounds: whoever has come before a round begins has one turn in it, those that prepare first, the others in random
 * order, so that no cell always follows the same one.
 */
export class Turns {
  /** Most that prepare at once. */
  readonly #together: number
  readonly #order: RandomStream
  /** Those that wait for their turn in this round, the first of them next. */
  #line: Waiting[] = []
  /** Those of the next round. */
  #later: Waiting[] = []
  /** Places that have their turn: one that computes, or several that prepare. */
  readonly #holders = new Map<Place, {prepares: boolean}>()
  /** The place that had the last turn. */
  #last: Place | undefined
  #closed = false

  constructor(together = 1, order = randomStream(0, 'turns')) {
    this.#together = together
    this.#order = order
  }

  /** A place in the line; its turn comes once it asks. */
  place(): Place {
    return new Place(this)
  }

  /** Ends all waiting. */
  close(): void {
    this.#closed = true
    for (const {begin} of [...this.#line.splice(0), ...this.#later.splice(0)]) begin()
  }

  /** Ends the turn of a place, and waits for its next one. */
  take(place: Place, prepares: boolean): Promise<void> {
    if (this.#closed) return Promise.resolve()
    return new Promise(begin => {
      this.#later.push({place, prepares, begin})
      this.#holders.delete(place)
      this.#last = place
      this.#admit()
    })
  }

  /** Whether others wait. */
  get wanted(): boolean {
    return this.#line.length + this.#later.length > 0
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
    const others = (waiting: readonly Waiting[]) => waiting.filter(one => one.place !== place)
    this.#line = others(this.#line)
    this.#later = others(this.#later)
    this.#holders.delete(place)
    this.#admit()
  }

  #admit(): void {
    for (let next = this.#next(); next && this.#mayBegin(next); next = this.#next()) {
      this.#line.shift()
      this.#holders.set(next.place, next)
      next.begin()
    }
  }

  /** The first of the round; of a new one where it has ended: whoever computes has a place in the next one. */
  #next(): Waiting | undefined {
    const ended = [...this.#holders.values()].every(({prepares}) => prepares)
    if (this.#line.length === 0 && ended) {
      const came = this.#later.splice(0)
      const computing = shuffled(
        came.filter(({prepares}) => !prepares),
        this.#order,
      )
      // the others before the one that computed last
      if (computing[0]?.place === this.#last) computing.push(computing.shift()!)
      this.#line = [...came.filter(({prepares}) => prepares), ...computing]
    }
    return this.#line[0]
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
    await this.#turns.take(this, false)
    return this.#turns.closed ? 'none' : 'after others'
  }

  /** Ends its turn, or its waiting: a promise of a turn then stays open. */
  leave(): void {
    this.#turns.leave(this)
  }
}
