/** Gathers comparisons of one check into what it found: the nearest miss, and of failures the first. */
import type {Finding} from '../types.js'

/** One comparison, element by element. */
export interface Compared {
  /** What was tried, as the table names it. */
  label: string
  actual: ArrayLike<number>
  expected: ArrayLike<number>
  /** Allowed absolute difference; one for all elements, or one for each. */
  bound: number | ArrayLike<number>
  /** A failure in words. @param at - the element that is furthest beyond its bound */
  says(at: number): string
}

/** Comparisons of one check; add the smallest cases first. */
export class Tally {
  private readonly labels: string[] = []
  private worst = {ratio: -1, measured: 0, bound: 0}
  private failure: string | undefined
  private decidable = 0
  private elements = 0

  /** @param advice - of a failure: where to look */
  constructor(private readonly advice: string) {}

  /** Whether no failure has come yet. */
  get clean(): boolean {
    return this.failure === undefined
  }

  /** Takes a comparison in. */
  compare({label, actual, expected, bound, says}: Compared): void {
    this.tried(label)
    if (actual.length !== expected.length) {
      this.failure ??= `${label}: expected ${expected.length} numbers, got ${actual.length}`
    }
    const first = {ratio: -1, at: 0}
    for (let at = 0; at < expected.length; at++) {
      const allowed = typeof bound === 'number' ? bound : bound[at]!
      this.elements++
      if (allowed === Infinity) continue
      this.decidable++
      const measured = Math.abs(actual[at]! - expected[at]!)
      const ratio = ratioOf(measured, allowed)
      if (ratio > first.ratio) Object.assign(first, {ratio, at})
      if (ratio > this.worst.ratio) this.worst = {ratio, measured, bound: allowed}
    }
    if (first.ratio > 1) this.failure ??= `${label}: ${says(first.at)}`
  }

  /** Takes a fact in that holds or not. @param failure - says how it does not hold */
  expect(label: string, holds: boolean, failure: () => string): void {
    this.tried(label)
    this.elements++
    this.decidable++
    if (!holds) this.failure ??= `${label}: ${failure()}`
  }

  /** Takes note of a case that was tried. */
  tried(label: string): void {
    if (!this.labels.includes(label)) this.labels.push(label)
  }

  /** The finding of all comparisons. @param note - goes with a pass */
  finding(note?: string): Finding {
    const tried = this.labels
    const figures =
      this.worst.ratio < 0 ? {} : {measured: this.worst.measured, bound: this.worst.bound}
    if (this.failure !== undefined) {
      return {status: 'failed', tried, ...figures, finding: this.failure, advice: this.advice}
    }
    if (2 * this.decidable < this.elements) {
      const share = `${this.decidable} of ${this.elements} elements`
      const finding = `float32 decides ${share} only: outputs move too much when inputs are rounded`
      return {status: 'not measurable', tried, ...figures, finding}
    }
    return {status: 'passed', tried, ...figures, ...(note && {finding: note})}
  }
}

/** A difference in units of its bound; what is not finite is beyond any. */
function ratioOf(measured: number, bound: number): number {
  if (measured === 0) return 0
  const ratio = measured / bound
  return Number.isNaN(ratio) ? Infinity : ratio
}
