import {mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {beforeEach, describe, expect, it, vi} from 'vitest'
import {z} from 'zod'
import Claims from '../../commands/claims.js'
import {
  claimListDocument,
  claimsDocument,
  figureDocument,
  figureFactsDocument,
} from '../../src/cli/program/json-documents.js'
import {RfaError} from '../../src/errors.js'
import type {ExperimentRun} from '../../src/runner/run-experiment.js'
import {temporaryFolder} from '../helpers/folders.js'
import {BENCH_MANIFEST, timed, timedInTurns} from '../helpers/records/bench.js'
import {failed, skipped} from '../helpers/records/outcomes.js'
import {answerWith, run, runner, worker} from './services.js'

const folder = temporaryFolder()
let count = 0
/** A folder that the command finds, as a run has made it. */
function output(): string {
  const path = join(folder, `claims-${count++}`)
  mkdirSync(path)
  return path
}
const claims = (...argv: string[]) => run(Claims, 'claims', argv)
const saved = (directory: string) =>
  claimsDocument.parse(JSON.parse(readFileSync(join(directory, 'claims.json'), 'utf8')))

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
    const {stdout, stderr, exitCode} = await claims('H3', 'H14', '--output', directory)
    expect(stdout).toMatch(/^2 claims: 1 holds, 1 depends\.\n/)
    expect(stdout).toMatch(/^H3 +holds +RFA needs a tenth of the memory: 3\.2 % with 64 vectors/m)
    expect(stdout).not.toContain('state over cache')
    expect(stderr).toContain(`details: rfa report ${directory} --details`)
    expect(stderr).toContain(`2 claims judged; saved in ${directory}`)
    expect(exitCode).toBe(0)
    expect(saved(directory).claims.map(({id, verdict}) => [id, verdict])).toEqual([
      ['H3', 'holds'],
      ['H14', 'depends'],
    ])
    expect(readdirSync(directory).sort()).toEqual([
      'claims.csv',
      'claims.json',
      'claims_quantities.csv',
      'claims_tests.csv',
    ])
    expect(readFileSync(join(directory, 'claims.csv'), 'utf8')).toMatch(/^id,sentence,.*\nH3,RFA/)
  })

  it('prints everything of a single claim, and of several with --details', async () => {
    const single = await claims('H3', '--output', output())
    const detailed = await claims('H3', 'H14', '--details', '--output', output())
    for (const {stdout, stderr} of [single, detailed]) {
      expect(stdout).toMatch(/^H3 +holds +RFA decodes 2048 tokens/m)
      expect(stdout).toMatch(/^state over cache at 2048 tokens, M = 64 +0\.0317 +0\.100$/m)
      expect(stderr).not.toContain('details:')
    }
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

  it('counts no claim as judged that nothing here can judge, and says what it takes', async () => {
    const {stdout, stderr} = await claims('h9', '--quick', '--output', output())
    expect(stdout).toMatch(/rfa claims H9 --with-training/)
    expect(stderr).toContain('0 of 1 claim judged; saved in')
    const {stderr: mixed} = await claims('h9', 'H3', 'h3', '--quick', '--output', output())
    expect(mixed).toContain('1 of 2 claims judged; saved in')
  })

  it('replaces verdicts only where it goes on with them', async () => {
    const directory = output()
    await claims('H3', '--output', directory)
    const {stderr, exitCode} = await claims('H14', '--output', directory)
    expect(stderr).toContain('expected no verdicts yet, got claims.json')
    expect(exitCode).toBe(2)
    expect((await claims('H14', '--output', directory, '--resume')).exitCode).toBe(0)
  })

  it('judges what a folder has with what is added, so that no verdict is picked', async () => {
    const directory = output()
    await claims('H6', 'H14', '--quick', '--seed', '7', '--output', directory)
    const {stderr} = await claims(
      ...['H13', 'H3', '--quick', '--seed', '7', '--output', directory, '--resume'],
    )
    expect(stderr).toContain('judged anew with them, as their verdicts are here: H6, H14')
    expect(saved(directory).claims.map(({id}) => id)).toEqual(['H3', 'H6', 'H13', 'H14'])
    // the run of H6 is gone on with
    const folders = runner.runExperiment.mock.calls.map(([, {directory: folder}]) => folder)
    expect(folders.filter(folder => folder?.endsWith('h06-rfa'))).toHaveLength(2)
  })

  it('adds nothing of another seed or effort', async () => {
    const directory = output()
    await claims('H3', '--quick', '--seed', '7', '--output', directory)
    for (const flags of [['--quick'], ['--seed', '7']]) {
      const {stderr, exitCode} = await claims('H24', ...flags, '--output', directory, '--resume')
      expect(stderr).toContain('got quick and 7')
      expect(stderr).toContain('continue it with --quick --seed 7')
      expect(exitCode).toBe(2)
    }
    expect(saved(directory).claims).toHaveLength(1)
  })

  it('refuses a claim of another version, and a file that is no document', async () => {
    const directory = output()
    await claims('H3', '--output', directory)
    const path = join(directory, 'claims.json')
    const text = readFileSync(path, 'utf8')
    writeFileSync(path, text.replace('"H3"', '"H99"'))
    const again = () => claims('H3', '--output', directory, '--resume')
    expect((await again()).stderr).toContain('expected claims of this version, got H99')
    writeFileSync(path, text.replace('rfa.claims/1', 'rfa.claims/2'))
    expect((await again()).stderr).toContain('Code: UNKNOWN_SCHEMA')
    writeFileSync(path, text.slice(0, 40))
    expect((await again()).stderr).toContain('Code: BAD_FILE')
    expect((await again()).exitCode).toBe(3)
  })

  it('ends with 0 whatever the verdicts, and under --strict only where they are those of the reference run', async () => {
    const world = (factor: number) => {
      const methods = ['softmax-online', 'ra', 'lara', 'favor-pos']
      answerWith(
        ...methods.map(method =>
          timedInTurns({method, seq_len: 784}, method === 'ra' ? factor * 1e6 : 1e6),
        ),
      )
    }
    const strict = (...argv: string[]) =>
      claims(...argv, '--quick', '--strict', '--output', output())
    world(2)
    // it holds in the reference run, too
    expect((await strict('H21', 'H3')).exitCode).toBe(0)
    world(1)
    const plain = await claims('H21', 'H3', '--quick', '--output', output())
    expect(plain.stdout).toContain('- unlike the reference run: H21 (there: holds)')
    expect([plain.exitCode, plain.stderr.includes('--strict')]).toEqual([0, false])
    const other = await strict('H21', 'H3')
    expect(other.exitCode).toBe(1)
    expect(other.stderr).toContain('warning: --strict: H21: refuted, in the reference run holds\n')
    world(2.8)
    const open = await strict('H21')
    expect(open.exitCode).toBe(5)
    expect(open.stderr).toContain('warning: --strict: inconclusive: H21\n')
    const nothing = await strict('H9')
    expect(nothing.exitCode).toBe(5)
    expect(nothing.stderr).toContain('--strict: no claim could be judged')
  })

  it('ends with 4 where cells failed, and tells how they run again', async () => {
    answerWith(failed(timed(), {code: 'CELL_CRASHED', message: 'it crashed'}))
    const directory = output()
    const {stdout, stderr, exitCode} = await claims(
      ...['H4', 'H3', '--quick', '--strict', '--output', directory],
    )
    expect(stdout).toMatch(/^H4 +inconclusive/m)
    expect(stderr).toContain(
      `warning: 1 of 1 cell failed; next: rfa claims H4 H3 --quick --strict --output ${directory} --resume runs what failed again`,
    )
    expect(exitCode).toBe(4)
  })

  it('says why there is no verdict', async () => {
    const {stdout, stderr, result, exitCode} = await claims('H6', '--output', output(), '--json')
    expect(stderr).toContain('warning: nothing was measured: all cells were skipped')
    expect(exitCode).toBe(4)
    expect(result).toMatchObject({
      claims: [{verdict: 'not_measurable', statement: expect.stringContaining('no machine here')}],
    })
    expect(claimsDocument.safeParse(JSON.parse(stdout)).success).toBe(true)
  })

  it('explains an experiment without running it', async () => {
    const {stdout} = await claims('H10', 'H23', '--explain')
    expect(stdout).toContain('rule: refuted if measurements contradict the closed forms')
    expect(stdout).toContain('not measurable here: it takes models of vision')
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

describe('rfa claims --figure', () => {
  const figure = (...argv: string[]) => claims('--figure', ...argv)

  /** Completed cells of the figure's benchmark. */
  function answerTimes(): void {
    const methods = ['softmax', 'softmax-online', 'ra', 'lara', 'favor-pos']
    answerWith(
      ...methods.flatMap(method =>
        [196, 784, 2048].map(seq_len => timedInTurns({method, seq_len}, 1e6)),
      ),
    )
  }

  it('prints its points and saves them as a table', async () => {
    answerTimes()
    const directory = output()
    const {stdout, stderr, result, exitCode} = await figure(
      ...['lara-cost', '--quick', '--seed', '7', '--output', directory],
    )
    expect(stdout).toMatch(/^time, RA +(?:0\.99\d|1\.00) ±\d+% \(2\.00\)/m)
    expect(stderr).toContain(`24 points of 8 curves; saved in ${directory}, lara-cost.csv`)
    expect(exitCode).toBe(0)
    const text = readFileSync(join(directory, 'figure.json'), 'utf8')
    const document = figureDocument.parse(JSON.parse(text))
    expect(document).toEqual(result)
    expect(document).toMatchObject({id: 'lara-cost', effort: 'quick', seed: 7, runs: ['lara-cost']})
    const [header, ...rows] = readFileSync(join(directory, 'lara-cost.csv'), 'utf8').split('\n')
    expect(header).toBe('series,x,y,low,high,quoted')
    expect(rows.filter(row => row !== '')).toHaveLength(24)
    const [{plan}, {directory: folder}] = runner.runExperiment.mock.lastCall!
    expect([plan.seed, folder]).toEqual([7, join(directory, 'lara-cost')])
  })

  it('explains itself without running anything', async () => {
    const {stdout} = await figure('performer-4', '--explain')
    expect(stdout).toContain('- here: the same, of queries and keys from N(0, s^2)')
    const {stdout: json} = await figure('performer-4', '--explain', '--json')
    expect(figureFactsDocument.parse(JSON.parse(json)).id).toBe('performer-4')
    expect(runner.runExperiment).not.toHaveBeenCalled()
  })

  it('says why nothing is drawn', async () => {
    const {stdout, exitCode} = await figure('lara-cost', '--quick', '--output', output())
    expect(stdout).toContain('nothing is drawn: a cell of lara-cost was skipped: no machine here')
    expect(exitCode).toBe(4)
  })

  it('goes on in its own folder alone', async () => {
    answerTimes()
    const directory = output()
    await figure('lara-cost', '--quick', '--output', directory)
    const again = await figure('lara-cost', '--quick', '--output', directory)
    expect(again.stderr).toContain('got figure.json')
    const resume = ['--quick', '--output', directory, '--resume']
    expect((await figure('lara-cost', ...resume)).exitCode).toBe(0)
    const other = await figure('lara-mse', ...resume)
    expect(other.stderr).toContain('expected figure lara-mse, got lara-cost')
    const verdicts = await claims('H3', ...resume)
    expect(verdicts.stderr).toContain('expected verdicts on claims, got a figure')
    expect([again, other, verdicts].map(({exitCode}) => exitCode)).toEqual([2, 2, 2])
  })

  it.each([
    [['performer-5'], 'did you mean performer-2?'],
    [['lara-mse', 'H3'], 'expected no claims with it, got H3'],
    [['lara-mse', '--explain', '--quick'], '--explain'],
    [['lara-mse', '--resume'], '--output'],
  ])('refuses %j', async (argv, remedy) => {
    const {stderr, exitCode} = await figure(...argv)
    expect(stderr).toContain(remedy)
    expect(exitCode).toBe(2)
    expect(runner.runExperiment).not.toHaveBeenCalled()
  })
})
