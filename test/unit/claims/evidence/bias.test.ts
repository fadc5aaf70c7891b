import {describe, expect, it} from 'vitest'
import {biasOf, replicatesToSee} from '../../../../src/claims/evidence/bias.js'
import {sweep} from '../../../helpers/records/error-sweep.js'

describe('biases', () => {
  const bias = (value: number, error: number) =>
    biasOf(sweep({replicates: 100}, {bias_squared: value, bias_squared_standard_error: error}))

  it("are tested by Student's t with 9 degrees of freedom", () => {
    // 5 % quantile of tables
    expect(bias(1.833113, 1).p).toMatchReference(0.05, 5)
    expect(bias(-1, 1).p).toBeGreaterThan(0.5)
  })

  it('of a size that would have been missed take more replicates', () => {
    expect(replicatesToSee(100, bias(0, 1))).toBe(100)
    const needed = replicatesToSee(1, bias(0, 1))
    expect(needed).toBeGreaterThan(100)
    expect(replicatesToSee(1, bias(0, 10))).toMatchReference(10 * needed, 1)
  })

  it('are none where the record says that means are unknown', () => {
    const record = sweep({}, {bias_squared_standard_error: null, means_unknown: 'one_draw'})
    expect(() => biasOf(record)).toThrow('one_draw')
  })
})
