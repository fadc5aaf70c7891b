/** Memory of outputs that are gone, for the next ones of their size. */

/** Arrays kept at most: they are looked through for each output. */
const MOST_ARRAYS = 64

/**
 * Bytes kept at most: of a few outputs of L x L entries. New pages cost more than memory that has left the caches: the exact
 * output of 8 heads of 1024 tokens took 2.8 times as long with them.
 */
const MOST_BYTES = 2 ** 27

/**
 * Arrays for use again, the last one given first: it may be in the caches still, where memory from the system
 * is not, and garbage collection frees it many calls later. A short operation on a million numbers takes a
 * third less time so.
 */
export class SpareMemory {
  private readonly arrays: Float32Array[] = []
  private bytes = 0
  private expected: Float32Array | undefined

  /** Keeps an array that nothing else holds; the oldest ones make room for it. */
  give(array: Float32Array): void {
    if (array.byteLength > MOST_BYTES) return
    this.arrays.push(array)
    this.bytes += array.byteLength
    while (this.bytes > MOST_BYTES || this.arrays.length > MOST_ARRAYS)
      this.bytes -= this.arrays.shift()!.byteLength
  }

  /** Keeps one array of any size: the next output is expected to be of its length. */
  expect(array: Float32Array): void {
    this.expected = array
  }

  /** Keeps nothing any more. */
  clear(): void {
    this.arrays.length = 0
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
    const at = this.arrays.findLastIndex(array => array.length === length)
    if (at < 0) return undefined
    const [array] = this.arrays.splice(at, 1)
    this.bytes -= array!.byteLength
    return array
  }
}
