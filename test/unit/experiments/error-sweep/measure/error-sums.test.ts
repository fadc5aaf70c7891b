import {afterEach, describe, expect, it} from 'vitest'
import {errorSums} from '../../../../../src/experiments/error-sweep/measure/error-sums.js'
import {bringHostLoops, type ErrorSumsCall} from '../../../../../src/host-loops.js'

afterEach(() => bringHostLoops({}))

/** Two heads of two rows of two entries: exact rows (3, 4), (0, 0) and (1, 0), (0, 2). */
const call = (entries: readonly number[], rest: Partial<ErrorSumsCall> = {}): ErrorSumsCall => ({
  estimate: Float32Array.from(entries),
  exact: Float64Array.of(3, 4, 0, 0, 1, 0, 0, 2),
  heads: 2,
  valueDim: 2,
  mean: new Float32Array(8),
  count: 1,
  group: undefined,
  groupStep: 1,
  ...rest,
})
const EXACT = [3, 4, 1, 0, 0, 1, 1, 0, 1, 0, 2, 1]
// differences 1 0 | 0 0 and -1 2 | 0 0; row sums 1.5, 1 and 1, 0.75
const OFF = [4, 4, 1.5, 0, 0, 1, 0, 2, 1, 0, 2, 0.75]

describe('errorSums', () => {
  it('is zero, with a cosine of one for each row, for the exact output', () => {
    for (const sums of errorSums(call(EXACT))) {
      const none = {squares: 0, absolutes: 0, largest: 0, notFinite: 0}
      expect(sums).toEqual({...none, cosines: 2, rowSumDeviations: 0, spread: 0})
    }
  })

  it('agrees with the definitions on a worked example, head by head', () => {
    const [first, second] = errorSums(call(OFF))
    expect(first).toEqual({
      ...{squares: 1, absolutes: 1, largest: 1, notFinite: 0, rowSumDeviations: 0.5},
      ...{cosines: 28 / Math.sqrt(32 * 25) + 1, spread: 0},
    })
    // (0, 2) is orthogonal to (1, 0)
    expect(second).toEqual({
      ...{squares: 5, absolutes: 3, largest: 2, notFinite: 0, rowSumDeviations: 0.25},
      ...{cosines: 1, spread: 0},
    })
  })

  it('takes a zero row for unlike a row that is not zero', () => {
    expect(errorSums(call([0, 0, 1, ...EXACT.slice(3)]))[0]!.cosines).toBe(1)
  })

  it('counts entries that are not finite and gives no distance for them', () => {
    const estimate = [3, Number.NaN, 1, 0, Infinity, 1, ...EXACT.slice(6)]
    const [first, second] = errorSums(call(estimate))
    expect(first).toMatchObject({notFinite: 2, largest: Number.NaN, squares: Number.NaN})
    expect(second).toMatchObject({notFinite: 0, largest: 0, squares: 0})
  })

  it('keeps the mean of differences and gives the share of each estimate in their spread', () => {
    const mean = new Float32Array(8)
    const spreads = [EXACT, OFF].map((entries, i) =>
      errorSums(call(entries, {mean, count: i + 1})).map(({spread}) => spread),
    )
    expect([...mean]).toEqual([0.5, 0, 0, 0, -0.5, 1, 0, 0])
    // d = 0, then 1: sum of squared deviations 1/2; (0, -1) and (0, 2): 1/2 + 2
    expect(spreads).toEqual([
      [0, 0],
      [0.5, 2.5],
    ])
  })

  it('adds every so many rows of all heads to a group', () => {
    const group = Float32Array.of(10, 0, 0, 0)
    errorSums(call(OFF, {group, groupStep: 3}))
    expect([...group]).toEqual([11, 0, 0, 0])
    const halves = new Float32Array(4)
    errorSums(call(OFF, {group: halves, groupStep: 2}))
    expect([...halves]).toEqual([1, 0, -1, 2])
  })

  it('leaves the pass to the loop of a backend', () => {
    const answer = errorSums(call(EXACT))
    bringHostLoops({errorSums: () => answer.toReversed()})
    expect(errorSums(call(OFF))).toEqual(answer.toReversed())
  })
})
