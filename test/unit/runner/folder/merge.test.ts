import {readdir, readFile, symlink} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, it, vi} from 'vitest'
import type {BenchRecord, TimedRecord} from '../../../../src/experiments/bench/schema.js'
import {allExperiments, experimentNamed} from '../../../../src/experiments/index.js'
import {planRun} from '../../../../src/experiments/planned-run.js'
import type {RunManifest} from '../../../../src/results/folder/manifest.js'
import {createRun, openRun} from '../../../../src/results/folder/run-directory.js'
import type {Plan} from '../../../../src/results/record.js'
import {runOf, saveTables} from '../../../../src/runner/folder/finished-run.js'
import {readShards, writeMerged} from '../../../../src/runner/folder/merge.js'
import {shardsOf} from '../../../../src/runner/schedule/shards.js'
import {newFolder} from '../../../helpers/folders.js'
import {BENCH_MANIFEST} from '../../../helpers/records/bench.js'
import {failed, interrupted} from '../../../helpers/records/outcomes.js'
import {benchPlanOf, benchRecords, writeRun} from '../../../helpers/run-folder.js'

const PLAN = benchPlanOf([64, 128, 256, 512, 1024])
const RECORDS = await benchRecords(PLAN, ({seq_len}) => 1000 * seq_len)
const COUNT = 3
const {jobs} = await planRun(PLAN)
const dealt = await shardsOf(PLAN, COUNT)
const recordOf = new Map(RECORDS.map(record => [record.key, record]))

/** Records of a shard, in another order than that of the plan. */
const partOf = (index: number): BenchRecord[] =>
  jobs
    .filter((_, at) => dealt[at] === index)
    .map(({key}) => recordOf.get(key)!)
    .reverse()

/** Folders of all shards. @param changes - of some manifests */
async function shardFolders(changes: Record<number, Partial<RunManifest>> = {}, plan: Plan = PLAN) {
  const parent = await newFolder()
  const folders: string[] = []
  for (let index = 1; index <= COUNT; index++) {
    const records = partOf(index)
    const shard = {index, count: COUNT, cells: records.length}
    const argv = ['rfa', 'run', 'plan.json', '--shard', `${index}/${COUNT}`, '-o', 'x']
    folders.push(
      await writeRun(join(parent, `s${index}`), plan, records, {shard, argv, ...changes[index]}),
    )
  }
  return folders
}

const merge = async (folders: readonly string[], partial = false) => {
  const directory = join(await newFolder(), 'merged')
  const run = await writeMerged(await readShards(folders), {directory, partial, formats: ['csv']})
  return {directory, run}
}
const refusal = (folders: readonly string[]) =>
  merge(folders).then(
    () => expect.unreachable(),
    error => error as Error & {code: string; suggestions: string[]},
  )

describe('shards of one run', () => {
  it('give the tables that the whole plan would have, in whatever order they are named', async () => {
    const folders = await shardFolders()
    const {directory, run} = await merge(folders.toReversed())
    const whole = join(await newFolder(), 'whole')
    const experiments = await allExperiments()
    const argv = ['rfa', 'run', 'plan.json']
    const made = {directory: whole, experiments, plan: PLAN, argv, resume: false}
    const {manifest, journal} = await createRun({
      ...made,
      keysOf: async () => [],
      labelsOf: async () => [],
    })
    const own = {experiment: await experimentNamed('bench'), plan: PLAN}
    const records = jobs.map(({key}) => recordOf.get(key)!)
    const finished = await runOf(own, {directory: whole, manifest, records})
    await saveTables(own, finished, {formats: ['csv']}, journal)
    await journal.close()
    for (const file of ['records.csv', 'summary.json']) {
      expect(await readFile(join(directory, file), 'utf8')).toBe(
        await readFile(join(whole, file), 'utf8'),
      )
    }
    expect(run.records).toEqual(finished.records)
    const saved = await openRun(directory, experiments)
    expect(saved.records).toEqual(records)
  })

  it('become a run of the whole plan, which names the machines', async () => {
    const machine = {...BENCH_MANIFEST.machine, node: '99.0.0'}
    const {run} = await merge(await shardFolders({2: {machine}}))
    const {manifest} = run
    expect(manifest).not.toHaveProperty('shard')
    expect(manifest.argv).toEqual(['rfa', 'run', 'plan.json', '--output', run.directory])
    expect(manifest.merged).toEqual([
      {shards: [1, 3], machine: BENCH_MANIFEST.machine},
      {shards: [2], machine},
    ])
  })

  it('are refused with cells that have no record, by name, and what runs them', async () => {
    const [one, , three] = await shardFolders()
    const error = await refusal([one!, three!])
    expect(error.code).toBe('FILE_MISSING')
    const lacking = partOf(2)
    expect(error.message).toContain(
      `each of the ${jobs.length} cells of the plan, got ${jobs.length - lacking.length}; missing: `,
    )
    const labels = jobs.filter((_, at) => dealt[at] === 2).map(({label}) => label)
    expect(labels.some(label => error.message.includes(label))).toBe(true)
    expect(error.suggestions[0]).toBe('name the folder of shard 2/3, too, or run it with --shard')
  })

  it('say how to continue one that was interrupted', async () => {
    const folders = await shardFolders()
    const records = partOf(2)
    const shard = {index: 2, count: COUNT, cells: records.length}
    const argv = ['rfa', 'run', 'plan.json', '--shard', '2/3']
    await writeRun(folders[1]!, PLAN, records.slice(1), {shard, argv})
    const {suggestions} = await refusal(folders)
    expect(suggestions[0]).toBe(
      `${folders[1]} has ${records.length - 1} of ${records.length} cells, continue with: rfa run plan.json --shard 2/3 --output ${folders[1]} --resume`,
    )
    const {run} = await merge(folders, true)
    expect(run.counts.total).toBe(jobs.length - 1)
  })

  it('have not ended where cells were interrupted, whose records are kept for reports', async () => {
    const folders = await shardFolders()
    const [first, ...others] = partOf(2)
    const shard = {index: 2, count: COUNT, cells: others.length + 1}
    const argv = ['rfa', 'run', 'plan.json', '--shard', '2/3']
    const part = interrupted(first as TimedRecord)
    await writeRun(folders[1]!, PLAN, [part, ...others], {shard, argv})
    const {message, suggestions} = await refusal(folders)
    expect(message).toContain(`of the ${jobs.length} cells of the plan, got ${jobs.length - 1}; `)
    expect(suggestions[0]).toContain(
      `${folders[1]} has ${others.length} of ${others.length + 1} cells, continue with: `,
    )
    const {run, directory} = await merge(folders, true)
    expect(run.records).toContainEqual(part)
    expect(await readdir(directory)).not.toContain('summary.json')
    // gone on with
    await writeRun(folders[1]!, PLAN, [part, ...others, first!], {shard, argv})
    expect((await merge(folders)).run.records).toContainEqual(first)
  })

  it('keep what failed, and take the newest record of a cell', async () => {
    const folders = await shardFolders()
    const [first, ...others] = partOf(1)
    const shard = {index: 1, count: COUNT, cells: others.length + 1}
    await writeRun(folders[0]!, PLAN, [failed(first!), ...others, first!], {shard})
    expect((await merge(folders)).run.counts).toMatchObject({failed: 0, total: jobs.length})
    await writeRun(folders[0]!, PLAN, [failed(first!), ...others], {shard})
    expect((await merge(folders)).run.counts).toMatchObject({failed: 1, total: jobs.length})
  })

  it('warn of several commits and of records that are none of theirs', async () => {
    const machine = {...BENCH_MANIFEST.machine, commit: 'other'}
    const folders = await shardFolders({3: {machine}})
    const [strange] = await benchRecords(benchPlanOf([96]), () => 1)
    const records = [...partOf(1), strange!]
    const shard = {index: 1, count: COUNT, cells: records.length - 1}
    await writeRun(folders[0]!, PLAN, records, {shard})
    const warn = vi.fn()
    await readShards(folders, undefined, warn)
    expect(warn.mock.calls.map(([text]) => text)).toEqual([
      expect.stringMatching(/^left out: 1 record outside this plan/),
      expect.stringMatching(/at commits .* and other: /),
    ])
  })
})

describe('what is no set of shards', () => {
  it('is told by the folder and what is wrong with it', async () => {
    const folders = await shardFolders()
    const [one, two] = folders
    const whole = await writeRun(join(await newFolder(), 'whole'), PLAN, RECORDS)
    expect((await refusal([one!, whole])).message).toMatch(
      /whole: expected a shard of a run, got one of a whole plan$/,
    )
    expect((await refusal([one!, join(one!, 'none')])).code).toBe('FILE_MISSING')
    expect((await refusal([one!, two!, one!])).message).toBe(
      `merge: expected each folder once, got ${one} twice`,
    )
    const {directory} = await merge(folders)
    expect((await refusal([one!, directory])).message).toMatch(/got one that was merged already$/)
  })

  it('is told of one folder under two names, and of one shard in two folders', async () => {
    const folders = await shardFolders()
    const link = join(await newFolder(), 'link')
    await symlink(folders[0]!, link)
    expect((await refusal([...folders, link])).message).toMatch(
      /once, got .* and .*link, the same$/,
    )
    const again = await shardFolders()
    expect((await refusal([...folders, again[0]!])).message).toMatch(
      /expected each shard once, with shard 1\/3 from .*, got the same shard again$/,
    )
  })

  it('is told by the first setting in which plans differ', async () => {
    const [one] = await shardFolders()
    const [, two] = await shardFolders({}, {...PLAN, seed: PLAN.seed + 1})
    const {code, message} = await refusal([one!, two!])
    expect(code).toBe('PLAN_MISMATCH')
    expect(message).toMatch(/expected the plan of .*s1, got `seed` is \d+, not \d+$/)
  })

  it.each([
    [{shard: {index: 2, count: 4, cells: 1}}, /expected a shard of 3, as .*s1 is, got one of 4$/],
    [{machine: {...BENCH_MANIFEST.machine, cpu: 'abacus'}}, /expected cpu .*, got abacus$/],
    [
      {machine: {...BENCH_MANIFEST.machine, rfa: '9.9.9'}},
      /made by this version of rfa, .*, got 9\.9\.9$/,
    ],
  ])('is reported where shards differ: %j', async (changes, message) => {
    const folders = await shardFolders({2: changes})
    expect(await refusal(folders)).toMatchObject({
      code: 'PLAN_MISMATCH',
      message: expect.stringMatching(message),
    })
  })

  it('is merged into no folder that has something in it', async () => {
    const folders = await shardFolders()
    const merged = await readShards(folders)
    const options = {directory: folders[0]!, partial: false, formats: []}
    await expect(writeMerged(merged, options)).rejects.toMatchObject({
      code: 'WOULD_OVERWRITE',
      suggestions: ['choose another `output`'],
    })
  })
})
