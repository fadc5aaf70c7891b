import {mkdir, readdir, readFile} from 'node:fs/promises'
import {join} from 'node:path'
import {parse} from 'csv-parse/sync'
import {describe, expect, it} from 'vitest'
import benchExperiment from '../../../../src/experiments/bench/index.js'
import sweepExperiment from '../../../../src/experiments/error-sweep/index.js'
import varianceExperiment from '../../../../src/experiments/variance/index.js'
import type {CellRecord} from '../../../../src/results/record.js'
import * as csv from '../../../../src/results/tables/csv.js'
import {newFolder} from '../../../helpers/folders.js'
import {timed} from '../../../helpers/records/bench.js'
import {metric, sweep} from '../../../helpers/records/error-sweep.js'
import {failed, skipped} from '../../../helpers/records/outcomes.js'
import {variance} from '../../../helpers/records/variance.js'

/** A cell with another number wherever one is looked at below. */
const errorSweep = sweep(
  {
    options: {tau: 0.5},
    input: {
      kind: 'file',
      paths: ['a, "b".npy', 'k.npy', 'v.npy'],
      names: {query: 'q', key: 'k', value: 'v'},
    },
    scale: 0.5,
    causal: false,
  },
  {
    mse: {mean: 10, median: 11, low: 12, high: 13, min: 14, max: 15},
    row_total_variation: metric(100),
    per_head: [0.5, 1.5].map((rel_l2, head) => ({
      ...sweep().result.per_head[0]!,
      head,
      rel_l2,
      mse: head === 0 ? null : 3,
    })),
  },
)
const operations = {softmaxAttention: 'fused', linearAttention: 'composite'} as const
const bench = timed({}, 1234.5, {operations, threads: 2})

const tablesOf = ([record]: readonly CellRecord[]) => {
  const experiments = [benchExperiment, sweepExperiment, varianceExperiment]
  return experiments.find(({schema}) => schema === record?.schema)!.tables
}
/** The first table of the experiment that the records are of. */
const toCsv = (records: readonly CellRecord[]) => csv.toCsv(records, tablesOf(records)[0]!)

const rowsOf = (text: string): Record<string, string>[] => parse(text, {columns: true})
const headerOf = (text: string) => text.split('\n')[0]!.split(',')

describe('toCsv', () => {
  it('flattens a completed cell, nested names joined by underscores', () => {
    const [row] = rowsOf(toCsv([errorSweep]))
    expect(row).toMatchObject({
      schema: 'rfa.error-sweep/3',
      key: errorSweep.key,
      ...{status: 'completed', method: 'favor-pos', options: 'tau=0.5', input_kind: 'file'},
      ...{input_paths: 'a, "b".npy;k.npy;v.npy', input_names_query: 'q', projection: 'orth'},
      ...{scale: '0.5', causal: 'false', mse_mean: '10', mse_median: '11', mse_low: '12'},
      ...{mse_high: '13', mse_min: '14', mse_max: '15', statistics_sum_norm2: '9.25'},
    })
  })

  it('writes null as an empty field, also for all parts of an object that is null', () => {
    const all = sweep({seed: 1}, {row_kl_nats: metric(7), row_kl_infinite_pct: 8})
    const [row] = rowsOf(toCsv([errorSweep, all]))
    expect(row).toMatchObject({row_kl_nats_mean: '', row_kl_nats_high: ''})
    expect(row).toMatchObject({row_total_variation_mean: '100', row_kl_infinite_pct: ''})
  })

  it('leaves out what is empty in every row, and keeps the order of the others', () => {
    const rare = sweep({seed: 1}, {row_kl_infinite_pct: 8})
    const [without, with_] = [[errorSweep], [errorSweep, rare]].map(records =>
      headerOf(toCsv(records)),
    )
    expect(without).not.toContain('input_batch')
    expect(without).not.toContain('error_code')
    expect(without).not.toContain('row_kl_infinite_pct')
    expect(with_!.filter(name => name !== 'row_kl_infinite_pct')).toEqual(without)
    for (const row of rowsOf(toCsv([errorSweep]))) expect(Object.values(row)).not.toContain('')
    const [all] = sweepExperiment.tables
    const order = all!.columns().map(({name}) => name)
    expect(order.filter(name => with_!.includes(name))).toEqual(with_)
  })

  it('has the sizes that were used, wherever the input came from', () => {
    const sizes = {query_len: 31, key_len: 37, batch: 2, heads: 3, head_dim: 17, value_dim: 13}
    const file = sweep({seq_len: null}, sizes)
    const generated = failed(sweep({seq_len: 64}))
    const [used, asked] = rowsOf(toCsv([file, generated]))
    expect(used).toMatchObject({
      ...{seq_len: '31', key_len: '37', batch: '2', heads: '3', head_dim: '17', value_dim: '13'},
    })
    expect(asked).toMatchObject({status: 'failed', seq_len: '64'})
    expect(used).not.toHaveProperty('query_len')
    expect(used).not.toHaveProperty('requested_seq_len')
    const [, heads] = sweepExperiment.tables
    expect(rowsOf(csv.toCsv([file], heads!)).map(row => row.seq_len)).toEqual(['31', '31'])
  })

  it('distinguishes rows against softmax from those against what a method converges to', () => {
    const records = [sweep({target: 'raw'}), sweep({target: 'matched'})]
    expect(rowsOf(toCsv(records)).map(({target}) => target)).toEqual(['raw', 'matched'])
  })

  it('distinguishes what was asked for from what was used', () => {
    const asking = timed({threads: 3}, 1e6, {threads: 3})
    const rows = rowsOf(toCsv([bench, asking]))
    expect(rows[0]).toMatchObject({
      requested_backend: 'auto',
      backend: 'wasm',
      requested_threads: '',
      threads: '2',
    })
    expect(rows[1]).toMatchObject({requested_threads: '3'})
  })

  it('leaves lists of measurements out and writes maps as pairs', () => {
    const text = toCsv([bench])
    expect(headerOf(text)).not.toContain('samples_ns')
    expect(headerOf(toCsv([errorSweep])).join()).not.toContain('per_head')
    expect(rowsOf(text)[0]!.operations).toBe('softmaxAttention=fused;linearAttention=composite')
  })

  it('keeps every digit of a number', () => {
    const value = 0.1 + 0.2
    const record = variance()
    record.result.expectation = value
    expect(Number(rowsOf(toCsv([record]))[0]!.expectation)).toBe(value)
  })

  it('has one row per projection for a variance cell', () => {
    const rows = rowsOf(toCsv([variance(), skipped(variance({seed: 4}))]))
    expect(rows.map(row => [row.status, row.projection, row.relative_mse, row.ratio_low])).toEqual([
      ['completed', 'iid', '0.05', ''],
      ['completed', 'orth', '0.03', '0.375'],
      ['skipped', '', '', ''],
    ])
    expect(rows[0]).toMatchObject({projections: 'iid;orth', norm: '0.5', expectation: '1.25'})
  })

  it('has names for all columns once, and says first what a row is', () => {
    for (const record of [bench, errorSweep, variance()]) {
      const header = headerOf(toCsv([record, failed(record), skipped(record)]))
      expect(new Set(header).size).toBe(header.length)
      expect(header.slice(0, 3)).toEqual(['schema', 'key', 'status'])
      expect(header.slice(-3)).toEqual(['reason', 'error_code', 'error_message'])
    }
  })

  it('says why a cell was skipped or failed, quotes and line breaks included', () => {
    expect(rowsOf(toCsv([skipped(bench)]))[0]!.reason).toBe('supports no mask')
    expect(rowsOf(toCsv([failed(bench), bench]))[0]).toMatchObject({
      error_code: 'CELL_CRASHED',
      error_message: 'expected an answer, got "none",\nbut a newline',
      median_ns: '',
    })
  })

  it('has all columns where a table has no rows', () => {
    const [, heads] = sweepExperiment.tables
    const text = csv.toCsv([failed(errorSweep)], heads!)
    expect(headerOf(text)).toEqual(heads!.columns().map(({name}) => name))
    expect(rowsOf(text)).toEqual([])
  })

  it('is empty for no records', () => {
    expect(csv.toCsv([], benchExperiment.tables[0]!)).toBe('')
  })

  it('keeps texts from being run as formulas, and numbers numbers', () => {
    const record = structuredClone(errorSweep)
    if (record.cell.input.kind !== 'file') throw new Error()
    record.cell.input.paths = ["=cmd|' calc'!A1.npz"]
    record.cell.input.names = {query: '=1+1', key: '@SUM(A1)', value: '-x'}
    record.result.cosine.mean = -0.5
    record.result.mse.mean = 1e21
    const text = toCsv([record])
    const [row] = rowsOf(text)
    expect(row).toMatchObject({
      input_paths: "'=cmd|' calc'!A1.npz",
      input_names_query: "'=1+1",
      input_names_key: "'@SUM(A1)",
      input_names_value: "'-x",
      cosine_mean: '-0.5',
      mse_mean: '1e+21',
    })
    for (const [name, value] of Object.entries(row!)) {
      if (/^[=+\-@\t\r]/.test(value)) expect(Number(value), name).not.toBeNaN()
    }
  })

  it('quotes texts that other programs would cut at semicolons', () => {
    const record = structuredClone(errorSweep)
    if (record.cell.input.kind !== 'file') throw new Error()
    record.cell.input.paths = ['q.npy', '=1.npy', 'v.npy']
    const text = toCsv([record])
    expect(text).toContain('"q.npy;=1.npy;v.npy"')
    expect(rowsOf(text)[0]).toMatchObject({input_paths: 'q.npy;=1.npy;v.npy'})
  })

  it('refuses records of several experiments', () => {
    expect(() => toCsv([bench, variance()])).toThrow(
      'tables: expected records of one experiment, got rfa.bench/1 and rfa.variance/2',
    )
  })
})

describe('the table of heads', () => {
  it('has one row per completed cell and head', () => {
    const [, heads] = sweepExperiment.tables
    const text = csv.toCsv([errorSweep, failed(errorSweep)], heads!)
    const rows = rowsOf(text)
    expect(rows.map(row => [row.head, row.rel_l2, row.mse])).toEqual([
      ['0', '0.5', ''],
      ['1', '1.5', '3'],
    ])
    expect(rows[0]).toMatchObject({
      key: errorSweep.key,
      method: 'favor-pos',
      statistics_query_norm2: '4.8',
    })
  })
})

describe('writeCsv', () => {
  it('writes the heads of an error sweep into a file beside', async () => {
    const folder = await newFolder()
    await csv.writeCsv(join(folder, 'records.csv'), [errorSweep], sweepExperiment.tables)
    expect((await readdir(folder)).sort()).toEqual(['records.csv', 'records_per_head.csv'])
    expect(await readFile(join(folder, 'records.csv'), 'utf8')).toBe(toCsv([errorSweep]))
  })

  it('writes one file where the tables beside it would have no rows', async () => {
    const folder = await newFolder()
    const tables = benchExperiment.tables.filter(({flag}) => !flag)
    await csv.writeCsv(join(folder, 'records.csv'), [bench], tables)
    expect(await readdir(folder)).toEqual(['records.csv'])
  })

  it('says so when it cannot write', async () => {
    const path = join(await newFolder(), 'records.csv')
    await mkdir(join(path, 'x'), {recursive: true})
    await expect(csv.writeCsv(path, [bench], benchExperiment.tables)).rejects.toMatchObject({
      code: 'NOT_WRITABLE',
    })
  })
})
