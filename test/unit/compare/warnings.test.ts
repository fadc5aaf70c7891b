import {describe, expect, it} from 'vitest'
import {compare} from '../../../src/compare/compare.js'
import type {Side} from '../../../src/compare/match.js'
import {benchComparison} from '../../../src/experiments/bench/report/comparison.js'
import type {Comparison} from '../../../src/experiments/comparison.js'
import {errorSweepComparison} from '../../../src/experiments/error-sweep/report/errors/comparison.js'
import type {CellRecord} from '../../../src/results/record.js'
import {BENCH_MANIFEST, timed} from '../../helpers/records/bench.js'
import {sweep} from '../../helpers/records/error-sweep.js'
import {MACHINE} from '../../helpers/records/machine.js'
import {interrupted} from '../../helpers/records/outcomes.js'

const side = (records: readonly CellRecord[], changes: Partial<Side> = {}): Side => ({
  ...{directory: 'run', method: null, manifest: BENCH_MANIFEST, records, cells: records.length},
  ...changes,
})

function warnings(a: Side, b: Side, comparison: unknown = benchComparison): string[] {
  const how = {experiment: 'bench', related: 'runs', limits: [], strict: false} as const
  return compare({...how, comparison: comparison as Comparison, a, b}).warnings
}

const on = (machine: Partial<typeof MACHINE>) => ({
  manifest: {...BENCH_MANIFEST, machine: {...MACHINE, ...machine}},
})

describe('warningsOf', () => {
  it('has nothing to say of two runs that were made alike, but for the commit', () => {
    expect(warnings(side([timed()]), side([timed({}, 2e6)], on({commit: 'fff'})))).toEqual([])
  })

  it('names every fact of the machine that differs, and what that means for times', () => {
    const other = on({cpu: 'Other CPU', node: 'v22.0.0', rfa: '0.0.1'})
    expect(warnings(side([timed()]), side([timed()], other))).toEqual([
      `A and B differ: processor Test CPU in A, Other CPU in B; Node v20.19.0 in A, v22.0.0 in B; rfa ${MACHINE.rfa} in A, 0.0.1 in B; measure both on one machine to compare code`,
    ])
    const [sweeps] = warnings(side([sweep()]), side([sweep()], other), errorSweepComparison)
    expect(sweeps).toMatch(/numbers may differ by more than rounding$/)
  })

  it('names what computed, and how many cells', () => {
    const cells = [128, 256].map(seq_len => timed({seq_len}))
    const [first, second] = [256, 128].map(seq_len =>
      timed({seq_len}, 1e6, seq_len === 128 ? {backend: 'cpu', threads: 4} : {}),
    )
    expect(warnings(side(cells), side([first!, second!]))[0]).toContain(
      'backend wasm in A, cpu in B (1 of 2 cells); threads 1 in A, 4 in B (1 of 2 cells)',
    )
  })

  it('tells of seeds, protocols and runs that are not finished', () => {
    const timing = {...timed().cell.timing, min_runs: 7}
    const b = side([timed({seed: 4, timing})], {directory: 'late', cells: 5})
    expect(warnings(side([timed()]), b)).toEqual([
      'B is not finished: 1 of 5 cells in late',
      'seeds differ, so that draws are not shared',
      'times were taken by other protocols (warm-up, runs, least time)',
    ])
  })

  it('takes cells that were interrupted for none that are finished', () => {
    const cells = [128, 256].map(seq_len => timed({seq_len}))
    expect(warnings(side(cells), side([cells[0]!, interrupted(cells[1]!)]))).toEqual([
      'B is not finished: 1 of 2 cells in run',
    ])
  })

  it('suspects the machine where six times or more moved one way', () => {
    const lengths = [1, 2, 3, 4, 5, 6]
    const all = (factor: number, count = 6) =>
      side(lengths.slice(0, count).map(seq_len => timed({seq_len}, 1e6 * factor)))
    expect(warnings(all(1), all(1.25))[0]).toMatch(/^all 6 times moved one way, by 1\.25x/)
    expect(warnings(all(1, 5), all(1.25, 5))).toEqual([])
    const mixed = side(lengths.map(seq_len => timed({seq_len}, seq_len === 3 ? 9e5 : 1.2e6)))
    expect(warnings(all(1), mixed)).toEqual([])
  })
})
