/** Damaged run folders: a typed error, or a report that can be shown and a journal that can be gone on with. */
import {mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import fc from 'fast-check'
import {afterAll, beforeEach, describe, expect, test} from 'vitest'
import {services} from '../../src/cli/program/services.js'
import {readSaved, savedReport} from '../../src/cli/report/read-saved.js'
import {writeReport} from '../../src/cli/report/write-report.js'
import {RfaError} from '../../src/errors.js'
import {allExperiments} from '../../src/experiments/index.js'
import {renderMarkdown} from '../../src/report/markdown.js'
import {renderTerminal} from '../../src/report/terminal.js'
import {openJournal} from '../../src/results/journal/journal.js'
import {cellKey} from '../../src/results/keys.js'
import type {CellRecord, Plan} from '../../src/results/record.js'
import {toCsv} from '../../src/results/tables/csv.js'
import {FULL} from '../helpers/effort.js'
import {temporaryFolder} from '../helpers/folders.js'
import {sweep as sweepPlan} from '../helpers/plans.js'
import {BENCH_MANIFEST, BENCH_PLAN, timed} from '../helpers/records/bench.js'
import {sweep} from '../helpers/records/error-sweep.js'
import {failed, skipped} from '../helpers/records/outcomes.js'
import {VARIANCE_PLAN, variance} from '../helpers/records/variance.js'
import {formulasOf} from '../helpers/spreadsheet.js'
import {edited, edits} from './json-lines.js'
import {damaged} from './mutate.js'
import {beginWatch} from './watch.js'

/** Inputs of each kind of damage, of which an experiment has four. */
const EACH = FULL ? 150 : 32
/** Every so-manieth journal is opened for writing as well, which flushes to the disk. */
const RESUMED = 8

const EXPERIMENTS = await allExperiments()
const parent = temporaryFolder()
const folder = join(parent, 'run')
const watch = beginWatch()
const told = {shown: 0, refused: 0, 'gone on with': 0, 'set aside': 0}
afterAll(async () => {
  await watch.end()
  const most = Math.round(watch.growth() / 2 ** 20)
  process.stderr.write(`${watch.count()} run folders, ${JSON.stringify(told)}, ${most} MiB\n`)
})
beforeEach(() => {
  rmSync(folder, {recursive: true, force: true})
  mkdirSync(folder)
})

/** What comes of an action, `undefined` where a typed error refuses it. */
async function orRefused<T>(action: () => Promise<T>): Promise<T | undefined> {
  try {
    return await action()
  } catch (error) {
    if (!(error instanceof RfaError)) throw error
    expect(error.message).toMatch(/./)
    return undefined
  }
}

function save(manifest: Uint8Array, records: Uint8Array): void {
  writeFileSync(join(folder, 'manifest.json'), manifest)
  writeFileSync(join(folder, 'records.jsonl'), records)
}

/** The report of the folder; `undefined` where it is refused by a typed error. */
async function reportOf(): Promise<string | undefined> {
  return orRefused(async () => {
    const saved = await readSaved([folder], 'rfa', services)
    const blocks = await savedReport(saved)
    for (const one of saved) if (one.kind === 'run') expectCalmTables(one.run.records)
    await writeReport(blocks, {output: join(folder, 'report.md'), force: false}, () => {})
    return renderTerminal(blocks, {width: 80, colour: false}) + renderMarkdown(blocks)
  })
}

/** No cell of a table begins like a formula. */
function expectCalmTables(records: readonly CellRecord[]): void {
  const [first] = records
  const tables = EXPERIMENTS.find(({schema}) => schema === first?.schema)?.tables ?? []
  for (const table of tables) {
    expect(formulasOf(toCsv(records, table))).toEqual([])
  }
}

/**
 * A resumed run keeps every whole line as it is, and cuts off what is torn, or refuses and touches nothing. Where lines are
 * damaged, the file as it was is kept.
 */
async function goOn(): Promise<void> {
  const path = join(folder, 'records.jsonl')
  const before = readFileSync(path)
  const journal = await orRefused(() => openJournal(folder, EXPERIMENTS))
  await journal?.close()
  const after = readFileSync(path)
  if (journal?.damaged) {
    told['set aside']++
    expect(readFileSync(join(folder, journal.damaged.keptAs)).equals(before)).toBe(true)
    return
  }
  if (journal) told['gone on with']++
  else expect(after.equals(before)).toBe(true)
  expect(after.equals(before.subarray(0, after.length))).toBe(true)
  expect(before.subarray(after.length, -1).includes('\n')).toBe(false)
}

async function check(name: string, manifest: Uint8Array, records: Uint8Array): Promise<void> {
  save(manifest, records)
  await watch.over(name, async () => {
    const shown = await reportOf()
    told[shown === undefined ? 'refused' : 'shown']++
    if (shown !== undefined) expect(shown, name).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u)
    if (watch.count() % RESUMED === 0) await goOn()
  })
}

const KINDS: readonly (readonly [Plan, CellRecord])[] = [
  [BENCH_PLAN, timed()],
  [VARIANCE_PLAN, variance()],
  [sweepPlan(), sweep()],
]

describe.each(KINDS)('a run of $experiment', (plan, record) => {
  const manifest = {...BENCH_MANIFEST, plan, argv: ['rfa', plan.experiment, '--quick']}
  const records = [record, failed(record), skipped(record)].map((one, seed) => {
    const cell = {...one.cell, seed}
    return {...one, cell, key: cellKey(one.schema, cell)}
  })
  const wholeManifest = Buffer.from(JSON.stringify(manifest))
  const linesOf = (all: readonly unknown[]) =>
    Buffer.from(all.map(one => `${JSON.stringify(one)}\n`).join(''))
  const wholeRecords = linesOf(records)

  test('with damaged bytes', async () => {
    save(wholeManifest, wholeRecords)
    expect(await reportOf()).toContain('favor-pos')
    for (let n = 0; n < EACH; n++) {
      await check(`manifest ${n}`, damaged(wholeManifest, n), wholeRecords)
      await check(`journal ${n}`, wholeManifest, damaged(wholeRecords, n))
    }
    expectNothingElse()
  })

  test('with changed fields', async () => {
    const changes = fc.tuple(fc.nat(2), edits)
    await fc.assert(
      fc.asyncProperty(changes, async ([at, list]) => {
        const name = JSON.stringify(list)
        const changed = records.map((one, index) => (index === at ? edited(one, list) : one))
        await check(name, wholeManifest, linesOf(changed))
        await check(name, Buffer.from(`${JSON.stringify(edited(manifest, list))}`), wholeRecords)
      }),
      {numRuns: EACH, seed: 15},
    )
    expectNothingElse()
  })
})

/** Nothing was written but what a report writes. */
function expectNothingElse(): void {
  expect(readdirSync(parent)).toEqual(['run'])
  const own = /^(manifest\.json|records(\.damaged-\d+)?\.jsonl|report\.md)$/
  expect(readdirSync(folder).filter(name => !own.test(name))).toEqual([])
}

test('no folder takes memory without end', () => {
  // three records of some kilobytes each time; what grows is what the engine has not collected yet
  expect(watch.growth()).toBeLessThan(2 ** 30)
})
