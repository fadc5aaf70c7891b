import {expect, it} from 'vitest'
import {impossibleRows} from '../../bench/peak.js'

it('the kernel benchmark objects to kernels beyond the multiply-add peak', () => {
  const rows = [
    {name: 'matMul', peak_pct: 133.4},
    {name: 'elu causal', length: 512, peak_pct: 105.1},
    {name: 'rfa', length: 512, peak_pct: 104.9},
    {name: 'exp 1M', peak_pct: null},
  ]
  expect(impossibleRows(rows)).toEqual([
    'matMul: expected at most 105 % of the multiply-add peak, got 133.4 %: that peak or the work that is counted is wrong',
    'elu causal L=512: expected at most 105 % of the multiply-add peak, got 105.1 %: that peak or the work that is counted is wrong',
  ])
})
