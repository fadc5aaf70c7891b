import {describe, expect, it} from 'vitest'
import {closing, type Ending} from '../../../../src/cli/run/run-plan.js'
import {countRecords} from '../../../../src/results/folder/summary.js'
import type {CellRecord} from '../../../../src/results/record.js'
import {BENCH_MANIFEST, timed} from '../../../helpers/records/bench.js'
import {failed, interrupted, skipped} from '../../../helpers/records/outcomes.js'

const [first, second] = [timed({seq_len: 64}), timed({seq_len: 128})]

function said(records: CellRecord[], more: Partial<Ending> = {}): string[] {
  const how = {profile: false, details: false, elapsedMs: 700, ...more}
  const run = {
    records,
    counts: countRecords(records),
    manifest: BENCH_MANIFEST,
    directory: 'results/a',
  }
  return closing(run, {directory: 'results/a', argv: ['rfa', 'bench'], ...how})
}

describe('closing', () => {
  it('says that all cells completed, where they are, and what is next', () => {
    expect(said([first, second])).toEqual([
      '2 cells in 0.7 s, saved in results/a',
      'every table: rfa report results/a --details (as a page: --html page.html)',
    ])
    expect(said([first, second], {details: true, elapsedMs: 61_000})).toEqual([
      '2 cells in 1m 01s, saved in results/a',
      'as a page: rfa report results/a --html page.html',
    ])
  })

  it('says how many did not, and how to run them again', () => {
    const records = [first, skipped(second), failed(second)]
    const [line, again] = said(records)
    expect(line).toBe('1 of 3 cells in 0.7 s, 1 skipped, 1 failed, saved in results/a')
    expect(again).toMatch(/--resume/)
  })

  it('counts cells that were interrupted as measured in part', () => {
    expect(said([first, interrupted(second)])[0]).toBe(
      '1 of 2 cells in 0.7 s, 1 measured in part, saved in results/a',
    )
  })
})
