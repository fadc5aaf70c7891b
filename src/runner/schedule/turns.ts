import type {NextTurn} from '../../experiments/experiment.js'
import {type RandomStream, randomStream, shuffled} from '../../random/index.js'

interface Waiting {
  place: Place
  /** Whether it has yet to prepare. */
  prepares: boolean
  begin(): void
}

/**
 * Turns for cells that prepare or compute one at a time. They go by rounds: whoever has come before a round begins has one turn
 * in it, those that prepare first, the others in random order, so that no cell always follows the same one.
 */
export class Turns {
  readonly #order: RandomStream
  /** Those that wait for their turn in this round, the first of them next. */
  #line: Waiting[] = []
  /** Those of the next round. */
  #later: Waiting[] = []
  /** The place that has its turn. */
  #holder: Waiting | undefined
  /** The place that had the last turn. */
  #last: Place | undefined
  #closed = false

  constructor(order = randomStream(0, 'turns')) {
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
      this.#give(place)
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
    return this.holds(place) && !this.#holder?.prepares
  }

  /** Whether a place has the turn. */
  holds(place: Place): boolean {
    return this.#holder?.place === place
  }

  /** Ends the turn of a place, or its waiting for one. */
  leave(place: Place): void {
    const others = (waiting: readonly Waiting[]) => waiting.filter(one => one.place !== place)
    this.#line = others(this.#line)
    this.#later = others(this.#later)
    this.#give(place)
    this.#admit()
  }

  #give(place: Place): void {
    if (this.holds(place)) this.#holder = undefined
  }

  #admit(): void {
    if (this.#holder) return
    this.#holder = this.#next()
    this.#holder?.begin()
  }

  /** The first of the round; of a new one where it has ended. */
  #next(): Waiting | undefined {
    if (this.#line.length === 0) {
      const came = this.#later.splice(0)
      const able = came.filter(({prepares}) => !prepares)
      const computing = shuffled(able, this.#order)
      // the others before the one that computed last
      if (computing[0]?.place === this.#last) computing.push(computing.shift()!)
      this.#line = [...came.filter(({prepares}) => prepares), ...computing]
    }
    return this.#line.shift()
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

  /** Whether it has its turn. */
  get holds(): boolean {
    return this.#turns.holds(this)
  }

  /** Ends its turn, or its waiting: a promise of a turn then stays open. */
  leave(): void {
    this.#turns.leave(this)
  }
}
