/** What single random rows say: `f(w) = softmax_m(v.y_m - |y_m|^2/2) V`, v = b w, and how much weight that is. */
import {type HostLoops, hostLoops} from '../../host-loops.js'
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
 * Runs of keys from one view's end to the next are taken together, so that causal views cost no more than one: by the
 * loop of the backend in use, where it has one.
 *
 * @param rows - v of each row, `[rows, D]`
 */
export function votesOf(head: PositiveHead, {ends}: SampledQueries, rows: Float64Array): Votes {
  const {key, headDim, valueDim, longKeysCount} = head
  const half = longKeysCount ? new Float64Array(key.length / headDim) : halfSquares(key, headDim)
  const count = rows.length / headDim
  const says = new Float64Array(count * ends.length * valueDim)
  const logSum = new Float64Array(count * ends.length * LEVELS.length)
  const loop = hostLoops().softmaxRows
  if (loop) byLoop({head, half, ends, rows}, {says, logSum}, loop)
  else inDoubles({head, half, ends, rows}, {says, logSum})
  return {says, logSum}
}

/** What is weighed. */
interface Weighed {
  head: PositiveHead
  /** Half squared lengths of the keys, or zeros. */
  half: Float64Array
  /** Of {@link SampledQueries}. */
  ends: Int32Array
  rows: Float64Array
}

/** What rows say of a run of keys is softmax attention of queries c v, with `-c^2 |y|^2/2` added to each key's logits. */
function byLoop(
  {head, half, ends, rows}: Weighed,
  votes: Votes,
  loop: HostLoops['softmaxRows'],
): void {
  const {headDim, valueDim} = head
  const [count, values] = [rows.length / headDim, Float32Array.from(head.value)]
  const absent = {scale: undefined, logConstant: undefined, entropy: undefined}
  LEVELS.forEach((level, l) => {
    const query = rows.map(v => level * v)
    const bias = half.map(h => -level * level * h)
    const sums = Array.from({length: count}, () => new MergedSum(level === 1 ? valueDim : 0))
    ends.forEach((end, view) => {
      const start = view === 0 ? 0 : ends[view - 1]!
      const key = head.key.subarray(start * headDim, end * headDim)
      const value = level === 1 ? values.subarray(start * valueDim, end * valueDim) : undefined
      const out = value && new Float64Array(count * valueDim)
      const [keyBias, lse] = [bias.subarray(start, end), new Float64Array(count)]
      const call = {query, key, headDim, keyBias, value, valueDim, out, lse, ...absent}
      loop({...call, causal: false, excludesSelf: false})
      sums.forEach((sum, row) => {
        const at = row * ends.length + view
        sum.add(lse[row]!, out?.subarray(row * valueDim, (row + 1) * valueDim))
        votes.logSum[at * LEVELS.length + l] = sum.log
        votes.says.set(sum.values, at * valueDim)
      })
    })
  })
}

/** The mean of values weighted by exponentials, from those of runs. */
class MergedSum {
  /** Logarithm of the sum of the weights. */
  log = Number.NEGATIVE_INFINITY
  readonly values: Float64Array

  constructor(valueDim: number) {
    this.values = new Float64Array(valueDim)
  }

  /** @param values - mean of a run */
  add(log: number, values: Float64Array | undefined): void {
    const [low, high] = this.log < log ? [this.log, log] : [log, this.log]
    this.log = high + Math.log1p(Math.exp(low - high))
    const share = Math.exp(log - this.log)
    values?.forEach((value, d) => {
      this.values[d]! += share * (value - this.values[d]!)
    })
  }
}

function inDoubles({head, half, ends, rows}: Weighed, {says, logSum}: Votes): void {
  const {key, headDim, valueDim} = head
  const values = {value: Float64Array.from(head.value), valueDim}
  const logits = new Float64Array(half.length)
  for (let row = 0; row * headDim < rows.length; row++) {
    for (let m = 0; m < ends.at(-1)!; m++) logits[m] = dotAt(rows, row, key, m, headDim)
    LEVELS.forEach((level, l) => {
      const sum = new RunningSum(level === 1 ? values : undefined)
      ends.forEach((end, view) => {
        const at = row * ends.length + view
        sum.add(logits, half, {level, start: view === 0 ? 0 : ends[view - 1]!, end})
        logSum[at * LEVELS.length + l] = sum.log
        sum.mean(says, at * valueDim)
      })
    })
  }
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
