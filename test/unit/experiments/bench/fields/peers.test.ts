/** Which methods peers time, those in Python among them. */
import {describe, expect, it} from 'vitest'
import {defineFeatureMap, registerEstimator, tf, z} from '../../../../../src/attention/index.js'
import {whyNoPeer} from '../../../../../src/experiments/bench/fields/peers.js'
import type {BenchPlan} from '../../../../../src/experiments/bench/schema.js'
import {benchCells} from '../../../../helpers/cells.js'
import {bench, method} from '../../../../helpers/plans.js'

describe('a method in Python', () => {
  const python = {path: '/maps/in_python.py', library: 'torch', options: ['share']} as const
  const name = registerEstimator(
    defineFeatureMap({
      ...{name: 'in-python', title: 'in Python', citation: '-', formula: '-', advice: ''},
      ...{nonNegative: true, python, options: z.object({share: z.number().default(1)})},
      inputs: () => 'canonical',
      featureDim: (_numFeatures, headDim) => headDim,
      phi: () => tf.exp,
    }),
  )
  const computers = async (more: Partial<BenchPlan> = {}) => {
    const plan = bench({
      methods: [method(name), method('elu')],
      seq_lens: [64],
      ...more,
    }) as BenchPlan
    const cells = await benchCells(plan)
    return cells.map(cell => `${cell.method} by ${cell.peer ?? 'a backend'}`)
  }

  it('is left to PyTorch where that is timed, and tried elsewhere', async () => {
    expect(await computers()).toEqual(['in-python by a backend', 'elu by a backend'])
    expect((await computers({peers: ['torch']})).sort()).toEqual([
      ...['elu by a backend', 'elu by torch', 'in-python by torch'],
    ])
  })

  it('has the options of its function there, and no others', () => {
    const spec = {...method(name), redraw: 'fixed', heads: 2}
    expect(whyNoPeer('torch', spec)).toContain('methods in Python')
    expect(whyNoPeer('torch', spec, python)).toBeUndefined()
    expect(whyNoPeer('torch', {...spec, options: {share: 2}}, python)).toBeUndefined()
    expect(whyNoPeer('torch', {...spec, options: {denGuard: 'none'}}, python)).toBe(
      'torch has it with its default options only',
    )
    expect(whyNoPeer('other', {...spec, options: {share: 2}}, python)).toBe(
      'other has it with its default options only',
    )
  })
})
