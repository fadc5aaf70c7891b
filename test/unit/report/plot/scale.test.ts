import {describe, expect, it} from 'vitest'
import {scaleOf} from '../../../../src/report/plot/scale.js'

const log = {label: '', scale: 'log'} as const
const linear = {label: '', scale: 'linear'} as const
const texts = ({ticks}: ReturnType<typeof scaleOf>) => ticks.map(({text}) => text)

describe('scaleOf', () => {
  it('has equal ratios at equal distances on a logarithmic axis, equal differences on a linear one', () => {
    const {share} = scaleOf(log, [1, 100], 8)
    expect([share(1), share(10), share(100)]).toEqual([0, 0.5, 1])
    const other = scaleOf(linear, [-1, 3], 8)
    expect([other.share(-1), other.share(1), other.share(3)]).toEqual([0, 0.5, 1])
  })

  it.each([
    [
      [64, 128, 512],
      ['64', '128', '256', '512'],
    ],
    [
      [0.003, 250],
      ['0.01', '0.1', '1', '10', '100'],
    ],
    [
      [0.03, 0.6],
      ['0.05', '0.1', '0.2', '0.5'],
    ],
    [
      [0.81, 0.87],
      ['0.81', '0.82', '0.83', '0.84', '0.85', '0.86', '0.87'],
    ],
    [[7], ['3.50', '14.0']],
  ])('has ticks of %j at %j', (values, wanted) => {
    expect(texts(scaleOf(log, values, 8))).toEqual(wanted)
  })

  it('has no more ticks than there is room for, on powers all the same', () => {
    expect(texts(scaleOf(log, [1, 1e6], 3))).toEqual(['1', '1000', '1000000'])
  })
})
