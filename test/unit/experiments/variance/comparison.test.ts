import {describe, expect, it} from 'vitest'
import type {ComparedLine} from '../../../../src/experiments/comparison.js'
import {varianceComparison} from '../../../../src/experiments/variance/comparison.js'
import {type CompletedVariance, variance} from '../../../helpers/records/variance.js'

const {lines, measured} = varianceComparison

/** The record with its first row changed. */
function changed(
  record: CompletedVariance,
  row: Partial<CompletedVariance['result']['per_projection'][number]>,
): CompletedVariance {
  const [first, ...others] = record.result.per_projection
  return {...record, result: {...record.result, per_projection: [{...first!, ...row}, ...others]}}
}

describe('varianceComparison', () => {
  it('compares relative variances of each projection by their standard errors', () => {
    const [a, b] = [variance({}, 0.5), variance({seed: 1}, 0.25)]
    const found = lines(a, b, 'runs') as ComparedLine[]
    expect(found.map(({at}) => at)).toEqual([{projection: 'iid'}, {projection: 'orth'}])
    const [iid, orth] = found
    expect(iid).toMatchObject({ratio: {value: 1}, pValue: 1, basis: 'spreads'})
    expect(orth!.a).toBeCloseTo(0.04 / 1.25 ** 2, 12)
    expect(orth!.ratio.value).toBeCloseTo(0.5, 12)
    // standard errors of 10 % each
    expect(Math.log(orth!.ratio.high / 0.5)).toBeCloseTo(1.959964 * Math.hypot(0.1, 0.1), 6)
    expect(orth!.pValue).toBeCloseTo(9.5e-7, 7)
  })

  it('compares methods over what they estimate', () => {
    const a = variance()
    const b = {...a, result: {...a.result, expectation: 2.5}}
    const [iid] = lines(a, b, 'methods') as ComparedLine[]
    expect(iid!.ratio.value).toBeCloseTo(0.25, 12)
    const none = {...a, result: {...a.result, expectation: null}}
    expect(lines(a, none, 'methods')[0]).toHaveProperty('reason')
  })

  it('leaves out what was withheld, and knows where that hides nothing', () => {
    const few = changed(variance(), {withheld: 'too few', variance: null})
    const [line] = lines(few, variance(), 'runs')
    expect(line).toMatchObject({reason: 'too few', settled: false})
    const still = changed(variance(), {withheld: 'no spread', variance: 1e-20})
    expect(lines(still, still, 'runs')[0]).toMatchObject({settled: true})
    expect(lines(still, variance(), 'runs')[0]).toMatchObject({settled: false})
  })

  it('measures the same pair whatever the draws and the list of projections', () => {
    const {cell} = variance()
    const other = {...cell, seed: 5, replicates: 9, precision: 0.1, projections: ['orth' as const]}
    expect(measured(other)).toEqual(measured(cell))
    expect(measured({...cell, angle_deg: 1})).not.toEqual(measured(cell))
  })
})
