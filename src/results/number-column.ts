/** Numbers that are held as such, 8 bytes each: a million of them as properties of objects would take many times as much. */

/** Numbers that are looked at together: a power of two. */
const SHIFT = 12
const STRETCH = 2 ** SHIFT

const NONE = new Float64Array()

/** A list of numbers that grows at its end. A stretch in which all are the same takes no more room than one of them. */
export class NumberColumn {
  private readonly stretches: (Float64Array | number)[] = []
  private open = NONE
  private size = 0

  get length(): number {
    return this.size
  }

  push(value: number): void {
    const place = this.size % STRETCH
    if (place === 0) {
      this.open = new Float64Array(STRETCH)
      this.stretches.push(this.open)
    }
    this.open[place] = value
    this.size++
    if (place < STRETCH - 1) return
    this.stretches[this.stretches.length - 1] = closed(this.open)
    this.open = NONE
  }

  /** @param place - of a number that is there */
  at(place: number): number {
    const stretch = this.stretches[place >>> SHIFT]!
    return typeof stretch === 'number' ? stretch : stretch[place % STRETCH]!
  }
}

/** What is kept of a stretch that is full. */
function closed(stretch: Float64Array): Float64Array | number {
  const first = stretch[0]!
  return stretch.every(value => Object.is(value, first)) ? first : stretch
}
