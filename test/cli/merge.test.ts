/** `rfa merge` as it is typed. */
import {join} from 'node:path'
import {beforeAll, expect, it} from 'vitest'
import {z} from 'zod'
import Merge from '../../commands/merge.js'
import {jsonSchemas} from '../../src/cli/json-schemas.js'
import {planRun} from '../../src/experiments/planned-run.js'
import {shardsOf} from '../../src/runner/schedule/shards.js'
import {newFolder, temporaryFolder} from '../helpers/folders.js'
import {benchPlanOf, benchRecords, writeRun} from '../helpers/run-folder.js'
import {runCommand} from './run-command.js'

const folder = temporaryFolder()
const shards = [1, 2].map(index => join(folder, `s${index}`))
const merge = (...argv: string[]) => runCommand(Merge, 'merge', argv)

beforeAll(async () => {
  const plan = benchPlanOf([64, 128])
  const {jobs} = await planRun(plan)
  const dealt = await shardsOf(plan, 2)
  const records = await benchRecords(plan, () => 5)
  for (const [at, directory] of shards.entries()) {
    const keys = jobs.filter((_, job) => dealt[job] === at + 1).map(({key}) => key)
    const own = records.filter(({key}) => keys.includes(key))
    const shard = {index: at + 1, count: 2, cells: own.length}
    const argv = ['rfa', 'bench', '--shard', `${at + 1}/2`]
    await writeRun(directory, plan, own, {shard, argv})
  }
})

it('prints the tables of the whole plan, and where they are', async () => {
  const merged = join(await newFolder(), 'merged')
  const {stdout, stderr, exitCode} = await merge(...shards, '--output', merged)
  expect(stdout).toMatch(/L=64|64/)
  expect(stderr).toMatch(/^merged 2 shards: \d+ cells, saved in .*\nevery table: rfa report /)
  expect(exitCode).toBe(0)
})

it('prints under --json what a run does', async () => {
  const {stdout} = await merge(...shards, '--json', '-o', join(await newFolder(), 'merged'))
  const schema = (await jsonSchemas())['finished-run.schema.json']
  const document = z
    .fromJSONSchema(schema as z.core.JSONSchema.JSONSchema)
    .parse(JSON.parse(stdout))
  expect(document).toMatchObject({schema: 'rfa.finished-run/1', verdicts: expect.any(Array)})
})

it('refuses to lack cells, unless told to; then says so by its exit code', async () => {
  expect(await merge(shards[0]!)).toMatchObject({
    exitCode: 3,
    stderr: expect.stringMatching(
      /^merge: expected a record of each of the .*missing: .*\nCode: FILE_MISSING/,
    ),
  })
  const merged = join(await newFolder(), 'merged')
  const {exitCode, stderr} = await merge(shards[0]!, '--partial', '-o', merged)
  expect(exitCode).toBe(4)
  expect(stderr).toContain(`1 cell missing: rfa bench --output ${merged} --resume`)
})
