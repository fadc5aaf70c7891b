import {describe, expect, it} from 'vitest'
import {
  cacheBytes,
  featureCost,
  featureStateBytes,
  passCost,
  softmaxCost,
} from '../../../../src/attention/forms/costs.js'

const SHAPE = {
  batch: 2,
  heads: 3,
  queryLen: 5,
  keyLen: 7,
  headDim: 11,
  valueDim: 13,
  numFeatures: 17,
  causal: false,
}

describe('costs', () => {
  it('exact attention: two products per pair and the softmax', () => {
    expect(softmaxCost(SHAPE, {tiled: false})).toEqual({flops: 6 * 35 * (2 * (11 + 13) + 10)})
  })

  it('tiles skip half of a causal square', () => {
    const tiled = softmaxCost({...SHAPE, causal: true}, {tiled: true})
    expect(tiled).toEqual({flops: (6 * 35 * (2 * (11 + 13) + 10)) / 2})
  })

  it('features: linear in the number of tokens', () => {
    const {flops} = featureCost(SHAPE, 17, 17)
    const doubled = featureCost({...SHAPE, queryLen: 10, keyLen: 14}, 17, 17)
    expect(doubled.flops).toBe(2 * flops)
    expect(flops).toBe(6 * (2 * 12 * 17 * 11 + 10 * 12 * 17 + 2 * 12 * 17 * 14))
  })

  it('causal features add the half of the products inside chunks that the mask leaves', () => {
    const extra =
      featureCost({...SHAPE, causal: true}, 17, 17).flops - featureCost(SHAPE, 17, 17).flops
    expect(extra).toBe(6 * 2 * 5 * 32 * (17 + 13 + 1))
  })

  it('a pass over the values', () => {
    expect(passCost(SHAPE)).toEqual({flops: 6 * 7 * 13})
  })

  it('bytes of decode state', () => {
    expect(featureStateBytes(17, 13)).toBe(17 * 14 * 4)
    expect(cacheBytes(100, 11, 13)).toBe(100 * 24 * 4)
  })
})
