/** Runs of the built program that something happens to, and what they leave behind. */
import {type ChildProcess, spawn} from 'node:child_process'
import {existsSync, readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {parse} from 'csv-parse/sync'
import {expect} from 'vitest'
import {processesWith} from '../helpers/processes.js'

const program = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

/** How a process ended. */
interface Ending {
  code: number | null
  signal: string | null
  stderr: string
}

/** A process of the program, and those that it starts. */
export interface Started {
  child: ChildProcess
  ended: Promise<Ending>
  /** Numbers of all its processes that run now, its own among them. */
  processes(): number[]
}

/** How a process is started. */
export interface StartOptions {
  cwd: string
  /** A command of bash before that of the program, e.g. `ulimit -f 2`. */
  before?: string
  env?: Record<string, string>
  uid?: number
}

let started = 0

/** Starts the program with these words. */
export function start(argv: readonly string[], options: StartOptions): Started {
  const {cwd, before, env, uid} = options
  const mark = `rfa-fault-${process.pid}-${++started}.`
  const words = [program, ...argv]
  const [file, args] = before
    ? ['bash', ['-c', `${before}; exec "$@"`, '-', process.execPath, ...words]]
    : [process.execPath, words]
  const child = spawn(file, args, {
    cwd,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {...process.env, ...env, RFA_TEST_MARK: mark},
    ...(uid !== undefined && {uid, gid: uid}),
  })
  let stderr = ''
  child.stderr!.setEncoding('utf8').on('data', chunk => {
    stderr += chunk
  })
  // not 'close': an orphan may hold stderr open
  const ended = new Promise<Ending>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => setTimeout(() => resolve({code, signal, stderr}), 5))
  })
  return {child, ended, processes: () => processesWith(mark).map(Number)}
}

/** Runs the program to its end. */
export const complete = (argv: readonly string[], options: StartOptions) =>
  start(argv, options).ended

/** Waits until a process has no child left and is gone itself. */
export async function expectNoneLeft({processes}: Started): Promise<void> {
  await expect.poll(processes, {timeout: 60_000}).toEqual([])
}

/** Lines of the journal of a run, a torn one at its end included; none where there is no journal. */
export function journalOf(folder: string): string[] {
  const path = join(folder, 'records.jsonl')
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n') : ['']
}

/** What is the same for every run of a plan: the names of its files, and the bytes of its tables. */
export function tablesOf(folder: string, isMeasured: (column: string) => boolean = () => false) {
  const names = readdirSync(folder).sort()
  const tables = names
    .filter(name => name.endsWith('.csv'))
    .map(name => [name, unmeasured(readFileSync(join(folder, name), 'utf8'), isMeasured)])
  return {names, ...Object.fromEntries(tables)} as Record<string, unknown>
}

/** A table without the columns of what was measured; its text where there are none. */
function unmeasured(text: string, isMeasured: (column: string) => boolean) {
  const rows: string[][] = parse(text)
  const [header = []] = rows
  const kept = header.map(name => !isMeasured(name))
  if (kept.every(Boolean)) return text
  return rows.map(row => row.filter((_, index) => kept[index]))
}
