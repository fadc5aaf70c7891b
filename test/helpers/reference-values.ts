/** A matcher for numbers that are known to so many digits. Every test file has it (`setupFiles` of vitest.config.ts). */
import {expect} from 'vitest'

declare module 'vitest' {
  interface Matchers<T> {
    /**
     * Compares a number with a reference value.
     *
     * @param reference - what another program prints of the same data (its files name it, such as SciPy in
     *   `fixtures/stats/make.py`), or another formula gives
     * @param digits - significant decimal digits in which both must agree: those that are printed, or those that
     *   float64 keeps on the way, 12 where a formula takes a hundred roundings and cancels little
     */
    toMatchReference(reference: number, digits: number): T
  }
}

expect.extend({
  toMatchReference(actual: number, reference: number, digits: number) {
    const error = Math.abs(actual - reference)
    const allowed = 0.5 * 10 ** -digits * Math.abs(reference)
    return {
      pass: error <= allowed,
      message: () =>
        `expected ${reference} to ${digits} digits, got ${actual}: off by ${error}, ${allowed} allowed`,
    }
  },
})
