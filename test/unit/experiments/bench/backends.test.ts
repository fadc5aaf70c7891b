import {describe, expect, it} from 'vitest'
import {backendGain} from '../../../../src/experiments/bench/backends.js'
import {benchFits} from '../../../../src/experiments/bench/fits.js'
import {benchJobs} from '../../../../src/experiments/bench/grid.js'
import {benchReport} from '../../../../src/experiments/bench/report.js'
import type {BenchPlan, TimedRecord} from '../../../../src/experiments/bench/schema.js'
import {speedUp} from '../../../../src/experiments/bench/trends.js'
import {renderTerminal} from '../../../../src/report/terminal.js'
import {bench} from '../../../helpers/plans.js'
import {timed} from '../../../helpers/records/bench.js'

const EXACT = {method: 'softmax', projection: null, num_features: null}
const on = (backend: 'native' | 'wasm', cell: object, median: number): TimedRecord =>
  timed({...cell, backend}, median, {backend})

describe('several backends', () => {
  const rows = [
    on('wasm', {}, 8e6),
    on('wasm', EXACT, 24e6),
    on('native', {}, 2e6),
    on('native', EXACT, 1e6),
  ]
  const [wasm, , native] = rows as [TimedRecord, TimedRecord, TimedRecord]

  it('are compared for the same cell, and exact forms within each', () => {
    expect(backendGain(wasm, rows)!.value).toBeCloseTo(1 / 4, 12)
    expect(backendGain(native, rows)).toBeNull()
    expect(speedUp(wasm, rows, 'softmax')!.value).toBeCloseTo(3, 12)
    expect(speedUp(native, rows, 'softmax')!.value).toBeCloseTo(1 / 2, 12)
  })

  it('have a column, and names in fits', async () => {
    const text = renderTerminal(benchReport(rows), {width: 300, colour: false})
    expect(text).toMatch(/backend +L .*vs native/)
    expect(benchFits(rows).map(({variant}) => variant)).toContain('favor-pos orth M=64 on wasm')
    const alone = renderTerminal(benchReport(rows.slice(2)), {width: 300, colour: false})
    expect(alone).not.toContain('vs native')
  })

  it('are an axis of the grid, each with the cells of a plan of its own', async () => {
    const plan = bench({backend: ['cpu', 'wasm']}) as BenchPlan
    const jobs = [...(await benchJobs(plan))]
    const apart = await Promise.all(
      (['cpu', 'wasm'] as const).map(async backend => [...(await benchJobs({...plan, backend}))]),
    )
    expect(jobs.map(({cell}) => cell)).toEqual(apart.flat().map(({cell}) => cell))
    expect(jobs.at(-1)!.label).toContain('on wasm')
    expect(jobs[0]!.predictedCost).toBe(apart[0]![0]!.predictedCost)
  })
})
