/** Damaged journals: no record is read as anything else than was written, and a run goes on with the rest. */
import {mkdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {beforeAll, beforeEach, describe, expect, it} from 'vitest'
import {allExperiments} from '../../src/experiments/index.js'
import {openJournal} from '../../src/results/journal/journal.js'
import {journalLine} from '../../src/results/journal/journal-line.js'
import {readRecords} from '../../src/results/journal/journal-reader.js'
import type {CellRecord} from '../../src/results/record.js'
import {alteredCells, DAMAGES, damagedBy, RECORDS} from '../helpers/damaged-journals.js'
import {FULL} from '../helpers/effort.js'
import {temporaryFolder} from '../helpers/folders.js'

/** Damages of each kind, and how many of these are tried on files, which are flushed to the disk. */
const [EACH, ON_FILES] = FULL ? [4000, 200] : [40, 4]

const EXPERIMENTS = await allExperiments()
const folder = join(temporaryFolder(), 'run')
const path = join(folder, 'records.jsonl')
const LINES = RECORDS.map(journalLine)
const bytes = Buffer.from(LINES.join(''))
let written: ReadonlySet<string>

beforeAll(async () => {
  mkdirSync(folder)
  writeFileSync(path, bytes)
  const records = await readRecords(folder, EXPERIMENTS, {checked: true})
  written = new Set(records.map(record => JSON.stringify(record)))
  expect(written.size).toBe(RECORDS.length)
})
beforeEach(() => {
  rmSync(folder, {recursive: true, force: true})
  mkdirSync(folder)
})

function expectWritten(records: readonly CellRecord[], what: string): void {
  for (const record of records) expect(written.has(JSON.stringify(record)), what).toBe(true)
}

describe.each(Object.keys(DAMAGES))('a journal with %s', kind => {
  it('is read as it was written, or not at all', () => {
    for (let n = 0; n < EACH; n++) {
      expect(alteredCells(damagedBy(kind, bytes, n), true), `${n}`).toEqual([])
    }
  })

  it('is refused by reports or shows what was written, and goes on without loss', async () => {
    for (let n = 0; n < ON_FILES; n++) {
      const damaged = damagedBy(kind, bytes, n)
      writeFileSync(path, damaged)
      const read = await readRecords(folder, EXPERIMENTS, {checked: true}).catch(error => {
        expect(error.code, `${n}`).toBe('BAD_FILE')
        return []
      })
      expectWritten(read, `${n}`)
      const journal = await openJournal(folder, EXPERIMENTS, {checked: true})
      await journal.close()
      expectWritten(journal.records, `${n}`)
      const kept = journal.damaged && readFileSync(join(folder, journal.damaged.keptAs))
      if (kept) expect(kept.equals(damaged), `${n}`).toBe(true)
      const mended = readFileSync(path, 'utf8').split(/(?<=\n)/)
      expect(
        mended.filter(line => !LINES.includes(line)),
        `${n}`,
      ).toEqual([])
    }
  })
})
