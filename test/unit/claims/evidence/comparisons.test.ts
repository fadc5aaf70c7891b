import {describe, expect, it} from 'vitest'
import {cellOf, compared} from '../../../../src/claims/evidence/comparisons.js'
import {normals, randomStream} from '../../../../src/random/index.js'
import {sweep} from '../../../helpers/records/error-sweep.js'

describe('comparisons', () => {
  const ones = new Float64Array(20)
  const around = (center: number) =>
    normals(randomStream(1, 'test.pairs'), 20).map(x => center + 0.1 * x)
  const plan = {name: 'a over b', below: 1, above: 0.8, effect: 2}

  it('have a small p where the ratio is beyond its margin, on either side', () => {
    const [right, wrong] = compared(around(-1), ones, plan).tests.map(({p}) => p)
    expect(right).toBe(2 ** -20)
    expect(wrong).toBe(1)
    const other = compared(around(0.3), ones, plan)
    expect(other.tests.map(({p}) => p)).toEqual([1, 2 ** -20])
    expect(Math.abs(other.ratio.value - Math.exp(0.3))).toBeLessThan(0.05)
  })

  it('are not made of fewer pairs than planned, and say how many it takes', () => {
    const few = ones.subarray(0, 9)
    expect(() => compared(few, few, plan)).toThrow('of 9 pairs, where it takes 14')
  })

  it('name the cell that is missing', () => {
    expect(() => cellOf([sweep()], {method: 'lara', scale: 2})).toThrow(
      'there is no cell of method lara, scale 2',
    )
  })
})
