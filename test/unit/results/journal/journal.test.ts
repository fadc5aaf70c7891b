import {execFileSync} from 'node:child_process'
import {existsSync} from 'node:fs'
import {
  appendFile,
  cp,
  mkdir,
  open,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, it, onTestFinished, vi} from 'vitest'
import {allExperiments} from '../../../../src/experiments/index.js'
import {openJournal} from '../../../../src/results/journal/journal.js'
import {journalLine} from '../../../../src/results/journal/journal-line.js'
import {newest, readRecords} from '../../../../src/results/journal/journal-reader.js'
import {takeLock} from '../../../../src/results/lock/lock.js'
import {newFolder} from '../../../helpers/folders.js'
import {timed} from '../../../helpers/records/bench.js'
import {sweep} from '../../../helpers/records/error-sweep.js'
import {failed, skipped} from '../../../helpers/records/outcomes.js'
import {variance} from '../../../helpers/records/variance.js'

const EXPERIMENTS = await allExperiments()
const KNOWN = EXPERIMENTS.map(({schema}) => schema).join(' or ')

const fileOf = (folder: string) => join(folder, 'records.jsonl')
const linesOf = async (folder: string) => (await readFile(fileOf(folder), 'utf8')).split('\n')

/** The journal of a new folder. */
async function newJournal() {
  const folder = await newFolder()
  return {folder, journal: await openJournal(folder, EXPERIMENTS)}
}

/** A folder whose journal holds the given records. */
async function folderWith(...records: Parameters<typeof newest>[0][]) {
  const {folder, journal} = await newJournal()
  for (const record of records.flat()) await journal.append(record)
  await journal.close()
  return folder
}

const all = [sweep(), timed(), variance(), failed(timed()), skipped(variance())]

describe('openJournal', () => {
  it('gives back every kind of record as it was appended', async () => {
    const folder = await folderWith(all)
    expect(await readRecords(folder, EXPERIMENTS)).toEqual(all)
    const journal = await openJournal(folder, EXPERIMENTS)
    expect(journal.records).toEqual(all)
    await journal.close()
  })

  it('writes one record per line, and keeps the order of overlapping calls', async () => {
    const {folder, journal} = await newJournal()
    const records = Array.from({length: 23}, (_, seed) => variance({seed}))
    await Promise.all(records.map(record => journal.append(record)))
    await journal.close()
    expect(await readFile(fileOf(folder), 'utf8')).toBe(records.map(journalLine).join(''))
  })

  it('has a record on the disk as soon as append returns', async () => {
    const {folder, journal} = await newJournal()
    await journal.append(timed())
    expect(await readRecords(folder, EXPERIMENTS)).toEqual([timed()])
    await journal.close()
  })

  it('waits for records on their way when it is closed', async () => {
    const {folder, journal} = await newJournal()
    void journal.append(timed())
    await journal.close()
    expect(await readRecords(folder, EXPERIMENTS)).toEqual([timed()])
  })

  it('keeps a second writer out until it is closed', async () => {
    const {folder, journal} = await newJournal()
    await expect(openJournal(folder, EXPERIMENTS)).rejects.toMatchObject({code: 'NOT_WRITABLE'})
    await journal.close()
    await (await openJournal(folder, EXPERIMENTS)).close()
    expect(existsSync(join(folder, 'records.lock'))).toBe(false)
  })

  it('cuts a torn tail off wherever it was torn, and nothing else', async () => {
    const folder = await folderWith([timed(), variance()])
    const whole = await readFile(fileOf(folder))
    const second = whole.indexOf('\n') + 1
    for (let length = second; length < whole.length; length += 37) {
      await writeFile(fileOf(folder), whole.subarray(0, length))
      const journal = await openJournal(folder, EXPERIMENTS)
      expect(journal.records).toEqual([timed()])
      await journal.append(sweep())
      await journal.close()
      expect(await readRecords(folder, EXPERIMENTS)).toEqual([timed(), sweep()])
    }
  })

  it('leaves a torn tail alone once another process has the folder', async () => {
    const folder = await folderWith([timed()])
    await appendFile(fileOf(folder), '{"schema":')
    const lock = await takeLock(join(folder, 'records.lock'))
    await writeFile(join(folder, 'records.lock'), 'of another')
    await expect(openJournal(folder, EXPERIMENTS, {lock})).rejects.toThrow(
      /expected the lock that this run/,
    )
    expect((await linesOf(folder)).at(-1)).toBe('{"schema":')
  })

  it('cuts off a last line of zeros, as a power cut leaves it', async () => {
    const folder = await folderWith([timed()])
    await appendFile(fileOf(folder), Buffer.alloc(71))
    await appendFile(fileOf(folder), '\n')
    await (await openJournal(folder, EXPERIMENTS)).close()
    expect((await linesOf(folder)).length).toBe(2)
  })

  it('lets go of the lock when the journal cannot be read', async () => {
    const folder = await folderWith([timed()])
    await writeFile(fileOf(folder), journalLine({...timed(), cell: {}}))
    await expect(openJournal(folder, EXPERIMENTS)).rejects.toMatchObject({code: 'BAD_FILE'})
    expect(existsSync(join(folder, 'records.lock'))).toBe(false)
  })

  it('says so when a folder stands in the way of the file', async () => {
    const folder = await newFolder()
    await mkdir(fileOf(folder))
    await expect(openJournal(folder, EXPERIMENTS)).rejects.toMatchObject({code: 'NOT_WRITABLE'})
  })

  it.runIf(existsSync('/dev/full'))('says so when the disk is full, and goes on', async () => {
    const folder = await newFolder()
    await symlink('/dev/full', fileOf(folder))
    const journal = await openJournal(folder, EXPERIMENTS)
    for (let attempt = 0; attempt < 2; attempt++) {
      await expect(journal.append(timed())).rejects.toMatchObject({
        code: 'NOT_WRITABLE',
        message: expect.stringContaining('ENOSPC'),
        suggestions: [expect.stringContaining('free some space')],
      })
    }
    await journal.close()
  })
})

describe('a journal that is taken away', () => {
  it.each([
    ['deleted', (path: string) => rm(path)],
    ['moved', (path: string) => rename(path, `${path}.old`)],
    ['replaced', (path: string) => cp(path, `${path}.new`).then(() => rename(`${path}.new`, path))],
    [
      'moved with its folder',
      (path: string) => rename(join(path, '..'), `${join(path, '..')}-old`),
    ],
  ])('says so when it is %s', async (_, lose) => {
    const folder = await newFolder()
    onTestFinished(() => rm(`${folder}-old`, {recursive: true, force: true}))
    const journal = await openJournal(folder, EXPERIMENTS)
    await journal.append(timed())
    await lose(fileOf(folder))
    await expect(journal.append(variance())).rejects.toMatchObject({
      code: 'NOT_WRITABLE',
      message: expect.stringMatching(/expected the (journal|lock) that this run .*, got none, or /),
    })
    await journal.close()
  })

  it('writes nothing once another process has the folder', async () => {
    const {folder, journal} = await newJournal()
    await rm(join(folder, 'records.lock'))
    await writeFile(join(folder, 'records.lock'), 'of another')
    await expect(journal.append(timed())).rejects.toMatchObject({code: 'NOT_WRITABLE'})
    await journal.close()
    expect(await readRecords(folder, EXPERIMENTS)).toEqual([])
    expect(await readFile(join(folder, 'records.lock'), 'utf8')).toBe('of another')
  })
})

describe('a journal that another program writes', () => {
  it.each([
    ['made shorter', (path: string) => truncate(path, 40)],
    ['made longer', (path: string) => appendFile(path, 'x\n')],
  ])('says so when it is %s', async (_, change) => {
    const {folder, journal} = await newJournal()
    await journal.append(timed())
    const {length} = await readFile(fileOf(folder))
    await change(fileOf(folder))
    await expect(journal.append(variance())).rejects.toMatchObject({
      code: 'NOT_WRITABLE',
      message: expect.stringMatching(
        /expected the \d+ bytes that this run found and wrote, got \d+ bytes$/,
      ),
      suggestions: [expect.stringContaining('`resume`')],
    })
    expect(length).toBeGreaterThan(40)
    await journal.close()
  })

  it('says so at the end of a run when bytes of it were overwritten, found or written ones', async () => {
    const folder = await folderWith([timed()])
    for (const place of [3, 1500]) {
      const journal = await openJournal(folder, EXPERIMENTS)
      await journal.append(variance({seed: place}))
      await journal.verify()
      const file = await open(fileOf(folder), 'r+')
      await file.write('#', place)
      await file.close()
      await expect(journal.verify()).rejects.toMatchObject({
        code: 'NOT_WRITABLE',
        message: expect.stringContaining('other bytes'),
      })
      await journal.close()
    }
  })
})

describe('a journal with damaged lines', () => {
  const first = [variance({seed: 1}), variance({seed: 2}), variance({seed: 3})]

  async function damagedFolder() {
    const folder = await folderWith(first)
    const text = await readFile(fileOf(folder), 'utf8')
    const damaged = text.replace('"seed":2', '"seed":8')
    await writeFile(fileOf(folder), damaged)
    return {folder, damaged}
  }

  it('is refused by who only reads, naming the line and how to go on', async () => {
    const {folder} = await damagedFolder()
    await expect(readRecords(folder, EXPERIMENTS)).rejects.toMatchObject({
      code: 'BAD_FILE',
      message: expect.stringMatching(/records\.jsonl:2: expected a record with the checksum of/),
      suggestions: [expect.anything(), expect.stringContaining('--resume')],
    })
  })

  it('goes on without these, and is kept beside it as it was', async () => {
    const {folder, damaged} = await damagedFolder()
    const journal = await openJournal(folder, EXPERIMENTS)
    expect(journal.records).toEqual([first[0], first[2]])
    expect(journal.damaged).toEqual({lines: [2], keptAs: 'records.damaged-1.jsonl'})
    await journal.append(first[1]!)
    await journal.verify()
    await journal.close()
    expect(await readFile(join(folder, 'records.damaged-1.jsonl'), 'utf8')).toBe(damaged)
    expect(await readRecords(folder, EXPERIMENTS)).toEqual([first[0], first[2], first[1]])
    const again = await openJournal(folder, EXPERIMENTS)
    await again.close()
    expect(again.damaged).toBeUndefined()
  })

  it('takes the next free name where one was kept already, and cuts a torn end off', async () => {
    const {folder} = await damagedFolder()
    await writeFile(join(folder, 'records.damaged-1.jsonl'), 'earlier')
    await appendFile(fileOf(folder), '{"schema":')
    const journal = await openJournal(folder, EXPERIMENTS)
    await journal.close()
    expect(journal.damaged?.keptAs).toBe('records.damaged-2.jsonl')
    expect(await readRecords(folder, EXPERIMENTS)).toEqual([first[0], first[2]])
  })

  it('is one whose last line is whole but altered: a power cut leaves no such line', async () => {
    const folder = await folderWith(first)
    const text = await readFile(fileOf(folder), 'utf8')
    await writeFile(fileOf(folder), text.replace('"seed":3', '"seed":8'))
    await expect(readRecords(folder, EXPERIMENTS)).rejects.toMatchObject({code: 'BAD_FILE'})
  })
})

describe('a journal of an earlier version', () => {
  const earlier = (...records: object[]) =>
    records.map(record => `${JSON.stringify(record)}\n`).join('')

  it('is read without checksums, and gone on with', async () => {
    const folder = await newFolder()
    await writeFile(fileOf(folder), earlier(timed(), variance()))
    expect(await readRecords(folder, EXPERIMENTS)).toEqual([timed(), variance()])
    const journal = await openJournal(folder, EXPERIMENTS)
    await journal.append(sweep())
    await journal.close()
    expect(await readRecords(folder, EXPERIMENTS)).toEqual([timed(), variance(), sweep()])
  })

  it.each([
    ['behind a line that has one', undefined],
    ['in a run whose manifest says that all have one', true],
  ])('is none %s', async (_, checked) => {
    const folder = await folderWith(checked ? [] : [timed()])
    await appendFile(fileOf(folder), earlier(variance()))
    await expect(readRecords(folder, EXPERIMENTS, {checked})).rejects.toMatchObject({
      code: 'BAD_FILE',
      message: expect.stringContaining('expected a record that ends with its checksum'),
    })
  })
})

describe('a record that cannot be flushed', () => {
  /** Fails the next flush, after something else has happened. */
  async function failFlush(folder: string, meanwhile: () => Promise<void>) {
    const file = await open(folder, 'r')
    const flush = vi.spyOn(Object.getPrototypeOf(file), 'datasync')
    onTestFinished(() => flush.mockRestore())
    await file.close()
    flush.mockImplementationOnce(async () => {
      await meanwhile()
      throw Object.assign(new Error('EIO: i/o error, fdatasync'), {code: 'EIO'})
    })
  }
  const other = journalLine
  const notSaved = {code: 'NOT_WRITABLE', message: expect.stringContaining('EIO')}

  it('is cut off again', async () => {
    const folder = await folderWith([timed()])
    const journal = await openJournal(folder, EXPERIMENTS)
    await failFlush(folder, async () => {})
    await expect(journal.append(variance())).rejects.toMatchObject(notSaved)
    expect(await readRecords(folder, EXPERIMENTS)).toEqual([timed()])
    await journal.append(sweep())
    await journal.close()
    expect(await readRecords(folder, EXPERIMENTS)).toEqual([timed(), sweep()])
  })

  it('takes nothing from another process that took the folder meanwhile', async () => {
    const folder = await folderWith([timed()])
    const journal = await openJournal(folder, EXPERIMENTS)
    await failFlush(folder, async () => {
      await writeFile(join(folder, 'records.lock'), 'of another')
      await writeFile(fileOf(folder), other(sweep()), {flag: 'r+'})
      await truncate(fileOf(folder), other(sweep()).length)
    })
    await expect(journal.append(variance())).rejects.toMatchObject(notSaved)
    expect(await readRecords(folder, EXPERIMENTS)).toEqual([sweep()])
    await expect(journal.append(variance())).rejects.toThrow(/expected the lock/)
    await journal.close()
  })

  it('takes nothing that stands behind it', async () => {
    const folder = await folderWith([timed()])
    const journal = await openJournal(folder, EXPERIMENTS)
    await failFlush(folder, () => appendFile(fileOf(folder), other(sweep())))
    await expect(journal.append(variance())).rejects.toMatchObject(notSaved)
    expect(await readRecords(folder, EXPERIMENTS)).toEqual([timed(), variance(), sweep()])
    await journal.close()
  })
})

describe('a journal that is a pipe', () => {
  it.runIf(process.platform === 'linux')('is refused, read or written', async () => {
    const folder = await newFolder()
    execFileSync('mkfifo', [fileOf(folder)])
    await expect(readRecords(folder, EXPERIMENTS)).rejects.toMatchObject({
      code: 'BAD_FILE',
      message: expect.stringContaining('expected a file that can be read, got a pipe'),
    })
    await expect(openJournal(folder, EXPERIMENTS)).rejects.toMatchObject({
      code: 'NOT_WRITABLE',
      message: expect.stringContaining('expected a file, got a pipe'),
    })
  })
})

describe('readRecords', () => {
  it('finds none where there is no journal', async () => {
    expect(await readRecords(await newFolder(), EXPERIMENTS)).toEqual([])
  })

  it('leaves a torn tail out and the file alone', async () => {
    const folder = await folderWith([timed(), variance()])
    const {length} = await readFile(fileOf(folder))
    await truncate(fileOf(folder), length - 5)
    expect(await readRecords(folder, EXPERIMENTS)).toEqual([timed()])
    expect((await readFile(fileOf(folder))).length).toBe(length - 5)
  })

  it('refuses a corrupt line in the middle, naming file and line', async () => {
    const folder = await folderWith([timed()])
    await appendFile(fileOf(folder), `{"schema": \n${journalLine(timed())}`)
    await expect(readRecords(folder, EXPERIMENTS)).rejects.toMatchObject({
      code: 'BAD_FILE',
      message: `${fileOf(folder)}:2: expected a record as JSON on one line, got "{\\"schema\\": "`,
    })
  })

  it('refuses a record that does not fit its schema, naming the place', async () => {
    const folder = await newFolder()
    const {result, ...rest} = timed()
    const broken = {...rest, result: {...result, median_ns: null}}
    await writeFile(fileOf(folder), `${JSON.stringify(broken)}\n`)
    await expect(readRecords(folder, EXPERIMENTS)).rejects.toMatchObject({
      code: 'BAD_FILE',
      message: expect.stringMatching(
        /records\.jsonl:1: expected a record of rfa\.bench\/1, got one in which result\.median_ns is null \(expected a number\)$/,
      ),
    })
  })

  it.each([
    ['of a future version', 'rfa.bench/2', '"rfa.bench/2"', /another version of rfa/],
    ['that nobody knows', 'other/1', '"other/1"', /not a file of rfa/],
    ['that is missing', undefined, 'none', /not a file of rfa/],
  ])('refuses a schema %s, naming those it reads', async (_, schema, shown, remedy) => {
    const folder = await newFolder()
    await writeFile(fileOf(folder), `${JSON.stringify({...timed(), schema})}\n`)
    await expect(readRecords(folder, EXPERIMENTS)).rejects.toMatchObject({
      code: 'UNKNOWN_SCHEMA',
      message: `${fileOf(folder)}:1: expected schema ${KNOWN}, got ${shown}`,
      suggestions: [expect.stringMatching(remedy)],
    })
  })

  it('says so when a folder stands in the way of the file', async () => {
    const folder = await newFolder()
    await mkdir(fileOf(folder))
    await expect(readRecords(folder, EXPERIMENTS)).rejects.toMatchObject({
      code: 'BAD_FILE',
      message: expect.stringContaining('a file that can be read'),
    })
  })
})

describe('newest', () => {
  it('keeps the last record of each key, in the order in which keys first came', () => {
    const [first, second] = [variance({seed: 1}), variance({seed: 2})]
    expect(newest([failed(first), second, first])).toEqual([first, second])
  })

  it('puts no failure in the place of what ended otherwise: only failed cells run again', () => {
    const record = variance({seed: 1})
    expect(newest([failed(record), record, failed(record)])).toEqual([record])
  })
})
