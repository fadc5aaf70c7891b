/** Most threads that a backend may use. */

/** More threads than any machine has processors are a slip of the keyboard. */
export const MAX_THREADS = 1024

export function isThreadCount(threads: number): boolean {
  return Number.isInteger(threads) && threads > 0 && threads <= MAX_THREADS
}
