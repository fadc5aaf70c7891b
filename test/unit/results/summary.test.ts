import {mkdir, readFile} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {planHash} from '../../../src/results/keys.js'
import {countRecords, runSummary, writeSummary} from '../../../src/results/summary.js'
import {newFolder} from './support/folder.js'
import {failed, skipped, variancePlan, varianceRecord} from './support/records.js'

const records = [
  varianceRecord({seed: 1}),
  varianceRecord({seed: 2}),
  varianceRecord({seed: 3}),
  failed(varianceRecord({seed: 4})),
  skipped(varianceRecord({seed: 5})),
  skipped(varianceRecord({seed: 6})),
]

describe('countRecords', () => {
  it('counts by how the cells ended', () => {
    expect(countRecords(records)).toEqual({total: 6, completed: 3, skipped: 2, failed: 1})
    expect(countRecords([])).toEqual({total: 0, completed: 0, skipped: 0, failed: 0})
  })
})

describe('writeSummary', () => {
  it('writes counts and the hash of the plan', async () => {
    const folder = await newFolder()
    await writeSummary(folder, variancePlan, records)
    const summary = JSON.parse(await readFile(join(folder, 'summary.json'), 'utf8'))
    expect(runSummary.parse(summary)).toEqual({
      schema: 'rfa.summary/1',
      experiment: 'variance',
      plan_hash: planHash(variancePlan),
      counts: countRecords(records),
    })
  })

  it('says so when it cannot write', async () => {
    const folder = await newFolder()
    await mkdir(join(folder, 'summary.json', 'x'), {recursive: true})
    await expect(writeSummary(folder, variancePlan, [])).rejects.toMatchObject({
      code: 'NOT_WRITABLE',
    })
  })
})
