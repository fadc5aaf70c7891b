import type {RandomStream} from './stream.js'

/** The same values in random order, by Fisher and Yates. */
export function shuffled<T>(values: readonly T[], stream: RandomStream): T[] {
  const order = [...values]
  for (let i = order.length - 1; i > 0; i--) {
    const j = stream.integer(i + 1)
    ;[order[i], order[j]] = [order[j]!, order[i]!]
  }
  return order
}
