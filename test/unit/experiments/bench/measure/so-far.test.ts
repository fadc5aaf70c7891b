import {describe, expect, it} from 'vitest'
import {soFarText} from '../../../../../src/experiments/bench/measure/so-far.js'
import type {BenchCell} from '../../../../../src/experiments/bench/schema.js'
import {timed} from '../../../../helpers/records/bench.js'

const so = (ns: number, changes: Partial<BenchCell>) => ({cell: {...timed().cell, ...changes}, ns})

describe('soFarText', () => {
  const elu = so(10, {method: 'elu', seq_len: 64})
  const exact = [
    so(90, {method: 'softmax', seq_len: 64}),
    so(86, {method: 'softmax-online', seq_len: 64}),
  ]

  it('says what a method gains over the faster exact form of its length', () => {
    const longer = so(1, {method: 'softmax', seq_len: 128})
    const other = so(1, {method: 'softmax', seq_len: 64, peer: 'torch'})
    expect(soFarText(elu, [elu, ...exact, longer, other])).toBe('8.6x so far')
  })

  it('says nothing of exact forms, nor before they are timed', () => {
    expect(soFarText(exact[0]!, exact)).toBeUndefined()
    expect(soFarText(elu, [elu])).toBeUndefined()
  })
})
