import {describe, expect, it} from 'vitest'
import {normalCdf, normalQuantile, studentQuantile, studentTail} from '../../../src/stats/index.js'
import {REFERENCE, TAIL_BOUND} from '../../helpers/stats-reference.js'

const FUNCTIONS: Record<keyof typeof REFERENCE.tails, (...args: number[]) => number> = {
  normal: normalCdf as never,
  student: studentTail as never,
  student_quantile: studentQuantile as never,
}
const CASES = Object.entries(REFERENCE.tails).flatMap(([name, rows]) =>
  rows.map(row => [name as keyof typeof FUNCTIONS, row.slice(0, -1), row.at(-1)!] as const),
)

describe('tails and quantiles', () => {
  it.each(CASES)('%s of %j is %d', (name, args, want) => {
    expect(Math.abs(FUNCTIONS[name](...args) / want - 1)).toBeLessThan(TAIL_BOUND)
  })

  it('reach p = 1e-15 and beyond', () => {
    const least = (rows: number[][]) => Math.min(...rows.map(row => row.at(-1)!))
    const {normal, student} = REFERENCE.tails
    for (const rows of [normal, student]) expect(least(rows)).toBeLessThan(1e-15)
  })

  it('stay what they are after any number of tails below the smallest double', () => {
    for (let round = 0; round < 2000; round++) normalCdf(-1e5)
    expect(normalCdf(-1e5)).toBe(0)
    expect(normalCdf(0) + studentTail(0.5, 1)).toMatchReference(0.5 + 0.35241638234956674, 14)
  })

  it('complement each other', () => {
    expect(studentTail(-1.3, 7) + studentTail(1.3, 7)).toMatchReference(1, 14)
    expect(normalCdf(-normalQuantile(0.975))).toMatchReference(0.025, 14)
  })

  it('go over into the normal distribution', () => {
    expect(studentTail(1.7, Number.POSITIVE_INFINITY)).toBe(normalCdf(-1.7))
  })

  it('have ends', () => {
    const far = Number.POSITIVE_INFINITY
    expect([normalCdf(-far), normalCdf(far)]).toEqual([0, 1])
    expect([normalCdf(-40), normalCdf(40)]).toEqual([0, 1])
    expect([studentTail(far, 3), studentTail(-far, 3), studentTail(0, 3)]).toEqual([0, 1, 0.5])
    expect([studentQuantile(0, 3), studentQuantile(0.5, 3), studentQuantile(1, 3)]).toEqual([
      -far,
      0,
      far,
    ])
  })

  it('are NaN of NaN, and quantiles outside [0, 1]', () => {
    const nothing = Number.NaN
    const found = [
      normalCdf(nothing),
      studentTail(nothing, 3),

      studentQuantile(nothing, 3),
      studentQuantile(1.1, 3),
    ]
    for (const value of found) expect(value).toBeNaN()
  })

  it.each([
    [() => studentTail(1, 0), /Student t: expected a positive number of degrees of freedom, got 0/],
    [() => studentQuantile(0.1, -1), /Student t: .*, got -1/],
  ])('refuse what has no distribution (%#)', (act, message) => {
    expect(act).toThrow(message)
    expect(act).toThrow(expect.objectContaining({code: 'BAD_OPTION'}))
  })
})
