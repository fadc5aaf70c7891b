import {mkdir, readdir} from 'node:fs/promises'
import {join} from 'node:path'
import {asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects} from 'hyparquet'
import {describe, expect, it} from 'vitest'
import benchExperiment from '../../../../src/experiments/bench/index.js'
import sweepExperiment from '../../../../src/experiments/error-sweep/index.js'
import {writeParquet} from '../../../../src/results/tables/parquet.js'
import {newFolder} from '../../../helpers/folders.js'
import {timed} from '../../../helpers/records/bench.js'
import {sweep} from '../../../helpers/records/error-sweep.js'
import {failed} from '../../../helpers/records/outcomes.js'

const record = sweep({options: {tau: 0.5}, causal: true})

async function written(records = [record, failed(record)]) {
  const folder = await newFolder()
  await writeParquet(join(folder, 'records.parquet'), records, sweepExperiment.tables)
  const read = async (name: string) => {
    const file = await asyncBufferFromFile(join(folder, name))
    const {schema} = await parquetMetadataAsync(file)
    const types = Object.fromEntries(schema.map(({name, type}) => [name, type]))
    return {types, rows: await parquetReadObjects({file})}
  }
  return {names: (await readdir(folder)).sort(), read}
}

describe('writeParquet', () => {
  it('writes numbers, whole numbers, truth values and texts as what they are', async () => {
    const {read} = await written()
    const {types, rows} = await read('records.parquet')
    expect(rows[0]).toMatchObject({
      key: record.key,
      options: 'tau=0.5',
      causal: true,
      seq_len: BigInt(record.result.query_len),
      rel_l2_median: record.result.rel_l2.median,
    })
    expect(types).toMatchObject({
      key: 'BYTE_ARRAY',
      causal: 'BOOLEAN',
      seq_len: 'INT64',
      rel_l2_median: 'DOUBLE',
    })
  })

  it('leaves out nothing of a cell that failed, and has null for what it lacks', async () => {
    const {read} = await written()
    const {rows} = await read('records.parquet')
    expect(rows).toHaveLength(2)
    expect(rows[1]).toMatchObject({status: 'failed', rel_l2_median: null})
    expect(rows[1]!.error_message).toEqual(expect.stringMatching(/\w/))
  })

  it('writes the heads of an error sweep into a file beside', async () => {
    const {names, read} = await written([record])
    expect(names).toEqual(['records.parquet', 'records_per_head.parquet'])
    const {rows} = await read('records_per_head.parquet')
    expect(rows.map(({head, rel_l2}) => [head, rel_l2])).toEqual(
      record.result.per_head.map(({head, rel_l2}) => [BigInt(head), rel_l2]),
    )
  })

  it('says so when it cannot write', async () => {
    const path = join(await newFolder(), 'records.parquet')
    await mkdir(join(path, 'x'), {recursive: true})
    const [first] = benchExperiment.tables
    await expect(writeParquet(path, [timed({}, 1234.5)], [first!])).rejects.toMatchObject({
      code: 'NOT_WRITABLE',
    })
  })
})
