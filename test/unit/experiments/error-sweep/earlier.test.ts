import {writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {asPresentRecord} from '../../../../src/experiments/error-sweep/earlier.js'
import {allExperiments, experimentNamed} from '../../../../src/experiments/index.js'
import {openJournal} from '../../../../src/results/journal/journal.js'
import {JOURNAL_FILE, readRecords} from '../../../../src/results/journal/journal-reader.js'
import {parseRecord} from '../../../../src/results/journal/parse-record.js'
import type {CellRecord} from '../../../../src/results/record.js'
import {newFolder} from '../../../helpers/folders.js'
import {BENCH_PLAN, timed} from '../../../helpers/records/bench.js'
import {sweep} from '../../../helpers/records/error-sweep.js'
import {madeBy} from '../../../helpers/records/made-by.js'
import {failed, skipped} from '../../../helpers/records/outcomes.js'
import {VARIANCE_PLAN, variance} from '../../../helpers/records/variance.js'

const EXPERIMENTS = await allExperiments()

/** The same data without the fields of that name, at any depth. */
function without(names: readonly string[], data: object): object {
  return JSON.parse(JSON.stringify(data, (key, value) => (names.includes(key) ? undefined : value)))
}

describe('what was written before results named instruction set and threads', () => {
  it.each([sweep(), variance()])('reads as not known: $schema', record => {
    const {status, result} = record as Extract<CellRecord, {status: 'completed'}>
    expect(status).toBe('completed')
    const {backend: _backend, ...added} = madeBy({backend: 'cpu'})
    const earlier = {...record, result: without(Object.keys(added), result)}
    const read = parseRecord(earlier, 'records.jsonl:1', EXPERIMENTS) as typeof record & {
      result: object
    }
    expect(read.result).toEqual({...result, ...added})
  })
})

it('a benchmark written before it measured the multiply-add peak reads as without one', () => {
  const {result} = timed()
  const earlier = {...timed(), result: without(['fma_peak_gflops'], result)}
  expect(parseRecord(earlier, 'records.jsonl:1', EXPERIMENTS)).toMatchObject({
    result: {...result, fma_peak_gflops: null},
  })
})

describe('variances that were measured without looking at the tail', () => {
  it('are refused, with the version that reads them', () => {
    const earlier = {...variance(), schema: 'rfa.variance/1'}
    expect(() => parseRecord(earlier, 'records.jsonl:1', EXPERIMENTS)).toThrow(
      /^records.jsonl:1: expected schema .*rfa.variance\/2.*, got "rfa.variance\/1"$/,
    )
  })
})

describe('what was written before projections had signs and redraws', () => {
  const added = ['orth_sign', 'redraw']

  it('a record reads as one of uniform signs and a single draw', () => {
    const earlier = without(added, timed())
    expect(JSON.stringify(earlier)).not.toContain('redraw')
    expect(parseRecord(earlier, 'records.jsonl:1', EXPERIMENTS).cell).toMatchObject({
      orth_sign: 'haar',
      redraw: 'fixed',
    })
  })

  it.each([BENCH_PLAN, VARIANCE_PLAN])('a plan reads as the same plan: $experiment', async plan => {
    const {plan: schema} = await experimentNamed(plan.experiment)
    expect(schema.parse(without(added, plan))).toEqual(plan)
  })
})

describe('a run of error sweeps from before means had standard errors', () => {
  const added = [
    'mse_standard_error',
    'bias_squared_standard_error',
    'variance_standard_error',
    'means_unknown',
    'needed_num_features_log10',
    'least_needed_num_features',
  ]
  const schema = 'rfa.error-sweep/2'
  const present = sweep()

  /** As that version wrote it, with these needs of the two heads. */
  function earlier(needs: (number | null)[], replicates = 10) {
    const {result, cell} = present
    const per_head = result.per_head.map((head, at) => ({...head, needed_num_features: needs[at]}))
    const then = {...result, predicted_relative_variance: 40, needed_num_features: 700, per_head}
    return {...present, schema, cell: {...cell, replicates}, result: without(added, then)}
  }

  function folderWith(...records: object[]) {
    const lines = records.map(record => `${JSON.stringify(record)}\n`)
    return newFolder().then(async folder => {
      await writeFile(join(folder, JOURNAL_FILE), lines.join(''))
      return folder
    })
  }

  it('is read with the worst head in place of the mean one, and no errors', async () => {
    const unknown = {
      mse_standard_error: null,
      bias_squared_standard_error: null,
      variance_standard_error: null,
    }
    const [record] = await readRecords(await folderWith(earlier([100, 10_000])), EXPERIMENTS)
    const heads = present.result.per_head
    expect(record).toEqual({
      ...present,
      cell: {...present.cell, replicates: 10},
      result: {
        ...present.result,
        ...unknown,
        means_unknown: 'not_recorded',
        predicted_relative_variance: null,
        needed_num_features: 10_000,
        needed_num_features_log10: 4,
        least_needed_num_features: 100,
        per_head: [
          {...heads[0], needed_num_features: 100, needed_num_features_log10: 2},
          {...heads[1], needed_num_features: 10_000, needed_num_features_log10: 4},
        ],
      },
    })
  })

  it('keeps heads beyond doubles unknown, and says where replicates were too few', async () => {
    const [record] = await readRecords(await folderWith(earlier([null, 100], 3)), EXPERIMENTS)
    expect(record).toMatchObject({
      result: {
        means_unknown: 'few_replicates',
        needed_num_features: null,
        needed_num_features_log10: null,
        least_needed_num_features: 100,
        per_head: [{needed_num_features_log10: null}, {needed_num_features_log10: 2}],
      },
    })
  })

  it('is read where cells failed or were skipped, and refused where it fits no schema', async () => {
    const other = [failed(present), skipped(present)]
    const folder = await folderWith(...other.map(record => ({...record, schema})))
    expect(await readRecords(folder, EXPERIMENTS)).toEqual(other)
    const broken = {...earlier([1, 2]), result: {per_head: 3}}
    await expect(readRecords(await folderWith(broken), EXPERIMENTS)).rejects.toMatchObject({
      code: 'BAD_FILE',
    })
    for (const value of [null, 3, [schema], {schema: 'other/1'}]) {
      expect(asPresentRecord(value)).toBe(value)
    }
  })

  it('is not resumed: its cells would stand there twice', async () => {
    await expect(openJournal(await folderWith(earlier([1, 2])), EXPERIMENTS)).rejects.toMatchObject(
      {
        code: 'UNKNOWN_SCHEMA',
        suggestions: [expect.stringContaining('another version of rfa')],
      },
    )
  })
})
