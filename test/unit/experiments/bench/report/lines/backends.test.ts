import {describe, expect, it} from 'vitest'
import {benchFigures} from '../../../../../../src/experiments/bench/report/figures/figures.js'
import {benchFits} from '../../../../../../src/experiments/bench/report/figures/fits.js'
import {backendGain} from '../../../../../../src/experiments/bench/report/lines/backends.js'
import {speedUp} from '../../../../../../src/experiments/bench/report/lines/trends.js'
import {benchReport} from '../../../../../../src/experiments/bench/report/report.js'
import {
  type BenchPlan,
  benchPlan,
  type TimedRecord,
} from '../../../../../../src/experiments/bench/schema.js'
import {PairedTimes} from '../../../../../../src/experiments/bench/times/paired-times.js'
import {renderTerminal} from '../../../../../../src/report/terminal.js'
import {benchJobs} from '../../../../../helpers/cells.js'
import {bench} from '../../../../../helpers/plans.js'
import {decoded, timed} from '../../../../../helpers/records/bench.js'

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
  const times = new PairedTimes(rows)

  it('are compared for the same cell, and exact forms within each', () => {
    expect(backendGain(wasm, rows, times)!.value).toMatchReference(1 / 4, 12)
    expect(backendGain(native, rows, times)).toBeNull()
    expect(speedUp(wasm, rows, 'softmax', times)!.value).toMatchReference(3, 12)
    expect(speedUp(native, rows, 'softmax', times)!.value).toMatchReference(1 / 2, 12)
  })

  it('have a column, and names in fits', async () => {
    const text = renderTerminal(benchReport(rows), {width: 300, colour: false})
    expect(text).toMatch(/backend +L .*vs native/)
    expect(benchFits(rows).map(({variant}) => variant)).toContain('favor-pos orth M=64 on wasm')
    const alone = renderTerminal(benchReport(rows.slice(2)), {width: 300, colour: false})
    expect(alone).not.toContain('vs native')
  })

  it('are told apart in figures, by name, column and marker', () => {
    const both = rows.flatMap(row => [
      row,
      on(row.result.backend as 'native', {...row.cell, seq_len: 256}, 2 * row.result.median_ns),
    ])
    const [time] = benchFigures(both)
    expect(time!.series.map(({label, open}) => [label.split(',')[0], open ?? false])).toEqual([
      ['softmax on native', false],
      ['softmax on wasm', true],
      ['favor-pos orth M=64 on native', false],
      ['favor-pos orth M=64 on wasm', true],
    ])
    expect(time!.table.columns.map(({title}) => title)).toContain('backend')
  })

  it('are told apart where the time goes', () => {
    const breakdown = {
      parts: [{part: 'features', median_ns: 1e5, median_low_ns: null, median_high_ns: null}],
      sum_over_whole: null,
    }
    const broken = rows.map(row => ({...row, result: {...row.result, breakdown}})) as TimedRecord[]
    const text = renderTerminal(benchReport(broken), {width: 300, colour: false})
    expect(text.split('Where the time goes')[1]).toContain('favor-pos orth M=64 on wasm')
  })

  it('have an exact form each where they decode', () => {
    const of = (backend: 'native' | 'wasm', cell: object, token: number): TimedRecord => {
      const row = decoded({...cell, backend}, {token})
      return {...row, result: {...row.result, backend}}
    }
    const decodes = [
      of('native', EXACT, 1e6),
      of('native', {}, 5e5),
      of('wasm', EXACT, 4e6),
      of('wasm', {}, 1e6),
    ]
    const text = renderTerminal(benchReport(decodes), {width: 300, colour: false})
    expect(text).toMatch(
      /Speed-up over softmax on native\n[\s\S]*favor-pos orth M=64 on native +2\.00x/,
    )
    expect(text).toMatch(
      /Speed-up over softmax on wasm\n[\s\S]*favor-pos orth M=64 on wasm +4\.00x/,
    )
    expect(text).toMatch(/favor-pos .* wasm .* 0\.500x/)
  })

  it('have names where there are several: auto is one of them', () => {
    const backend = ['auto', 'native']
    expect(benchPlan.safeParse({...bench({}), backend}).error!.message).toContain('auto alone')
  })

  it('stand beside peers, whose version is told and whose tensors nobody counted', () => {
    const peer = {version: '2.9.9', python: '3.99.0'}
    const torch = timed({peer: 'torch'}, 4e6, {backend: 'torch', peer, live_bytes: null})
    const text = renderTerminal(benchReport([torch, native]), {width: 300, colour: false})
    expect(text).toMatch(/favor-pos .* native .*\n.*favor-pos .* torch .* 0\.500x/)
    expect(text).toContain(
      'peer torch (simd128), 1 thread, version 2.9.9 in Python 3.99.0; accuracy',
    )
    const longer = [torch, native].map(row => ({...row, cell: {...row.cell, seq_len: 256}}))
    const [time, memory] = benchFigures([torch, native, ...longer])
    expect(time!.series.map(({label}) => label.split(',')[0])).toEqual([
      'favor-pos orth M=64 on native',
      'favor-pos orth M=64 on torch',
    ])
    expect(memory!.series.map(({label}) => label)).toEqual(['favor-pos orth M=64 on native'])
  })

  it('are an axis of the grid, each with the cells of a plan of its own', async () => {
    const plan = bench({backend: ['cpu', 'wasm']}) as BenchPlan
    const jobs = await benchJobs(plan)
    const apart = await Promise.all(
      (['cpu', 'wasm'] as const).map(async backend => await benchJobs({...plan, backend})),
    )
    expect(jobs.map(({cell}) => cell)).toEqual(apart.flat().map(({cell}) => cell))
    expect(jobs.at(-1)!.label).toContain('on wasm')
    expect(jobs[0]!.predictedCost).toBe(apart[0]![0]!.predictedCost)
  })
})
