/** Equal shares of the normal distribution, and which of them numbers fall into. */
import {normalQuantile} from '../../src/stats/normal.js'

/** Which of `count` equally probable intervals each number falls into. */
export function strataOf(values: Float64Array, count: number): number[] {
  const edges = Array.from({length: count - 1}, (_, i) => normalQuantile((i + 1) / count))
  return Array.from(values, x => edges.filter(edge => edge <= x).length)
}

/** One number of each row. */
export const column = (rows: Float64Array, d: number, headDim: number) =>
  rows.filter((_, at) => at % headDim === d)

/** Every stratum, once. */
export const eachOnce = (count: number) => Array.from({length: count}, (_, i) => i)
