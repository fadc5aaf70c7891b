import * as tf from '@tensorflow/tfjs-core'
import {describe, expect, it} from 'vitest'
import {runBenchCell} from '../../../../../src/experiments/bench/measure/cell.js'
import {
  type BenchPlan,
  type BenchResult,
  benchPlan,
} from '../../../../../src/experiments/bench/schema.js'
import type {CellContext} from '../../../../../src/experiments/experiment.js'
import {benchCells} from '../../../../helpers/cells.js'
import {bench, method} from '../../../../helpers/plans.js'

/** What the only cell of a plan gives. */
async function resultOf(changes: Partial<BenchPlan> = {}, context: CellContext = {}) {
  const [cell] = await benchCells(benchPlan.parse(bench({seq_lens: [24], ...changes})))
  const outcome = await runBenchCell(cell!, context)
  if (outcome.status !== 'completed') throw new Error(outcome.reason)
  return outcome.result
}

describe('runBenchCell, a cell that several processes share', () => {
  const known = ({gate, peak_rss_over_baseline_bytes: bytes}: BenchResult) => ({
    gate: gate !== null,
    bytes: bytes !== null,
  })

  it('judges and weighs in the trial, and times in the rest', async () => {
    const linux = process.platform === 'linux'
    expect(known(await resultOf())).toEqual({gate: true, bytes: linux})
    expect(known(await resultOf({}, {part: 'trial'}))).toEqual({gate: true, bytes: linux})
    expect(known(await resultOf({}, {part: 'rest'}))).toEqual({gate: false, bytes: false})
  })

  it.each<[string, Partial<BenchPlan>]>([
    ['a forward', {methods: [method('favor-pos'), method('softmax')]}],
    ['one that draws in each call', {methods: [method('rfa')], redraw: 'call'}],
    ['one with noise', {methods: [method('lara')]}],
    ['one with its parts', {methods: [method('favor-pos')], breakdown: true}],
    ['a layer', {methods: [method('elu')], mode: 'layer'}],
    ['a decode', {methods: [method('favor-pos')], mode: 'decode'}],
  ])('leaves no tensors to the others: %s', async (_, changes) => {
    const {numTensors} = tf.memory()
    await resultOf(changes)
    expect(tf.memory().numTensors).toBe(numTensors)
  })
})
