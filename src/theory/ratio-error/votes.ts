/** What single random rows say: `f(w) = softmax_m(v.y_m - |y_m|^2/2) V`, v = b w, and how much weight that is. */
import {dotAt, halfSquares, LEVELS} from './queries.js'
import type {PositiveHead, SampledQueries} from './types.js'

/** Of every row, in every view. */
export interface Votes {
  /** f(w), `[rows, views, Dv]`. */
  says: Float64Array
  /** ln sum_m exp(c v.y_m - c^2 |y_m|^2/2) at every level c, `[rows, views, levels]`. */
  logSum: Float64Array
}

/** Exponentials below this share of the largest are left out of f. */
const NEGLIGIBLE = 2 ** -40

/**
 * Runs of keys from one view's end to the next are taken together, so that causal views cost no more than one.
 *
 * @param rows - v of each row, `[rows, D]`
 */
export function votesOf(head: PositiveHead, {ends}: SampledQueries, rows: Float64Array): Votes {
  const {key, headDim, valueDim, longKeysCount} = head
  const count = rows.length / headDim
  const half = longKeysCount ? new Float64Array(key.length / headDim) : halfSquares(key, headDim)
  const doubles = {value: Float64Array.from(head.value), valueDim}
  const says = new Float64Array(count * ends.length * valueDim)
  const logSum = new Float64Array(count * ends.length * LEVELS.length)
  const logits = new Float64Array(half.length)
  for (let row = 0; row < count; row++) {
    for (let m = 0; m < ends.at(-1)!; m++) logits[m] = dotAt(rows, row, key, m, headDim)
    LEVELS.forEach((level, l) => {
      const sum = new RunningSum(level === 1 ? doubles : undefined)
      ends.forEach((end, view) => {
        const at = row * ends.length + view
        sum.add(logits, half, {level, start: view === 0 ? 0 : ends[view - 1]!, end})
        logSum[at * LEVELS.length + l] = sum.log
        sum.mean(says, at * valueDim)
      })
    })
  }
  return {says, logSum}
}

/** Sums of exponentials, and of values weighted by them, relative to the largest one so far. */
class RunningSum {
  private top = Number.NEGATIVE_INFINITY
  private sum = 0
  private readonly values: Float64Array
  private readonly value: Float64Array

  /** @param head - whose values are weighted; none without */
  constructor(head: {value: Float64Array; valueDim: number} | undefined) {
    this.values = new Float64Array(head?.valueDim ?? 0)
    this.value = head?.value ?? this.values
  }

  add(
    logits: Float64Array,
    half: Float64Array,
    {level, start, end}: {level: number; start: number; end: number},
  ): void {
    let top = this.top
    for (let m = start; m < end; m++) {
      top = Math.max(top, level * logits[m]! - level * level * half[m]!)
    }
    this.shrink(Math.exp(this.top - top))
    this.top = top
    const {values, value} = this
    const dim = values.length
    let {sum} = this
    for (let m = start; m < end; m++) {
      const weight = Math.exp(level * logits[m]! - level * level * half[m]! - top)
      sum += weight
      if (weight < NEGLIGIBLE) continue
      for (let d = 0, at = m * dim; d < dim; d++) values[d]! += weight * value[at + d]!
    }
    this.sum = sum
  }

  private shrink(factor: number): void {
    this.sum *= factor
    for (let d = 0; d < this.values.length; d++) this.values[d]! *= factor
  }

  get log(): number {
    return this.top + Math.log(this.sum)
  }

  /** Writes the weighted mean of the values. */
  mean(out: Float64Array, at: number): void {
    for (let d = 0; d < this.values.length; d++) out[at + d] = this.values[d]! / this.sum
  }
}
