import {writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {allExperiments} from '../../../../src/experiments/index.js'
import {journalLine} from '../../../../src/results/journal/journal-line.js'
import {JOURNAL_FILE, readRecords} from '../../../../src/results/journal/journal-reader.js'
import {readAgain, requireHeapFor} from '../../../../src/results/journal/large-journal.js'
import type {CellRecord, JournalPlace} from '../../../../src/results/record.js'
import {newFolder} from '../../../helpers/folders.js'
import {timed} from '../../../helpers/records/bench.js'
import {sweep} from '../../../helpers/records/error-sweep.js'
import {failed, interrupted, skipped} from '../../../helpers/records/outcomes.js'

const EXPERIMENTS = await allExperiments()
const RECORDS: CellRecord[] = [
  sweep(),
  interrupted(sweep({layer: 3})),
  failed(sweep({seed: 9})),
  skipped(sweep({seed: 7})),
  timed(),
]

async function read(records: readonly CellRecord[]) {
  const folder = await newFolder()
  const path = join(folder, JOURNAL_FILE)
  const text = records.map(journalLine).join('')
  await writeFile(path, text)
  const reading = (wholeUpTo: number) => readRecords(folder, EXPERIMENTS, {wholeUpTo})
  return {path, reading, bytes: Buffer.byteLength(text)}
}

const placeOf = (record: CellRecord | undefined) => (record as {place?: JournalPlace}).place

describe('records of a large journal', () => {
  it('lack the heavy lists of their experiment and nothing else, and say where they stand', async () => {
    const {path, reading, bytes} = await read(RECORDS)
    expect(await reading(bytes)).toEqual(RECORDS)
    const held = await reading(bytes - 1)
    held.slice(2).forEach((record, at) => void expect(record).toEqual(RECORDS[at + 2]))
    held.slice(0, 2).forEach((record, at) => {
      const {result, ...whole} = RECORDS[at] as ReturnType<typeof sweep>
      const {per_head: _, replicate_metrics: __, ...rest} = result
      const place = {path, number: at + 1, start: expect.any(Number), bytes: expect.any(Number)}
      expect(record).toEqual({...whole, place, result: rest})
      expect(record).toHaveProperty('result')
      expect(Object.keys((record as typeof whole & {result: object}).result)).toEqual(
        Object.keys(rest),
      )
    })
  })

  it('are read again as they were written', async () => {
    const {reading} = await read(RECORDS)
    const [first, second] = await reading(0)
    expect(readAgain(placeOf(first)!)).toMatchObject(RECORDS[0]!)
    expect(readAgain(placeOf(second)!)).toMatchObject(RECORDS[1]!)
  })

  it('are refused where the file is another one by then', async () => {
    const {path, reading} = await read(RECORDS)
    const [, second] = await reading(0)
    const error = expect.objectContaining({
      code: 'BAD_FILE',
      message: expect.stringContaining(path),
    })
    await writeFile(path, RECORDS.toReversed().map(journalLine).join(''))
    expect(() => readAgain(placeOf(second)!)).toThrow(error)
    await writeFile(path, '')
    expect(() => readAgain(placeOf(second)!)).toThrow(error)
  })
})

describe('the heap', () => {
  it('is taken to hold as many records as a plan has, whatever Node allows', () => {
    expect(() => requireHeapFor(100_000, 'records.jsonl', 1)).not.toThrow()
    expect(() => requireHeapFor(100_000, 'records.jsonl')).not.toThrow()
  })

  it('wants to be larger for more', () => {
    const limit = 2 * 2 ** 30
    expect(() => requireHeapFor(200_000, 'records.jsonl', limit)).not.toThrow()
    expect(() => requireHeapFor(300_000, 'records.jsonl', limit)).toThrow(
      expect.objectContaining({
        code: 'TOO_LARGE',
        message:
          'records.jsonl: expected at most 299,999 records with the heap that Node allows here, 2048 MiB, got more',
        suggestions: [expect.stringContaining('NODE_OPTIONS=--max-old-space-size=')],
      }),
    )
  })
})
