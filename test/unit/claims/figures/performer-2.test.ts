import {describe, expect, it} from 'vitest'
import figure from '../../../../src/claims/figures/performer-2.js'
import {ClaimRuns} from '../../../../src/claims/runs.js'
import {Z95} from '../../../../src/stats/index.js'
import {variance} from '../../../helpers/records/variance.js'

/** Records of both runs; `withheld` says which have no variance. */
function runs(withheld: (norm: number, angle: number) => boolean = () => false): ClaimRuns {
  const plans = figure.plans({effort: 'quick', seed: 0})
  const recordsOf = (variances: number, plan: (typeof plans)[keyof typeof plans]) =>
    plan.norms.flatMap(norm =>
      plan.angles_deg.map(angle_deg => {
        const record = variance({norm, angle_deg})
        const [row] = record.result.per_projection
        const none = withheld(norm, angle_deg)
        const own = {
          ...row!,
          variance: none ? null : variances,
          variance_relative_standard_error: 0.03,
        }
        return {...record, result: {...record.result, per_projection: [own]}}
      }),
    )
  const [positive, trigonometric] = Object.entries(plans)
  return new ClaimRuns(
    new Map([
      [positive![0], recordsOf(0.5, positive![1])],
      // at half as many vectors
      [trigonometric![0], recordsOf(6, trigonometric![1])],
    ]),
  )
}

describe('figure performer-2', () => {
  it('has the ratio of both closed forms at equal numbers of vectors', () => {
    const {points} = figure.draw(runs())
    const exact = points.filter(({series}) => !series.includes('measured'))
    expect(exact).toHaveLength(48)
    for (const {series, x, y} of exact) {
      const [length, cosine] = [
        Number(series.slice('length '.length)),
        Math.cos((x * Math.PI) / 180),
      ]
      const [sum, difference] = [1 + cosine, 1 - cosine].map(part => 2 * length ** 2 * part)
      // lemma 2: e^u - 2 + e^-u = 4 sinh(u / 2)^2
      const expected = (4 * Math.sinh(difference! / 2) ** 2) / 2 / (Math.exp(sum!) - 1)
      expect(Math.abs(y - expected)).toBeLessThanOrEqual(1e-11 * expected)
    }
  })

  it('has the measured ratio beside it, for as many vectors, with an interval', () => {
    const {points, notes} = figure.draw(runs())
    const measured = points.filter(({series}) => series.includes('measured'))
    expect(measured).toHaveLength(20)
    const [{y, low, high}] = measured as [(typeof measured)[0]]
    expect(y).toBe((0.5 * 6) / 0.5)
    const reach = Z95 * Math.hypot(0.03, 0.03)
    expect(Math.log(high! / y)).toMatchReference(reach, 12)
    expect(Math.log(y / low!)).toMatchReference(reach, 12)
    expect(notes).toEqual([])
  })

  it('leaves out what was withheld, and says how much', () => {
    const {points, notes} = figure.draw(runs((norm, angle) => norm === 1 && angle < 100))
    expect(points).toHaveLength(48 + 15)
    expect(notes).toEqual([expect.stringMatching(/^5 of 20 measured pairs are left out/)])
  })
})
