import {describe, expect, it} from 'vitest'
import {outcomeOf} from '../../../helpers/claims.js'

describe('H8', () => {
  it('depends on the width of heads, with the slopes of its gates', async () => {
    const {verdict, quantities} = await outcomeOf('H8', () => ({}))
    expect(verdict).toBe('depends')
    const [, , , wide, narrow] = quantities
    expect(wide!.value).toMatchReference((100 * 8 * 1025) / (12 * 1024 ** 2), 12)
    expect(narrow!.value).toMatchReference((100 * 16 * 1025) / (12 * 1024 ** 2), 12)
    for (const {value, expected} of quantities.slice(0, 3)) {
      // float32 sums of 128 terms, see the tolerance of the claim
      expect(Math.abs(value! - expected!)).toBeLessThan(1e-5)
    }
  })
})
