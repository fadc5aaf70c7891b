/** A plan on a real Slurm: an array, tasks that are requeued and killed, the merge, and the run that one machine makes. */
import {existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {afterAll, beforeAll, describe, expect, it} from 'vitest'
import {temporaryFolder} from '../helpers/folders.js'
import {processesWith} from '../helpers/processes.js'
import {type Cluster, program, startCluster, until} from './cluster.js'

const SHARDS = 3
/** Enough cells of a good part of a second that one of a shard has ended and others have not. */
const GRID = [
  ...['error-sweep', '--generator', 'gaussian', '--seq-len', '1024', '--heads', '4'],
  ...['--methods', 'favor-pos,rfa', '--num-features', '64,96,128,192,256'],
  ...['--projections', 'iid,orth', '--replicates', '40'],
]

describe.skipIf(!process.env.RFA_SLURM)('a plan on Slurm', () => {
  let cluster: Cluster
  // a name that shells would take apart
  const folder = join(temporaryFolder(), "it's $HOME here")
  const job = join(folder, 'job')
  beforeAll(async () => {
    mkdirSync(folder)
    cluster = await startCluster()
  })
  afterAll(() => cluster?.stop())

  const rfa = (...words: string[]) => program(words, {cwd: join(folder, '..'), env: cluster.env})
  const shard = (index: number) => join(job, `shard-${index}`)
  const linesOf = (index: number) => {
    const path = join(shard(index), 'records.jsonl')
    return existsSync(path) ? readFileSync(path, 'utf8').split('\n').length - 1 : 0
  }
  const cellsOf = (index: number): number =>
    JSON.parse(readFileSync(join(shard(index), 'manifest.json'), 'utf8')).shard.cells
  const log = (name: string) => readFileSync(join(job, 'logs', `${name}.log`), 'utf8')

  /** Waits until a shard is under way. */
  const midway = async (index: number) => {
    await until(60_000, `a cell of shard ${index}`, () => linesOf(index) > 0)
    expect(linesOf(index)).toBeLessThan(cellsOf(index))
  }

  it('runs as an array, is requeued and killed, and merged into what one machine makes', async () => {
    const plan = join(folder, 'plan.json')
    writeFileSync(plan, (await rfa(...GRID, '--dry-run', '--json')).stdout)
    const words = [
      '--shards',
      String(SHARDS),
      '--output',
      job,
      '--time',
      '10',
      '--submit',
      '--json',
    ]
    const made = await rfa('slurm', plan, ...words)
    // its work is that of seconds, which an array is too much for
    expect(made.stderr).toMatch(/^(warning: an array of \d+ tasks [^\n]*\n)?$/)
    const {jobs} = JSON.parse(made.stdout)

    // one is sent back into the queue by Slurm, another dies at once
    await midway(1)
    await cluster.run('scontrol', 'requeue', `${jobs.array}_1`)
    await midway(2)
    const pids = processesOf(jobs.array, 2)
    expect(pids.length).toBeGreaterThan(0)
    for (const pid of pids) process.kill(pid, 'SIGKILL')

    const tasks = await cluster.ended(jobs.array)
    const byId = (id: number) => tasks.find(task => task.id === String(id))
    expect(tasks.length).toBe(SHARDS)
    expect(byId(1)).toMatchObject({state: 'COMPLETED', restarts: 1})
    expect(byId(2)).toMatchObject({state: 'FAILED', exit: '0:9'})
    expect(byId(3)).toMatchObject({state: 'COMPLETED', restarts: 0})
    expect(new Set(tasks.map(({node}) => node))).toEqual(new Set(['n1', 'n2']))

    // the merge has waited for all, and says what is missing
    const [merge] = await cluster.ended(jobs.merge)
    expect(merge).toMatchObject({state: 'FAILED', exit: '3:0'})
    expect(log('merge')).toMatch(
      /expected a record of each of the 30 cells of the plan, got \d+; missing: /,
    )
    expect(log('merge')).toContain(
      `shard-2 has ${linesOf(2)} of ${cellsOf(2)} cells, continue with: `,
    )
    expect(existsSync(join(job, 'merged'))).toBe(false)

    // submitted once more, all go on
    const before = [1, 2, 3].map(linesOf)
    const [array, last] = (await cluster.run('sh', join(job, 'submit.sh'))).trim().split(' ')
    const again = await cluster.ended(array!)
    expect(again.map(({state}) => state)).toEqual(['COMPLETED', 'COMPLETED', 'COMPLETED'])
    const [merged] = await cluster.ended(last!)
    expect([merged?.state, log('merge')]).toEqual([
      'COMPLETED',
      expect.stringContaining('merged 3 shards'),
    ])
    expect(linesOf(1)).toBe(before[0])
    expect(linesOf(2)).toBeGreaterThan(before[1]!)
    for (const index of [1, 2, 3]) expect(linesOf(index)).toBe(cellsOf(index))

    // and equal what one machine makes
    const whole = join(folder, 'whole')
    expect(await rfa('run', plan, '--output', whole, '--threads', '1')).toMatchObject({code: 0})
    const tables = readdirSync(whole).filter(name => name.endsWith('.csv'))
    expect(tables.length).toBeGreaterThan(1)
    for (const name of [...tables, 'summary.json']) {
      expect(readFileSync(join(job, 'merged', name), 'utf8')).toBe(
        readFileSync(join(whole, name), 'utf8'),
      )
    }
    const resumed = await rfa('run', plan, '--output', join(job, 'merged'), '--resume')
    expect(resumed.stderr).toMatch(/^30 cells in /)
  })
})

/** The processes of a task. */
function processesOf(array: string, task: number): number[] {
  const ofTask = new Set(processesWith(`SLURM_ARRAY_TASK_ID=${task}\0`))
  return processesWith(`SLURM_ARRAY_JOB_ID=${array}\0`)
    .filter(pid => ofTask.has(pid))
    .map(Number)
}
