import {mkdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import {beforeEach, describe, expect, it, vi} from 'vitest'
import {z} from 'zod'
import Claims from '../../commands/claims.js'
import {claimListDocument, claimsDocument} from '../../src/cli/json-documents.js'
import {RfaError} from '../../src/errors.js'
import type {ExperimentRun} from '../../src/runner/run-experiment.js'
import {temporaryFolder} from '../helpers/folders.js'
import {BENCH_MANIFEST, timed} from '../helpers/records/bench.js'
import {skipped} from '../helpers/records/outcomes.js'
import {run, runner, worker} from './services.js'

const folder = temporaryFolder()
let count = 0
/** A folder that the command finds, as a run has made it. */
function output(): string {
  const path = join(folder, `claims-${count++}`)
  mkdirSync(path)
  return path
}
const claims = (...argv: string[]) => run(Claims, 'claims', argv)

beforeEach(() => {
  vi.clearAllMocks()
  runner.runExperiment.mockImplementation(
    async ({plan, experiment}) =>
      ({
        manifest: {...BENCH_MANIFEST, plan},
        records: [{...skipped(timed(), 'no machine here'), schema: experiment.schema}],
        counts: {total: 1, completed: 0, skipped: 1, failed: 0},
        verdicts: [],
      }) as unknown as ExperimentRun,
  )
})

describe('rfa claims', () => {
  it('prints verdicts with their numbers, and saves them', async () => {
    const directory = output()
    const {stdout, stderr, exitCode} = await claims('H3', 'H24', '--output', directory)
    expect(stdout).toMatch(/^H3 +holds +RFA decodes 2048 tokens/m)
    expect(stdout).toMatch(/^state over cache at 2048 tokens, M = 64 +0\.0317 +0\.100$/m)
    expect(stdout).toContain('2 holds.')
    expect(stderr).toContain(`2 claims judged on 0 runs; saved in ${directory}`)
    expect(exitCode).toBe(0)
    const saved = claimsDocument.parse(
      JSON.parse(readFileSync(join(directory, 'claims.json'), 'utf8')),
    )
    expect(saved.claims.map(({id, verdict}) => [id, verdict])).toEqual([
      ['H3', 'holds'],
      ['H24', 'holds'],
    ])
  })

  it('runs each plan once in a folder of its own, and ends its workers', async () => {
    const directory = output()
    await claims('H4', 'H5', 'H13', '--quick', '--seed', '7', '--output', directory)
    const runs = runner.runExperiment.mock.calls.map(([{plan}, options]) => [
      options.directory,
      plan.experiment,
      plan.seed,
    ])
    expect(runs).toEqual([
      [join(directory, 'lengths'), 'bench', 7],
      [join(directory, 'h13-hyperbolic'), 'variance', 7],
      [join(directory, 'h13-positive'), 'variance', 7],
    ])
    expect(worker.kill.mock.calls.length).toBeGreaterThanOrEqual(3)
  })

  it('replaces verdicts only where it goes on with them', async () => {
    const directory = output()
    await claims('H3', '--output', directory)
    const {stderr, exitCode} = await claims('H24', '--output', directory)
    expect(stderr).toContain('expected no verdicts yet, got claims.json')
    expect(exitCode).toBe(2)
    expect((await claims('H24', '--output', directory, '--resume')).exitCode).toBe(0)
  })

  it('says why there is no verdict', async () => {
    const {stdout, result} = await claims('H6', '--output', output(), '--json')
    expect(result).toMatchObject({
      claims: [{verdict: 'not_measurable', statement: expect.stringContaining('no machine here')}],
    })
    expect(claimsDocument.safeParse(JSON.parse(stdout)).success).toBe(true)
  })

  it('explains an experiment without running it', async () => {
    const {stdout} = await claims('H10', 'H9', '--explain')
    expect(stdout).toContain('rule: refuted if measurements contradict the closed forms')
    expect(stdout).toContain('not measurable here: it takes language models trained')
    expect(runner.runExperiment).not.toHaveBeenCalled()
    const {stdout: json} = await claims('--explain', '--json')
    expect(
      z.prettifyError(claimListDocument.safeParse(JSON.parse(json)).error ?? new z.ZodError([])),
    ).toBe('')
  })

  it('tells how to go on with all of it after an interrupt', async () => {
    runner.runExperiment.mockRejectedValue(new RfaError('INTERRUPTED', 'stopped'))
    const directory = output()
    const {stderr, exitCode} = await claims('H6', '--quick', '--output', directory)
    expect(stderr).toContain(`rfa claims H6 --quick --output ${directory} --resume`)
    expect(exitCode).toBe(130)
  })

  it('refuses beside --explain what has no effect there', async () => {
    const {stderr, exitCode} = await claims('H3', '--explain', '--quick')
    expect(stderr).toContain('--quick')
    expect(exitCode).toBe(2)
  })

  it.each([
    ['H99', 'did you mean H9?'],
    ['--resume', '--output'],
  ])('refuses %s', async (word, remedy) => {
    const {stderr, exitCode} = await claims(word)
    expect(stderr).toContain(remedy)
    expect(exitCode).toBe(2)
  })
})
