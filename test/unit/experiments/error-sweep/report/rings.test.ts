import {describe, expect, it} from 'vitest'
import {errorSweepFigures} from '../../../../../src/experiments/error-sweep/report/figures.js'
import {turningPoints} from '../../../../../src/experiments/error-sweep/report/rings.js'
import type {Series} from '../../../../../src/report/figures/figure.js'
import {positiveOvertakesAt} from '../../../../../src/theory/index.js'
import {sweep} from '../../../../helpers/records/error-sweep.js'

const DEGREES = Math.PI / 180

/** A cell whose queries and keys have one squared norm and stand at one angle. */
function pair(method: string, norm2: number, angle: number, changes = {}) {
  const cosine = Math.cos(angle * DEGREES)
  const statistics = {
    ...sweep().result.statistics,
    ...{query_norm2: norm2, key_norm2: norm2},
    ...{sum_norm2: 2 * norm2 * (1 + cosine), difference_norm2: 2 * norm2 * (1 - cosine)},
  }
  const predicted_rel_l2 = method === 'favor-pos' ? norm2 : null
  return sweep(
    {method, projection: 'iid', scale: norm2, ...changes},
    {statistics, predicted_rel_l2, mean_value_mse: 0},
  )
}

/** Both methods at squared norms close to each other and around a turn. */
const around = (norm: number, angle: number, changes = {}) =>
  [0.99, 1.01].flatMap(factor =>
    ['favor-pos', 'favor-trig'].map(method => pair(method, factor * norm ** 2, angle, changes)),
  )
const figureOf = (records: Parameters<typeof errorSweepFigures>[0]) =>
  errorSweepFigures(records).find(({name}) => name === 'error-over-norm')!
const ringsOf = (records: Parameters<typeof errorSweepFigures>[0]) =>
  figureOf(records).series.flatMap(({crossings = []}) => crossings)

describe('rings where positive features take over from sines and cosines', () => {
  it.each([100, 120, 160])('stand at the norm that theory gives for %d degrees', angle => {
    const norm = positiveOvertakesAt(angle * DEGREES, 'M')
    const [ring, ...others] = ringsOf(around(norm, angle))
    expect(others).toEqual([])
    // a straight line instead of the laws: to the second order in 2 %
    expect(Math.abs(ring!.x / norm ** 2 - 1)).toBeLessThan(0.02 ** 2)
    // on the predicted line, which is that of y = x
    expect(ring!.y).toMatchReference(ring!.x, 12)
    expect(ring!.facts[0]).toMatch(
      /^favor-pos iid M=64 varies less than favor-trig iid M=64 from .* by the kernel at mean norms/,
    )
    expect(figureOf(around(norm, angle)).caption).toContain(
      'Rings: by that prediction the kernel of positive features begins to vary less',
    )
  })

  const norm = positiveOvertakesAt(100 * DEGREES, 'M')

  it('are none without sines and cosines of the same rows', () => {
    const records = around(norm, 100)
    expect(ringsOf(records.filter(({cell}) => cell.method === 'favor-pos'))).toEqual([])
    const others = records.map(record =>
      record.cell.method === 'favor-pos'
        ? record
        : {...record, cell: {...record.cell, projection: 'orth' as const}},
    )
    expect(ringsOf(others)).toEqual([])
  })

  it('are none where the laws do not cross, or the kernel varies by more than itself', () => {
    expect(ringsOf(around(norm, 90))).toEqual([])
    // relative variance of one row: e^(2 norm^2 (1 + cos)) - 1, above 1 at this norm
    expect(Math.expm1(2 * norm ** 2 * (1 + Math.cos(100 * DEGREES)))).toBeGreaterThan(1)
    expect(ringsOf(around(norm, 100, {num_features: 1}))).toEqual([])
    expect(ringsOf(around(norm, 100, {num_features: 64}))).toHaveLength(1)
  })
})

/** A line x^power / factor at 1, 4 and 16. */
function line(method: string, power: number, factor: number, xs = [1, 4, 16]): Series {
  const points = xs.map(x => ({x, y: x ** power / factor, facts: []}))
  return {label: `${method}, predicted`, method, projection: 'iid', points, computed: true}
}

describe('turning points of predicted lines', () => {
  it('are where the lowest line changes, exact for power laws', () => {
    // x^2 / 64 and x / 8 meet at 8
    const [mark, ...others] = turningPoints([line('low', 2, 64), line('high', 1, 8)])
    expect(others).toEqual([])
    expect(mark!.line.method).toBe('high')
    expect(mark!.point.facts).toEqual(['high overtakes low at 8.00, by theory'])
    expect(mark!.point.x).toMatchReference(8, 12)
    expect(mark!.point.y).toMatchReference(1, 12)
  })

  it('are not told where lines do not change places, or above a third line', () => {
    expect(turningPoints([line('low', 1, 64), line('high', 1, 8)])).toEqual([])
    expect(turningPoints([line('low', 2, 64)])).toEqual([])
    const below = line('lowest', 1, 1000)
    expect(turningPoints([line('low', 2, 64), line('high', 1, 8), below])).toEqual([])
  })

  it('are told between places that lines share alone', () => {
    expect(turningPoints([line('low', 2, 64), line('high', 1, 8, [1, 4])])).toEqual([])
  })
})
