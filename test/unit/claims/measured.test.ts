import {describe, expect, it} from 'vitest'
import {measuredCenter, measuredRatio} from '../../../src/claims/measured.js'
import {Unmeasured} from '../../../src/claims/runs.js'
import {hodgesLehmann} from '../../../src/stats/index.js'

const values = [1.1, 2.2, 3.1, 4.3, 2.4, 3.6, 1.7, 4.8, 2.9, 3.3, 2.6, 3.9]

describe('measuredCenter', () => {
  it('has the interval of Hodges and Lehmann, and the tests of Wilcoxon', () => {
    const measured = measuredCenter(values)
    expect(measured).toMatchObject(hodgesLehmann(values))
    expect(measured.above(1)).toBe(2 ** -12) // all on one side
    expect(measured.below(1)).toBe(1)
    expect(measured.above(3)).toBeGreaterThan(0.3)
  })

  it('counts an outlier as one turn', () => {
    const center = measuredCenter(values).value
    const disturbed = measuredCenter([...values.slice(1), 1000])
    expect(Math.abs(disturbed.value - center)).toBeLessThan(0.5)
    expect(disturbed.above(1)).toBe(2 ** -12)
  })

  it('is none of fewer turns than a test takes', () => {
    expect(() => measuredCenter(values.slice(1))).toThrow(Unmeasured)
  })
})

describe('measuredRatio', () => {
  it('is that of logarithms', () => {
    const ratio = measuredRatio(values.map(Math.log))
    expect(ratio.value).toBeCloseTo(Math.exp(hodgesLehmann(values.map(Math.log)).value), 12)
    expect(ratio.above(2)).toBe(measuredCenter(values.map(Math.log)).above(Math.log(2)))
  })
})
