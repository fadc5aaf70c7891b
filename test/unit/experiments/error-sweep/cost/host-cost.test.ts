import {describe, expect, it} from 'vitest'
import {
  contextCost,
  rowMetricsCost,
  sampledRowsCost,
} from '../../../../../src/experiments/error-sweep/cost/host-cost.js'
import {RAW_TARGET} from '../../../../../src/experiments/method.js'
import {rateOf} from '../../../../../src/experiments/rates.js'

/** 8 heads of 4096 tokens. */
const SHAPE = {
  ...{batch: 1, heads: 8, queryLen: 4096, keyLen: 4096, headDim: 64, valueDim: 64},
  causal: false,
}
const FLOPS = 2 * 8 * 4096 ** 2 * 128

/** Seconds of a context as a dry run tells them. */
function seconds(backend: 'native' | 'wasm' | 'cpu', target = RAW_TARGET, shape = SHAPE): number {
  return contextCost(shape, target, {backend, choice: backend}) / rateOf(backend)
}

describe('contextCost', () => {
  it('has the exact output in it: about 0.7 s on native', () => {
    expect(seconds('native')).toBeGreaterThan(FLOPS / 5e10)
    expect(seconds('native')).toBeLessThan(1.5 * (FLOPS / 5e10))
  })

  it('is the same time whether native is chosen or found', () => {
    const found = contextCost(SHAPE, RAW_TARGET, {backend: 'native', choice: 'auto'})
    expect(found / rateOf('auto')).toMatchReference(seconds('native'), 9)
  })

  it('counts entropies besides where they do not come with the output', () => {
    const unit = {...RAW_TARGET, inputs: 'unit'} as const
    expect(seconds('native', unit) / seconds('native')).toMatchReference(1 + 148 / 276, 9)
  })

  it('takes kernels without a loop for what plain loops take', () => {
    const target = {...RAW_TARGET, kernel: 'smreg'} as const
    expect(seconds('native', target)).toBeGreaterThan(FLOPS / 1.6e9)
    expect(seconds('wasm', target)).toBeGreaterThan(FLOPS / 1.6e9)
  })

  it('knows the tiles of the backend beyond the budget of plain loops', () => {
    const short = {...SHAPE, queryLen: 512, keyLen: 512}
    expect(seconds('wasm', RAW_TARGET, short)).toBeGreaterThan(FLOPS / 64 / 1.6e9)
    expect(seconds('wasm')).toBeLessThan(FLOPS / 1.6e9)
    // entropies of some of the rows in both
    expect(seconds('wasm')).toBeGreaterThan(FLOPS / rateOf('wasm'))
  })

  it('counts half of the pairs under a causal mask', () => {
    expect(seconds('native', RAW_TARGET, {...SHAPE, causal: true})).toBe(seconds('native') / 2)
  })
})

it('row metrics take the weights once and a distance per replicate', () => {
  const once = rowMetricsCost(SHAPE, {replicates: 1, passes: 2}, 'native')
  expect(rowMetricsCost(SHAPE, {replicates: 3, passes: 2}, 'native') - once).toMatchReference(
    (2 * 50 * 8 * 4096 ** 2 * 6e10) / 1.6e9,
    -6,
  )
})

it('rows of sampled queries take their weights once and a distance per replicate', () => {
  const cost = (replicates: number) =>
    sampledRowsCost(SHAPE, {replicates, queries: 60}, 'native') / rateOf('native')
  // 8 of each of 8 heads over 4096 keys, 50 operations each
  const distance = (64 * 4096 * 50) / 1.6e9
  expect(cost(3) - cost(1)).toMatchReference(2 * distance, 9)
  expect(cost(1)).toMatchReference(distance * (1 + (2 * 64 + 20) / 50), 9)
})
