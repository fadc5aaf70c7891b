import {execFileSync, spawnSync} from 'node:child_process'
import {existsSync} from 'node:fs'
import {mkdir, readdir, readFile, symlink, utimes, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, it, vi} from 'vitest'
import {allExperiments} from '../../../../src/experiments/index.js'
import {planKeys, planLabels} from '../../../../src/experiments/planned-run.js'
import {machineFacts} from '../../../../src/results/folder/machine.js'
import {latestCommand} from '../../../../src/results/folder/manifest.js'
import {createRun, examineRun, openRun} from '../../../../src/results/folder/run-directory.js'
import {lockDirectory} from '../../../../src/results/journal/journal.js'
import {journalLine} from '../../../../src/results/journal/journal-line.js'
import type {Plan} from '../../../../src/results/record.js'
import {newFolder} from '../../../helpers/folders.js'
import {sweep} from '../../../helpers/plans.js'
import {BENCH_PLAN, timed} from '../../../helpers/records/bench.js'
import {failed} from '../../../helpers/records/outcomes.js'
import {VARIANCE_PLAN, variance} from '../../../helpers/records/variance.js'

vi.mock('../../../../src/results/folder/machine.js', async importOriginal => {
  const actual = await importOriginal<typeof import('../../../../src/results/folder/machine.js')>()
  return {...actual, machineFacts: vi.fn(actual.machineFacts)}
})

const EXPERIMENTS = await allExperiments()

const request = (directory: string, changes: {plan?: Plan; resume?: boolean} = {}) => ({
  directory,
  experiments: EXPERIMENTS,
  plan: VARIANCE_PLAN,
  argv: ['rfa', 'variance'],
  resume: false,
  keysOf: planKeys,
  labelsOf: planLabels,
  ...changes,
})

/** A folder that holds a run without records. */
async function folderWithRun(plan: Plan = VARIANCE_PLAN) {
  const folder = join(await newFolder(), 'deep', 'run')
  const {journal} = await createRun(request(folder, {plan}))
  await journal.close()
  return folder
}

/** Changes the machine of a saved manifest. */
async function pretend(folder: string, machine: object) {
  const path = join(folder, 'manifest.json')
  const manifest = JSON.parse(await readFile(path, 'utf8'))
  await writeFile(path, JSON.stringify({...manifest, machine: {...manifest.machine, ...machine}}))
}

const textsOf = async (folder: string) =>
  Promise.all((await readdir(folder)).sort().map(name => readFile(join(folder, name), 'utf8')))

describe('a run that is a part of its plan', () => {
  const shard = {index: 1, count: 2, cells: 1}
  const started = async () => {
    const folder = join(await newFolder(), 'run')
    const {journal} = await createRun({...request(folder), shard})
    await journal.close()
    return folder
  }

  it('says so in its manifest, and can be gone on with', async () => {
    const folder = await started()
    const {manifest, journal, resumed} = await createRun({
      ...request(folder, {resume: true}),
      shard,
    })
    await journal.close()
    expect(manifest).toMatchObject({shard})
    expect(resumed).toBe(true)
  })

  it('is gone on with as no other part, and not as the whole', async () => {
    const folder = await started()
    const asked = request(folder, {resume: true})
    await expect(createRun({...asked, shard: {...shard, index: 2}})).rejects.toMatchObject({
      code: 'PLAN_MISMATCH',
      message: expect.stringMatching(/part of the plan .* shard 1\/2, got shard 2\/2$/),
    })
    await expect(createRun(asked)).rejects.toThrow(/shard 1\/2, got all of it$/)
    const whole = request(await folderWithRun(), {resume: true})
    await expect(createRun({...whole, shard})).rejects.toThrow(/all of it, got shard 1\/2$/)
  })

  it('is not extended: a larger plan is dealt otherwise', async () => {
    const folder = await started()
    const plan = {...VARIANCE_PLAN, norms: [...VARIANCE_PLAN.norms, 7]}
    await expect(createRun({...request(folder, {plan, resume: true}), shard})).rejects.toThrow(
      /the plan that shard 1\/2 was started with, got one with more cells/,
    )
  })
})

describe('createRun', () => {
  it('makes the folder, its parents and the manifest', async () => {
    const folder = join(await newFolder(), 'deep', 'run')
    const {manifest, journal} = await createRun(request(folder))
    expect(manifest).toMatchObject({
      schema: 'rfa.run/2',
      argv: ['rfa', 'variance'],
      plan: VARIANCE_PLAN,
      machine: {node: process.versions.node},
    })
    expect(JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8'))).toEqual(manifest)
    await journal.close()
    expect((await readdir(folder)).sort()).toEqual(['manifest.json', 'records.jsonl'])
  })

  it.each([false, true])(
    'takes an empty folder, even with what a killed process left in it (resume %s)',
    async resume => {
      const folder = await newFolder()
      const {pid} = spawnSync(process.execPath, ['-e', '0'])
      await writeFile(join(folder, `manifest.json.${pid}.tmp`), '{')
      await writeFile(join(folder, 'records.lock'), JSON.stringify({pid, host: 'x', started: '1'}))
      await utimes(join(folder, 'records.lock'), 1, 1)
      const {journal, resumed} = await createRun(request(folder, {resume}))
      expect(resumed).toBe(false)
      await journal.close()
      expect((await readdir(folder)).sort()).toEqual(['manifest.json', 'records.jsonl'])
    },
  )

  it('continues a run, keeping its manifest and records', async () => {
    const folder = await folderWithRun()
    const first = await createRun(request(folder, {resume: true}))
    await first.journal.append(variance())
    await first.journal.close()
    const second = await createRun({...request(folder, {resume: true}), argv: ['other']})
    expect(second.manifest).toEqual(first.manifest)
    expect(second.journal.records).toEqual([variance()])
    await second.journal.close()
  })

  it('starts a run where there is none to go on with, which the same request then goes on with', async () => {
    const folder = join(await newFolder(), 'run')
    const first = await createRun(request(folder, {resume: true}))
    expect(first.resumed).toBe(false)
    await first.journal.append(variance())
    await first.journal.close()
    const second = await createRun(request(folder, {resume: true}))
    expect(second.resumed).toBe(true)
    expect(second.journal.records).toEqual([variance()])
    await second.journal.close()
  })

  it.each([
    ['writes no manifest', false],
    ['removes nothing', true],
  ])('%s once another process has the folder', async (_, resume) => {
    const folder = resume ? await folderWithRun() : await newFolder()
    const {pid} = spawnSync(process.execPath, ['-e', '0'])
    await writeFile(join(folder, `records.csv.${pid}.tmp`), '')
    const before = [...(await readdir(folder)), 'records.lock'].sort()
    vi.mocked(machineFacts).mockImplementationOnce(async () => {
      await writeFile(join(folder, 'records.lock'), 'of another')
      return machineFacts({timed: false})
    })
    await expect(createRun(request(folder, {resume}))).rejects.toMatchObject({
      code: 'NOT_WRITABLE',
      message: expect.stringContaining('expected the lock that this run has taken'),
    })
    expect((await readdir(folder)).sort()).toEqual(before)
    expect(await readFile(join(folder, 'records.lock'), 'utf8')).toBe('of another')
  })

  it('takes a folder in which a takeover of the lock was left unfinished', async () => {
    const folder = await newFolder()
    await writeFile(join(folder, 'records.lock.takeover'), '')
    await utimes(join(folder, 'records.lock.takeover'), 1, 1)
    await (await createRun(request(folder))).journal.close()
    expect((await readdir(folder)).sort()).toEqual(['manifest.json', 'records.jsonl'])
  })

  it('refuses a run that is there, touching nothing', async () => {
    const folder = await folderWithRun()
    const before = await textsOf(folder)
    await expect(createRun(request(folder))).rejects.toMatchObject({
      code: 'WOULD_OVERWRITE',
      message: `${folder}: expected a new or empty directory, got one that holds a run`,
      suggestions: ['add `resume` to continue that run', 'choose another `output`'],
    })
    expect(await textsOf(folder)).toEqual(before)
  })

  it.each([false, true])('refuses a folder of other files (resume %s)', async resume => {
    const folder = await newFolder()
    await writeFile(join(folder, 'thesis.tex'), 'text')
    await expect(createRun(request(folder, {resume}))).rejects.toMatchObject({
      code: 'WOULD_OVERWRITE',
      message: expect.stringContaining('one that holds other files (thesis.tex)'),
      suggestions: ['choose another `output`'],
    })
    expect(await readdir(folder)).toEqual(['thesis.tex'])
  })

  it.each([
    [
      'another value of a list',
      {num_features: [13, 31]},
      /expected a plan with all 2 cells of this run, favor-pos M=29 .* among them, got one that lacks 1 of them: `numFeatures` is \[13,31\], not \[13,29\]$/,
    ],
    [
      'one value less',
      {num_features: [29]},
      /favor-pos M=13 .* among them, got one that lacks 1 of them: `numFeatures` is \[29\], not \[13,29\]$/,
    ],
    [
      'another seed, whatever else it has',
      {num_features: [13, 29, 31], seed: 4},
      /got one that lacks 2 of them: `seed` is 4, not 3; `numFeatures` is .*$/,
    ],
    [
      'a value more that every cell would have',
      {projections: ['iid', 'orth', 'givens']},
      /got one that lacks 2 of them: `projections` is \["iid","orth","givens"\], not \["iid","orth"\]$/,
    ],
  ])('refuses to continue %s, touching nothing', async (_, changes, sentence) => {
    const folder = await folderWithRun()
    const before = await textsOf(folder)
    const plan = {...VARIANCE_PLAN, ...changes} as Plan
    await expect(createRun(request(folder, {plan, resume: true}))).rejects.toMatchObject({
      code: 'PLAN_MISMATCH',
      message: expect.stringMatching(sentence),
      suggestions: expect.arrayContaining(['choose another `output` to start a new run']),
    })
    expect(await textsOf(folder)).toEqual(before)
  })

  it('refuses to continue an input of other content', async () => {
    const names = {query: 'q', key: 'k', value: 'v'}
    const planOf = (digest: string) =>
      sweep({input: {kind: 'file', paths: ['q.npz'], names, digest}, seq_lens: null})
    const folder = await folderWithRun(planOf('aa'))
    const plan = {...planOf('bb'), scales: [1, 2, 3]}
    await expect(createRun(request(folder, {plan, resume: true}))).rejects.toMatchObject({
      code: 'PLAN_MISMATCH',
      message: expect.stringContaining('`input.digest` is "bb", not "aa"'),
    })
  })

  it('continues a plan of more cells, which takes the place of that of the run', async () => {
    const folder = await folderWithRun()
    const plan = {...VARIANCE_PLAN, num_features: [31, 29, 13], norms: [1, 2]} as Plan
    const argv = ['rfa', 'variance', '--more']
    const {manifest, journal, extended} = await createRun({
      ...request(folder, {plan, resume: true}),
      argv,
    })
    await journal.close() // as a process that is killed before its first cell
    expect(extended).toBe(2)
    expect(manifest).toMatchObject({
      plan,
      argv: ['rfa', 'variance'], // which made the first cells
      sessions: [{argv, extended: true}],
    })
    expect(latestCommand(manifest)).toEqual(argv)
    expect((await openRun(folder, EXPERIMENTS)).manifest).toEqual(manifest)
    const again = await createRun(request(folder, {plan, resume: true}))
    await again.journal.close()
    expect(again).toMatchObject({manifest, extended: undefined, resumed: true})
    await expect(createRun(request(folder, {resume: true}))).rejects.toMatchObject({
      code: 'PLAN_MISMATCH',
    })
  })

  it('takes the same cells in another order for no larger plan', async () => {
    const folder = await folderWithRun()
    const before = await textsOf(folder)
    const plan = {...VARIANCE_PLAN, num_features: [29, 13]} as Plan
    const {journal, extended} = await createRun(request(folder, {plan, resume: true}))
    await journal.close()
    expect(extended).toBeUndefined()
    expect(await textsOf(folder)).toEqual(before)
  })

  it('replaces no manifest where the journal cannot be read', async () => {
    const folder = await folderWithRun()
    await writeFile(join(folder, 'records.jsonl'), journalLine({...variance(), cell: {}}))
    const before = await textsOf(folder)
    const plan = {...VARIANCE_PLAN, norms: [1, 2]} as Plan
    await expect(createRun(request(folder, {plan, resume: true}))).rejects.toMatchObject({
      code: 'BAD_FILE',
    })
    expect(await textsOf(folder)).toEqual(before)
  })

  it('writes down that it goes on by other code or on other vector instructions, once', async () => {
    const folder = await folderWithRun()
    await pretend(folder, {instruction_set: 'abacus', commit: 'abc'})
    const session = async () => {
      const {manifest, journal} = await createRun(request(folder, {resume: true}))
      await journal.close()
      return manifest
    }
    const {commit, instruction_set} = await machineFacts({timed: false})
    const manifest = await session()
    expect(manifest.sessions).toMatchObject([{commit, instruction_set, extended: false}])
    expect(manifest.machine).toMatchObject({commit: 'abc', instruction_set: 'abacus'})
    expect(await session()).toEqual(manifest)
    expect((await openRun(folder, EXPERIMENTS)).manifest).toEqual(manifest)
  })

  it('refuses to continue a run of another version', async () => {
    const folder = await folderWithRun()
    await pretend(folder, {rfa: '0.0.1'})
    await expect(createRun(request(folder, {resume: true}))).rejects.toMatchObject({
      code: 'PLAN_MISMATCH',
      message: expect.stringContaining('rfa 0.0.1, got rfa '),
    })
    expect(existsSync(join(folder, 'records.lock'))).toBe(false)
  })

  it('refuses to continue a benchmark on another processor, but not with other experiments', async () => {
    const bench = await folderWithRun(BENCH_PLAN)
    await pretend(bench, {cpu: 'Other 9000'})
    await expect(createRun(request(bench, {plan: BENCH_PLAN, resume: true}))).rejects.toMatchObject(
      {
        code: 'PLAN_MISMATCH',
        message: expect.stringContaining('cpu Other 9000'),
      },
    )
    const variance = await folderWithRun()
    await pretend(variance, {cpu: 'Other 9000'})
    const {journal} = await createRun(request(variance, {resume: true}))
    await journal.close()
  })

  it.each([
    ['auto', true],
    ['native', true],
    ['wasm', false],
  ] as const)(
    'continues a benchmark of %s only with the same vector instructions',
    async (backend, refused) => {
      const plan: Plan = {...BENCH_PLAN, backend}
      const folder = await folderWithRun(plan)
      await pretend(folder, {instruction_set: 'abacus'})
      const opened = createRun(request(folder, {plan, resume: true}))
      if (refused) {
        await expect(opened).rejects.toMatchObject({
          code: 'PLAN_MISMATCH',
          message: expect.stringContaining('instruction_set abacus, got instruction_set '),
        })
      } else await (await opened).journal.close()
    },
  )

  it('refuses a folder that another rfa writes into', async () => {
    const folder = await folderWithRun()
    const lock = await lockDirectory(folder)
    await expect(createRun(request(folder, {resume: true}))).rejects.toMatchObject({
      code: 'NOT_WRITABLE',
    })
    await lock.release()
  })

  it('says that it cannot write where a file is in the way', async () => {
    const file = join(await newFolder(), 'file')
    await writeFile(file, 'text')
    for (const directory of [file, join(file, 'run')]) {
      await expect(createRun(request(directory))).rejects.toMatchObject({
        code: 'NOT_WRITABLE',
        message: expect.stringMatching(
          /^.*: expected a folder to write into, got a file in place of a folder \(ENOTDIR\)$/,
        ),
        suggestions: [expect.stringContaining('a file stands where a folder is needed')],
      })
    }
  })

  it('says that it cannot write through a link to nowhere', async () => {
    const link = join(await newFolder(), 'link')
    await symlink(join(link, 'missing', 'loop'), link)
    await expect(createRun(request(link))).rejects.toMatchObject({code: 'NOT_WRITABLE'})
  })
})

describe('examineRun', () => {
  it('gives the run that a request would continue, and nothing where it would start one', async () => {
    const folder = await folderWithRun()
    const first = await createRun(request(folder, {resume: true}))
    await first.journal.append(variance())
    await first.journal.close()
    const before = await textsOf(folder)
    const plan = {...VARIANCE_PLAN, norms: [1, 2]} as Plan
    const found = await examineRun(request(folder, {plan, resume: true}))
    expect(found).toEqual({manifest: first.manifest, records: [variance()]})
    expect(await textsOf(folder)).toEqual(before)
    const missing = join(folder, 'missing')
    expect(await examineRun(request(missing, {resume: true}))).toBeUndefined()
    expect(existsSync(missing)).toBe(false)
  })

  it('refuses what createRun refuses', async () => {
    const folder = await folderWithRun()
    const changed = request(folder, {plan: {...VARIANCE_PLAN, seed: 4}, resume: true})
    await expect(examineRun(changed)).rejects.toMatchObject({code: 'PLAN_MISMATCH'})
    await pretend(folder, {rfa: '0.0.1'})
    const asked = request(folder, {resume: true})
    await expect(examineRun(asked)).rejects.toMatchObject({code: 'PLAN_MISMATCH'})
  })
})

describe('openRun', () => {
  it('reads the manifest and the newest record of each cell', async () => {
    const folder = await folderWithRun()
    const {manifest, journal} = await createRun(request(folder, {resume: true}))
    await journal.append(failed(variance()))
    await journal.append(variance())
    await journal.close()
    const saved = await openRun(folder, EXPERIMENTS)
    expect(saved.manifest).toEqual(manifest)
    expect(saved.records).toEqual([variance()])
  })

  it('reads a run that another process is writing', async () => {
    const folder = await folderWithRun()
    const {journal} = await createRun(request(folder, {resume: true}))
    await journal.append(timed())
    const {records} = await openRun(folder, EXPERIMENTS)
    expect(records).toEqual([timed()])
    await journal.close()
  })

  it.each([
    ['nothing', async () => join(await newFolder(), 'missing'), 'no such folder'],
    ['a folder without a run', newFolder, 'one without manifest.json'],
    [
      'a file',
      async () => {
        const path = join(await newFolder(), 'file')
        await writeFile(path, '')
        return path
      },
      'a file',
    ],
  ])('says that there is no run in %s', async (_, make, got) => {
    const folder = await make()
    await expect(openRun(folder, EXPERIMENTS)).rejects.toMatchObject({
      code: 'FILE_MISSING',
      message: `${folder}: expected the directory of a run, got ${got}`,
    })
  })

  it.each([
    [{...BENCH_PLAN, heads: 0}, /, got one in which plan\.heads is 0 \(expected more than 0\)$/],
    [{...BENCH_PLAN, methods: undefined}, /, got one in which plan\.methods is missing$/],
    [{...BENCH_PLAN, methods: []}, /plan\.methods is \[\] \(expected at least 1 item\)$/],
    [{...BENCH_PLAN, causal: 'no'}, /plan\.causal is "no" \(expected true or false\)$/],
    [{...BENCH_PLAN, order: 'any'}, /plan\.order is "any" \(expected "listed" or "random"\)$/],
    [{...BENCH_PLAN, experiment: 'benchmark'}, /plan\.experiment is "benchmark", which does not/],
  ])('says what is wrong with a plan: %#', async (plan, message) => {
    const folder = await folderWithRun()
    const path = join(folder, 'manifest.json')
    const manifest = JSON.parse(await readFile(path, 'utf8'))
    await writeFile(path, JSON.stringify({...manifest, plan}))
    await expect(openRun(folder, EXPERIMENTS)).rejects.toMatchObject({
      code: 'BAD_FILE',
      message: expect.stringMatching(message),
    })
  })

  it.each([
    ['rfa bench --seq-len 256..1k*2', ['rfa', 'bench', '--seq-len', '256..1k*2']],
    ["rfa bench --output 'my run'", ["rfa bench --output 'my run'"]],
  ])(
    'reads the command %j of an earlier manifest word by word, unless quotes bind some',
    async (command, argv) => {
      const folder = await folderWithRun()
      const path = join(folder, 'manifest.json')
      const {argv: _argv, ...rest} = JSON.parse(await readFile(path, 'utf8'))
      await writeFile(path, JSON.stringify({...rest, schema: 'rfa.run/1', command}))
      const {manifest} = await openRun(folder, EXPERIMENTS)
      expect(manifest).toEqual({...rest, schema: 'rfa.run/2', argv})
    },
  )

  it.each([
    ['is not JSON', '{"schema"', 'BAD_FILE', /manifest\.json: expected JSON, got "{\\"schema\\""/],
    [
      'is of a future version',
      '{"schema": "rfa.run/3"}',
      'UNKNOWN_SCHEMA',
      /expected schema rfa\.run\/2/,
    ],
    [
      'lacks fields',
      '{"schema": "rfa.run/2"}',
      'BAD_FILE',
      /expected the manifest of a run, got .*plan/,
    ],
  ])('refuses a manifest that %s', async (_, text, code, message) => {
    const folder = await newFolder()
    await writeFile(join(folder, 'manifest.json'), text)
    await expect(openRun(folder, EXPERIMENTS)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    })
  })

  it('refuses a manifest that cannot be read', async () => {
    const folder = await newFolder()
    await mkdir(join(folder, 'manifest.json'))
    await expect(openRun(folder, EXPERIMENTS)).rejects.toMatchObject({code: 'BAD_FILE'})
  })
})

describe('a manifest that is a pipe', () => {
  it.runIf(process.platform === 'linux')('is refused, for reading and for going on', async () => {
    const folder = await newFolder()
    execFileSync('mkfifo', [join(folder, 'manifest.json')])
    const error = {
      code: 'BAD_FILE',
      message: `${join(folder, 'manifest.json')}: expected a file that can be read, got a pipe`,
    }
    await expect(openRun(folder, EXPERIMENTS)).rejects.toMatchObject(error)
    await expect(createRun(request(folder, {resume: true}))).rejects.toMatchObject(error)
  })
})
