import {describe, expect, it} from 'vitest'
import type {ComparedLine, Related} from '../../../../../src/experiments/comparison.js'
import {varianceComparison} from '../../../../../src/experiments/variance/report/comparison.js'
import {type CompletedVariance, variance} from '../../../../helpers/records/variance.js'

const {measured} = varianceComparison
const lines = (a: CompletedVariance, b: CompletedVariance, related: Related) =>
  varianceComparison.between(related, [a, b]).lines(a, b)

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
    expect(orth!.a).toMatchReference(0.04 / 1.25 ** 2, 12)
    expect(orth!.ratio.value).toMatchReference(0.5, 12)
    // standard errors of 10 % each
    expect(Math.log(orth!.ratio.high / 0.5)).toMatchReference(1.959964 * Math.hypot(0.1, 0.1), 6)
    expect(orth!.pValue).toMatchReference(9.5e-7, 1)
  })

  it('compares methods over what they estimate', () => {
    const a = variance()
    const b = {...a, result: {...a.result, expectation: 2.5}}
    const [iid] = lines(a, b, 'methods') as ComparedLine[]
    expect(iid!.ratio.value).toMatchReference(0.25, 12)
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

  it('takes the same variance of the same draws for the same', () => {
    const same = {ratio: {value: 1, low: 1, high: 1}, basis: 'exact', pValue: Number.NaN}
    expect(lines(variance(), variance(), 'runs')[0]).toMatchObject(same)
    const [apart] = lines(variance(), variance({seed: 1}), 'runs') as ComparedLine[]
    expect(apart!.ratio.low).toBeLessThan(0.9)
  })

  it('compares what does not vary at all', () => {
    const still = changed(variance(), {variance: 0})
    expect(lines(still, still, 'runs')[0]).toMatchObject({reason: 'neither varies', settled: true})
    const [more] = lines(still, variance(), 'runs') as ComparedLine[]
    expect(more!.ratio.low).toBe(Number.POSITIVE_INFINITY)
    const [less] = lines(variance(), still, 'runs') as ComparedLine[]
    expect(less!.ratio).toEqual({value: 0, low: 0, high: 0})
  })

  it('names random matrices of one side alone, those of A as open', () => {
    const both = variance()
    const {per_projection} = both.result
    const one = {...both, result: {...both.result, per_projection: per_projection.slice(0, 1)}}
    const alone = {at: {projection: 'orth'}, reason: 'a random matrix of A alone', settled: false}
    expect(lines(both, one, 'runs')).toMatchObject([{at: {projection: 'iid'}}, alone])
    expect(lines(one, both, 'runs')[1]).toMatchObject({settled: true})
  })

  it('puts a method without random matrices beside each of the other', () => {
    const drawn = variance()
    const none = changed(drawn, {projection: 'none'})
    const lone = {
      ...none,
      result: {...none.result, per_projection: none.result.per_projection.slice(0, 1)},
    }
    for (const pair of [
      [drawn, lone],
      [lone, drawn],
    ]) {
      const found = lines(pair[0]!, pair[1]!, 'methods')
      expect(found.map(({at}) => at)).toEqual([{projection: 'iid'}, {projection: 'orth'}])
      expect(found.every(line => 'ratio' in line)).toBe(true)
    }
  })

  it('measures the same pair whatever the draws and the list of projections', () => {
    const {cell} = variance()
    const other = {
      ...cell,
      seed: 5,
      replicates: 9,
      until_ci: {relative_half_width: 0.1, max_replicates: 99},
      projections: ['orth' as const],
    }
    expect(measured(other)).toEqual(measured(cell))
    expect(measured({...cell, angle_deg: 1})).not.toEqual(measured(cell))
  })
})
