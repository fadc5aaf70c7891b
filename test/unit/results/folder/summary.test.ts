import {mkdir, readFile} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {countRecords, runSummary, writeSummary} from '../../../../src/results/folder/summary.js'
import {planHash} from '../../../../src/results/keys.js'
import {newFolder} from '../../../helpers/folders.js'
import {failed, skipped} from '../../../helpers/records/outcomes.js'
import {VARIANCE_PLAN, variance} from '../../../helpers/records/variance.js'

const records = [
  variance({seed: 1}),
  variance({seed: 2}),
  variance({seed: 3}),
  failed(variance({seed: 4})),
  skipped(variance({seed: 5})),
  skipped(variance({seed: 6})),
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
    await writeSummary(folder, VARIANCE_PLAN, records)
    const summary = JSON.parse(await readFile(join(folder, 'summary.json'), 'utf8'))
    expect(runSummary.parse(summary)).toEqual({
      schema: 'rfa.summary/1',
      experiment: 'variance',
      plan_hash: planHash(VARIANCE_PLAN),
      counts: countRecords(records),
    })
  })

  it('says so when it cannot write', async () => {
    const folder = await newFolder()
    await mkdir(join(folder, 'summary.json', 'x'), {recursive: true})
    await expect(writeSummary(folder, VARIANCE_PLAN, [])).rejects.toMatchObject({
      code: 'NOT_WRITABLE',
    })
  })
})
