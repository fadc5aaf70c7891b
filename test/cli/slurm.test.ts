/** `rfa slurm` as it is typed; test/slurm runs what it writes. */
import {spawnSync} from 'node:child_process'
import {existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it, vi} from 'vitest'
import Slurm from '../../commands/slurm.js'
import type {SlurmDocument} from '../../src/cli/program/json-documents.js'
import {shortTasks} from '../../src/cli/slurm/run-slurm.js'
import {arrayScript, mergeScript, submitScript} from '../../src/cli/slurm/slurm-script.js'
import {newFolder, temporaryFolder} from '../helpers/folders.js'
import {bench, sweep} from '../helpers/plans.js'
import {run} from './services.js'

const folder = temporaryFolder()
const plan = join(folder, 'plan.json')
writeFileSync(plan, JSON.stringify(sweep()))
const slurm = (...argv: string[]) => run(Slurm, 'slurm', [plan, ...argv])

const JOB = {
  name: 'rfa-error-sweep',
  directory: "/shared/it's a $HOME",
  workingDirectory: '/my work',
  program: ['/usr/bin/node', '/opt/rfa/bin/run.js'],
  plugins: ["/my work/it's mine.mjs"],
  shards: 100,
  cpus: 4,
  threaded: true,
  memory: '2G',
  exclusive: false,
  options: ['--account=physics'],
}

describe('the scripts', () => {
  it('are shell without faults', () => {
    for (const text of [arrayScript(JOB), mergeScript(JOB), submitScript()]) {
      const {status, stderr} = spawnSync('bash', ['-n'], {input: text, encoding: 'utf8'})
      expect([status, stderr]).toEqual([0, ''])
    }
  })

  it('have the words that they are to have, however folders are called', () => {
    const words = (text: string, env: Record<string, string>) => {
      const lines = text.replace(/^cd .*$/m, '').replace('exec ', "printf '%s\\n' ")
      return spawnSync('bash', [], {input: lines, encoding: 'utf8', env}).stdout.trim().split('\n')
    }
    expect(words(arrayScript(JOB), {SLURM_ARRAY_TASK_ID: '7'})).toEqual([
      ...JOB.program,
      'run',
      "/shared/it's a $HOME/plan.json",
      '--shard',
      '7/100',
      '--output',
      "/shared/it's a $HOME/shard-007",
      '--resume',
      '--threads',
      '4',
      '--plugin',
      "/my work/it's mine.mjs",
    ])
    expect(words(mergeScript(JOB), {})).toEqual([
      ...JOB.program,
      'merge',
      "/shared/it's a $HOME/shard-*",
      '--output',
      "/shared/it's a $HOME/merged",
      '--plugin',
      "/my work/it's mine.mjs",
    ])
  })

  it('ask Slurm for what was asked for', () => {
    const options = (text: string) => [...text.matchAll(/^#SBATCH (.*)$/gm)].map(([, one]) => one)
    const more = {...JOB, atOnce: 8, time: '01:00:00', partition: 'long', exclusive: true}
    expect(options(arrayScript(more))).toEqual(
      expect.arrayContaining([
        '--array=1-100%8',
        '--cpus-per-task=4',
        '--mem=2G',
        '--time=01:00:00',
        '--partition=long',
        '--exclusive',
        '--account=physics',
        '--requeue',
      ]),
    )
    const plain = options(arrayScript(JOB)).join('\n')
    expect(plain).toContain('--array=1-100\n')
    expect(plain).not.toMatch(/--time|--partition|--exclusive/)
    expect(options(mergeScript(more)).join('\n')).not.toMatch(/--array|--exclusive|--cpus/)
  })

  it('leave threads to a plan that is about them', () => {
    expect(arrayScript({...JOB, threaded: false})).not.toContain('--threads')
  })
})

describe('rfa slurm', () => {
  it('writes them with the plan, and says what is predicted', async () => {
    const output = join(await newFolder(), 'job')
    const {stdout, exitCode, result} = await slurm('--shards', '3', '--output', output)
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/^3 shards of 26 cells in .*; 1 processor and \d+M each/)
    expect(stdout).toContain(`sh ${output}/submit.sh`)
    expect(readdirSync(output).sort()).toEqual([
      'array.sbatch',
      'logs',
      'merge.sbatch',
      'plan.json',
      'submit.sh',
    ])
    expect(JSON.parse(readFileSync(join(output, 'plan.json'), 'utf8'))).toEqual(sweep())
    expect(result).toMatchObject({schema: 'rfa.slurm/1', shards: 3, jobs: null})
  })

  it('warns of an array for work that is shorter than its start', async () => {
    const output = join(await newFolder(), 'job')
    const {stderr} = await slurm('--shards', '3', '--output', output)
    expect(stderr).toMatch(
      /^warning: an array of 3 tasks for [\d.]+ m?s of work \(predicted\): starting them takes longer; run it on one machine: rfa run /m,
    )
    const job = {shards: 100, predicted_mean_seconds: 30} as SlurmDocument
    expect(shortTasks(job, 'plan.json')).toContain('100 tasks for 50.0 min of work')
    expect(shortTasks(job, 'plan.json')).toMatch(/; take --shards 50$/)
    expect(shortTasks({...job, predicted_mean_seconds: 60}, 'plan.json')).toBeUndefined()
    expect(shortTasks({...job, shards: 1}, 'plan.json')).toBeUndefined()
  })

  it('gives times a node alone, and says that nodes have to be alike', async () => {
    const timed = join(await newFolder(), 'plan.json')
    writeFileSync(timed, JSON.stringify(bench()))
    const output = join(await newFolder(), 'job')
    const {stderr} = await run(Slurm, 'slurm', [timed, '-n', '2', '-o', output])
    expect(stderr).toMatch(/^warning: times compare only on one kind of processor/)
    expect(readFileSync(join(output, 'array.sbatch'), 'utf8')).toContain('#SBATCH --exclusive')
  })

  /** A PATH with what the script calls, and an sbatch that does so. */
  async function withSbatch(script?: string): Promise<void> {
    const bin = await newFolder()
    const where = (name: string) => ['/bin', '/usr/bin'].map(at => join(at, name)).find(existsSync)!
    for (const name of ['sh', 'dirname', 'mkdir']) symlinkSync(where(name), join(bin, name))
    if (script !== undefined) {
      writeFileSync(join(bin, 'sbatch'), `#!/bin/sh\n${script}\n`, {mode: 0o755})
    }
    vi.stubEnv('PATH', bin)
  }

  it('submits the array, and the merge to follow it', async () => {
    const calls = join(await newFolder(), 'calls')
    await withSbatch(`echo "$@" >>${calls}; echo "1$#;cluster"`)
    const output = join(await newFolder(), 'job')
    const {result} = await slurm('-n', '3', '-o', output, '--submit')
    expect(result).toMatchObject({jobs: {array: '12;cluster', merge: '13;cluster'}})
    expect(readFileSync(calls, 'utf8')).toBe(
      '--parsable array.sbatch\n--parsable --dependency=afterany:12 merge.sbatch\n',
    )
  })

  it.each([
    [undefined, /^--submit: expected sbatch of Slurm on the PATH, got none/],
    ['echo "sbatch: error: Invalid account" >&2; exit 1', /sbatch refuses: sbatch: error: Invalid/],
  ])('tells why it could not submit, and leaves the scripts (%j)', async (script, message) => {
    await withSbatch(script)
    const output = join(await newFolder(), 'job')
    const {exitCode, stderr} = await slurm('-n', '3', '-o', output, '--submit')
    expect(exitCode).toBe(3)
    expect(stderr).toMatch(message)
    expect(stderr).toContain(`the scripts are written: sh ${output}/submit.sh submits them`)
    expect(readdirSync(output)).toContain('submit.sh')
  })

  it.each([
    [['-n', '0'], /--shards: expected an integer from 1 to 100000, got 0/],
    [
      ['-n', '31'],
      /--shards: expected at most 26 cells, got 31\n.*cells are not divided: --shards 26, or fewer/,
    ],
    [['-n', '3', '--mem', '4x'], /--mem: expected memory as Slurm writes it/],
    [['-n', '3', '--time', 'soon'], /--time: expected a time as Slurm writes it/],
    [['-n', '3', '--partition', 'a b'], /--partition: expected names of partitions/],
    [['-n', '3', '--sbatch', 'account'], /--sbatch: expected one option of sbatch, got "account"/],
    [['-n', '3', '--sbatch', '--a\n#SBATCH --b'], /--sbatch: expected one option/],
    [['-n', '3', '-o', '50%'], /--output: expected a path without %/],
    [['-n', '3', '-o', folder], /expected a new or empty folder, got one that holds other files/],
    [[], /shards/],
  ])('refuses %j', async (argv, message) => {
    const {exitCode, stderr} = await slurm(...argv)
    expect(exitCode).toBe(2)
    expect(stderr).toMatch(message)
  })
})
