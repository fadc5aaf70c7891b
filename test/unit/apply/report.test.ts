import {describe, expect, it} from 'vitest'
import {notFiniteWarning} from '../../../src/apply/report.js'

describe('notFiniteWarning', () => {
  it('counts the elements that are not finite and says what to try', () => {
    expect(notFiniteWarning({not_finite: 17, shape: [1, 3, 31, 13]})).toBe(
      '17 of 1209 output elements are not finite: float32 ends at 3.4e38; ' +
        'try a smaller `scale`, or smaller queries and keys',
    )
    expect(notFiniteWarning({not_finite: 1, shape: [1, 1, 1, 1]})).toMatch(
      /^1 of 1 output element is not finite: /,
    )
  })

  it('has nothing to say of a finite output', () => {
    expect(notFiniteWarning({not_finite: 0, shape: [1, 3, 31, 13]})).toBeUndefined()
  })
})
