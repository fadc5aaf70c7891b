/** Keys of cells, held as bytes and found by them: a million texts and a table of them take ten times as much. */

/** Bytes of a key of 20 hexadecimal digits. */
const BYTES = 10

/** A list of keys that grows at its end, and a table of where each stands. */
export class KeyColumn {
  private bytes = Buffer.alloc(BYTES * 1024)
  private size = 0
  /** Places, one more than they are, at the hash of their keys or behind it; 0: none. */
  private table = new Uint32Array(4096)
  private inTable = 0

  /** @param key - 20 hexadecimal digits */
  push(key: string): void {
    const at = this.size++ * BYTES
    if (at === this.bytes.length) {
      const larger = Buffer.alloc(2 * at)
      this.bytes.copy(larger)
      this.bytes = larger
    }
    this.bytes.write(key, at, BYTES, 'hex')
  }

  at(place: number): string {
    return this.bytes.toString('hex', place * BYTES, (place + 1) * BYTES)
  }

  /** Finds the place that was kept for a key, and keeps this one where there is none. @returns the one that is kept */
  keep(place: number): number {
    if (2 * ++this.inTable > this.table.length) this.enlarge()
    const slot = this.slotOf(place)
    const there = this.table[slot]!
    if (there > 0) return there - 1
    this.table[slot] = place + 1
    return place
  }

  /** Where a key was kept, if it was. */
  placeOf(key: string): number | undefined {
    this.push(key)
    this.size--
    const there = this.table[this.slotOf(this.size)]!
    return there > 0 ? there - 1 : undefined
  }

  private enlarge(): void {
    const before = this.table
    this.table = new Uint32Array(2 * before.length)
    for (const own of before) if (own > 0) this.table[this.slotOf(own - 1)] = own
  }

  /** Where the key of a place stands in the table, or would. */
  private slotOf(place: number): number {
    const own = place * BYTES
    const mask = this.table.length - 1
    let slot = this.bytes.readUInt32LE(own) & mask
    for (let there = this.table[slot]!; there > 0; there = this.table[slot]!) {
      const other = (there - 1) * BYTES
      if (this.bytes.compare(this.bytes, other, other + BYTES, own, own + BYTES) === 0) break
      slot = (slot + 1) & mask
    }
    return slot
  }
}
