/** What `--resume --dry-run` tells of a run that is there. */
import {readdir} from 'node:fs/promises'
import {join} from 'node:path'
import {beforeAll, describe, expect, it} from 'vitest'
import Variance from '../../commands/variance.js'
import {allExperiments} from '../../src/experiments/index.js'
import {planKeys, planLabels, planRun} from '../../src/experiments/planned-run.js'
import type {VarianceCell} from '../../src/experiments/variance/schema.js'
import {createRun} from '../../src/results/folder/run-directory.js'
import type {CellRecord} from '../../src/results/record.js'
import {temporaryFolder} from '../helpers/folders.js'
import {failed} from '../helpers/records/outcomes.js'
import {VARIANCE_PLAN, variance} from '../helpers/records/variance.js'
import {runCommand} from './run-command.js'

const folder = temporaryFolder()
const run = join(folder, 'run')
const dry = (directory: string, ...argv: string[]) =>
  runCommand(Variance, 'variance', ['--resume', '--dry-run', '-o', directory, ...argv])

async function save(directory: string, ...records: CellRecord[]): Promise<void> {
  const {journal} = await createRun({
    directory,
    experiments: await allExperiments(),
    plan: VARIANCE_PLAN,
    argv: ['rfa', 'variance'],
    resume: true,
    keysOf: planKeys,
    labelsOf: planLabels,
  })
  for (const record of records) await journal.append(record)
  await journal.close()
}

const {jobs} = await planRun(VARIANCE_PLAN)
const [one, other] = jobs.map(({cell}) => variance(cell as VarianceCell))

beforeAll(() => save(run, one!, failed(other!)))

describe('--resume --dry-run', () => {
  it('predicts what is missing or has failed', async () => {
    const {stdout, exitCode} = await dry(run)
    expect(stdout).toMatch(
      /^variance: 1 of 2 cells missing, predicted time .*\n\n- favor-pos .*\n$/,
    )
    expect(exitCode).toBe(0)
    expect((await dry(run, '--json')).stdout).toContain('"kept_cells": 1,')
  })

  it('predicts no cell of a finished run', async () => {
    const done = join(folder, 'done')
    await save(done, one!, other!)
    const {stdout} = await dry(done)
    expect(stdout).toMatch(/^variance: 0 of 2 cells missing, predicted time [^\n]*\n*$/)
  })

  it('refuses a plan that the run would refuse, and writes nothing', async () => {
    const before = await readdir(run)
    expect(await dry(run, '--seed', '9')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/lacks 2 of them: --seed is 9, not 3; .*\nCode: PLAN_MISMATCH/),
    })
    expect(await readdir(run)).toEqual(before)
  })

  it('refuses a folder that is not there', async () => {
    expect(await dry(join(folder, 'none'), '--quick')).toMatchObject({
      exitCode: 3,
      stderr: expect.stringMatching(/^--resume: expected the folder of a run/),
    })
    expect(await readdir(folder)).not.toContain('none')
  })

  it('asks for the folder to look at', async () => {
    expect(await runCommand(Variance, 'variance', ['--resume', '--dry-run'])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/^--resume: expected --output DIR beside it/),
    })
  })
})
