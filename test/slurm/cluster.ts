/** A Slurm of two virtual nodes on this machine, in a folder of its own: no other one is touched. */
import {execFile, spawn} from 'node:child_process'
import {randomBytes} from 'node:crypto'
import {existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {createServer} from 'node:net'
import {hostname, tmpdir} from 'node:os'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {promisify} from 'node:util'

const execute = promisify(execFile)

/** What Slurm says of a task. */
interface Task {
  id: string
  state: string
  node: string
  restarts: number
  exit: string
}

export interface Cluster {
  /** Environment in which its commands find it. */
  env: NodeJS.ProcessEnv
  /** Runs one of its commands. @returns what it prints on stdout */
  run(command: string, ...words: string[]): Promise<string>
  /** What it says of a job, of an array one line for each task. */
  tasks(job: string): Promise<Task[]>
  /** Waits until no task of a job is waiting or running. */
  ended(job: string): Promise<Task[]>
  stop(): Promise<void>
}

/** Starts it and waits until both nodes are idle. */
export async function startCluster(): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'rfa-slurm-'))
  const conf = await configure(folder)
  const env = {...process.env, SLURM_CONF: conf}
  const run = async (command: string, ...words: string[]) =>
    (await execute(command, words, {env, cwd: folder})).stdout
  const socket = join(folder, 'munge.socket')
  const own = (name: string) => join(folder, `munge.${name}`)
  await run(
    'munged',
    ...['--force', `--socket=${socket}`, `--key-file=${own('key')}`, `--pid-file=${own('pid')}`],
    ...[`--log-file=${own('log')}`, `--seed-file=${own('seed')}`, '--num-threads=2'],
  )
  await run('slurmctld', '-f', conf)
  for (const node of NODES) await run('slurmd', '-f', conf, '-N', node)
  const stop = () => stopAll(folder, run)
  try {
    await until(60_000, 'two idle nodes', async () => {
      const states = await run('sinfo', '--noheader', '--Node', '--format=%T').catch(() => '')
      return states.split('\n').filter(state => state === 'idle').length === NODES.length
    })
  } catch (error) {
    const log = existsSync(join(folder, 'ctld.log'))
      ? readFileSync(join(folder, 'ctld.log'), 'utf8')
      : ''
    await stop()
    throw new Error(`${error}\n${log.slice(-2000)}`)
  }
  const tasks = async (job: string) =>
    tasksIn(await run('scontrol', '--oneliner', 'show', 'job', job))
  const ended = async (job: string) => {
    await until(90_000, `the end of job ${job}`, async () => (await tasks(job)).every(hasEnded))
    return tasks(job)
  }
  return {env, run, tasks, ended, stop}
}

const NODES = ['n1', 'n2']

/** Nothing is tracked by cgroups, which containers often lack; memory is asked for, but not enforced. */
async function configure(folder: string): Promise<string> {
  for (const name of ['state', ...NODES.map(node => `spool-${node}`)]) mkdirSync(join(folder, name))
  writeFileSync(join(folder, 'munge.key'), randomBytes(128), {mode: 0o400})
  const [port, ...nodePorts] = await Promise.all([0, 1, 2].map(freePort))
  const host = hostname().split('.')[0]
  const nodes = NODES.map(
    (node, at) =>
      `NodeName=${node} NodeHostname=${host} NodeAddr=127.0.0.1 Port=${nodePorts[at]} CPUs=2 RealMemory=4000 State=UNKNOWN`,
  )
  const lines = [
    ...['ClusterName=rfa', `SlurmctldHost=${host}(127.0.0.1)`, 'SlurmUser=root', 'SlurmdUser=root'],
    // a task that is requeued may not begin before credentials of its first life have expired
    `AuthType=auth/munge`,
    `AuthInfo=socket=${join(folder, 'munge.socket')},cred_expire=5`,
    'CryptoType=crypto/munge',
    ...[`StateSaveLocation=${folder}/state`, `SlurmdSpoolDir=${folder}/spool-%n`],
    ...[`SlurmctldLogFile=${folder}/ctld.log`, `SlurmdLogFile=${folder}/%n.log`],
    ...[`SlurmctldPidFile=${folder}/ctld.pid`, `SlurmdPidFile=${folder}/%n.pid`],
    ...[`SlurmctldPort=${port}`, `SlurmdPort=${nodePorts[0]}`],
    ...['ProctrackType=proctrack/linuxproc', 'TaskPlugin=task/none', 'MpiDefault=none'],
    ...['JobAcctGatherType=jobacct_gather/none', 'AccountingStorageType=accounting_storage/none'],
    ...['SelectType=select/cons_tres', 'SelectTypeParameters=CR_Core_Memory'],
    ...['SwitchType=switch/none', 'ReturnToService=2', 'KillWait=5', 'MailProg=/bin/true'],
    'SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=100000',
    ...nodes,
    'PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP',
  ]
  const conf = join(folder, 'slurm.conf')
  writeFileSync(conf, `${lines.join('\n')}\n`)
  return conf
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const {port} = server.address() as {port: number}
      server.close(() => resolve(port))
    })
  })
}

/** Lines of `Name=value` words. */
function tasksIn(text: string): Task[] {
  const lines = text.split('\n').filter(line => line.includes('JobId='))
  return lines.map(line => {
    const field = (name: string) => new RegExp(`(?:^| )${name}=(\\S+)`).exec(line)?.[1] ?? ''
    return {
      id: field('ArrayTaskId'),
      state: field('JobState'),
      node: field('NodeList'),
      restarts: Number(field('Restarts')),
      exit: field('ExitCode'),
    }
  })
}

function hasEnded({state}: Task): boolean {
  return ['COMPLETED', 'FAILED', 'CANCELLED', 'TIMEOUT', 'NODE_FAIL'].includes(state)
}

/** Waits for something, looking often. @throws when it does not come in time */
export async function until(
  ms: number,
  what: string,
  holds: () => Promise<boolean> | boolean,
): Promise<void> {
  const end = Date.now() + ms
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`waited ${ms} ms in vain for ${what}`)
    await sleep(50)
  }
}

/** Ends jobs that still run, which daemons leave alone, and then the daemons of the folder by the numbers that they left there. */
async function stopAll(folder: string, run: Cluster['run']): Promise<void> {
  const done = async () => (await run('squeue', '--noheader')).trim() === ''
  await run('scancel', '--me')
    .then(() => until(10_000, 'the end of the jobs', done))
    .catch(() => undefined)
  const files = ['ctld.pid', ...NODES.map(node => `${node}.pid`), 'munge.pid']
  const pids = files
    .map(name => join(folder, name))
    .filter(existsSync)
    .map(path => Number(readFileSync(path, 'utf8')))
  for (const pid of pids) signal(pid, 'SIGTERM')
  await until(20_000, 'the end of the daemons', () => !pids.some(pid => signal(pid, 0))).catch(
    () => {
      for (const pid of pids) signal(pid, 'SIGKILL')
    },
  )
  rmSync(folder, {recursive: true, force: true})
}

/** Whether there was such a process. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}

/** Runs the built program. @returns its exit code and what it printed */
export async function program(
  words: readonly string[],
  {cwd, env}: {cwd: string; env: NodeJS.ProcessEnv},
): Promise<{code: number | null; stdout: string; stderr: string}> {
  const path = join(import.meta.dirname, '..', '..', 'bin', 'run.js')
  const child = spawn(process.execPath, [path, ...words], {cwd, env})
  const printed = {stdout: '', stderr: ''}
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', chunk => {
      printed[name] += chunk
    })
  }
  const code = await new Promise<number | null>(resolve => child.once('close', resolve))
  return {code, ...printed}
}
