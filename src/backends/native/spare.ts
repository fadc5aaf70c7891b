/** Memory of outputs that are gone, for the next ones of their size. */

/**
 * Bytes kept at most: of a few outputs of L x L entries. New pages cost more than memory that has left the caches: the exact
 * output of 8 heads of 1024 tokens took 2.8 times as long with them.
 */
export const MOST_SPARE = 2 ** 27

/**
 * Arrays for use again, the last one given first: it may be in the caches still, where memory from the system
 * is not, and garbage collection frees it many calls later. A short operation on a million numbers takes a
 * third less time so.
 */
export class SpareMemory {
  /** By their length; lengths in the order in which they were last given. */
  private readonly arrays = new Map<number, Float32Array[]>()
  private bytes = 0
  private expected: Float32Array | undefined

  /** Keeps an array that nothing else holds; those of lengths that were not given for longest make room for it. */
  give(array: Float32Array): void {
    if (array.byteLength > MOST_SPARE) return
    const same = this.arrays.get(array.length) ?? []
    this.arrays.delete(array.length)
    this.arrays.set(array.length, same)
    same.push(array)
    this.bytes += array.byteLength
    while (this.bytes > MOST_SPARE) this.drop()
  }

  /** Keeps one array of any size: the next output is expected to be of its length. */
  expect(array: Float32Array): void {
    this.expected = array
  }

  /** Keeps nothing any more. */
  clear(): void {
    this.arrays.clear()
    this.bytes = 0
    this.expected = undefined
  }

  /** An array of this length, its content undefined; `undefined` where none is kept. */
  take(length: number): Float32Array | undefined {
    if (this.expected?.length === length) {
      const array = this.expected
      this.expected = undefined
      return array
    }
    const array = this.arrays.get(length)?.pop()
    if (array) this.bytes -= array.byteLength
    return array
  }

  /** Leaves an array to garbage collection, and lengths of which there is none. */
  private drop(): void {
    for (const [length, same] of this.arrays) {
      this.bytes -= same.shift()?.byteLength ?? 0
      if (same.length === 0) this.arrays.delete(length)
      return
    }
  }
}
