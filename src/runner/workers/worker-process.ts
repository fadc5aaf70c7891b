import {type ChildProcess, fork} from 'node:child_process'
import {existsSync} from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {expected} from '../../errors.js'
import type {YieldTurn} from '../../experiments/experiment.js'
import {packageRoot} from '../../package.js'
import type {CellError} from '../../results/record.js'
import {
  isWorkerMessage,
  type Progressed,
  type Turn,
  type WorkerReply,
  type WorkerRequest,
  type WorkerTask,
} from './protocol.js'
import {TimeLimit} from './stopwatch.js'
import {endedForMemory, isOfMemory, withCause} from './want-of-memory.js'

/** How a job ended as the parent sees it: the worker's reply, or what became of the worker. */
export type JobEnd =
  | {kind: 'reply'; reply: WorkerReply}
  | {kind: 'died'; error: Death}
  | {kind: 'timeout'; error: CellError}

/** How a worker died. */
export interface Death extends CellError {
  /** Whether memory, of the machine or within a limit, has most likely run out. */
  ofMemory: boolean
}

/** How a worker is started. */
export interface WorkerOptions {
  /** Script of the child; default {@link workerPath}. */
  workerPath?: string | undefined
  /** The experiment to load while it waits. Default: it only waits. */
  ahead?: string | undefined
  /** How many processes the system has ended for want of memory. Default: {@link endedForMemory} */
  endedForMemory?: (() => number | undefined) | undefined
}

/** Kept of what a worker writes to stderr, in characters: its last words explain its death. */
const LAST_WORDS = 16_384
/** Shown of one line of it. */
const SHOWN_WORDS = 300
/** How long a worker may take to exit once it has closed its channel, or stderr to end after it, in ms. */
const GRACE_MS = 2000
/** The built worker script: next to this file or, from the source and from bundled files, the program's. */
export function workerPath(): string {
  const here = fileURLToPath(new URL('worker.js', import.meta.url))
  return existsSync(here)
    ? here
    : join(packageRoot(), 'dist', 'program', 'src', 'runner', 'workers', 'worker.js')
}

/** What the parent does while a cell is on its way. */
export interface During {
  /** Called with how far it is. */
  onHeard?: ((how: Progressed) => void) | undefined
  /** Lets others compute and waits for its next turn. Default: it goes on alone. */
  yieldTurn?: YieldTurn | undefined
}

/** A task on its way. */
interface Underway extends During {
  settle(end: JobEnd): void
  limit: TimeLimit
}

/** One child process that runs jobs one after the other. */
export class WorkerProcess {
  readonly #child: ChildProcess
  readonly #gone: Promise<void>
  readonly #wantsMemory: () => boolean | undefined
  #death: Death | undefined
  #lastWords = ''
  #jobs = 0
  /** Tasks on their way, by the numbers of their requests. */
  readonly #tasks = new Map<number, Underway>()

  /** Starts the child; it can be given a job at once. */
  constructor(options: WorkerOptions = {}) {
    const {ahead, endedForMemory: count = endedForMemory} = options
    const before = count()
    this.#wantsMemory = () => (before === undefined ? undefined : count() !== before)
    const argv = [String(process.pid), ...(ahead === undefined ? [] : [ahead])]
    this.#child = fork(options.workerPath ?? workerPath(), argv, {
      execArgv: [],
      // stdout belongs to results: what libraries print there is dropped
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#lastWords = (this.#lastWords + text).slice(-LAST_WORDS)
    })
    this.#child.on('message', message => {
      if (!isWorkerMessage(message)) return // a plug-in may send whatever it likes
      if ('leftMs' in message) this.#tasks.get(message.id)?.onHeard?.(message)
      else if ('turnOver' in message) void this.#yieldTurn(message.id)
      else this.#end(message.id, {kind: 'reply', reply: message})
    })
    this.#gone = new Promise(resolve => this.#watch(resolve))
  }

  /** Its number; `undefined` when it could not be started. */
  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Whether the worker can take another job. */
  get alive(): boolean {
    return !this.#death && this.#child.connected
  }

  /**
   * Has one task done; never rejects. The time limit counts from now, a starting worker's start included, turns of
   * others left out.
   *
   * @param timeoutMs - the worker is killed after this time; `null`: no limit
   */
  run(task: WorkerTask, timeoutMs: number | null, during: During = {}): Promise<JobEnd> {
    return new Promise(resolve => {
      if (this.#death) return resolve({kind: 'died', error: this.#death})
      const id = ++this.#jobs
      const limit = new TimeLimit(timeoutMs, () => {
        this.#tasks.delete(id) // the kill below is ours
        void this.kill().then(() => resolve({kind: 'timeout', error: timeoutError(timeoutMs)}))
      })
      this.#tasks.set(id, {...during, settle: resolve, limit})
      const request: WorkerRequest = {id, ...task}
      this.#child.send(request, () => {}) // a child that cannot receive it dies, which is noticed
    })
  }

  /** Kills the child at once and waits until it is gone. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#gone
  }

  #end(id: number, end: JobEnd): void {
    const task = this.#tasks.get(id)
    this.#tasks.delete(id)
    task?.limit.end()
    task?.settle(end)
  }

  async #yieldTurn(id: number): Promise<void> {
    const task = this.#tasks.get(id)
    task?.limit.pause()
    const next = (await task?.yieldTurn?.()) ?? 'alone'
    if (!this.#tasks.has(id)) return // it has died meanwhile
    task?.limit.resume()
    const turn: Turn = {id, next}
    this.#child.send(turn, () => {})
  }

  /** Notices the child's death, in whichever way it comes. */
  #watch(resolve: () => void): void {
    const child = this.#child
    const die = (error: Death) => {
      this.#death = error
      for (const id of this.#tasks.keys()) this.#end(id, {kind: 'died', error})
      resolve()
    }
    child.once('exit', (code, signal) => {
      const buried = () => die(deathOf(code, signal, this.#lastWords, this.#wantsMemory()))
      // a process that it started may hold stderr open
      const timer = setTimeout(() => {
        child.stderr?.destroy()
        buried()
      }, GRACE_MS)
      child.once('close', () => {
        clearTimeout(timer)
        buried()
      })
    })
    child.on('error', error => {
      if (child.pid === undefined) die(deathBy(error.message))
    })
    // a child that closed its channel can neither answer nor be asked again, but may be exiting
    child.once('disconnect', () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const timer = setTimeout(() => child.kill('SIGKILL'), GRACE_MS)
      child.once('exit', () => clearTimeout(timer))
    })
  }
}

/** @throws {FILE_MISSING} when the worker's script is not there, which would fail every cell */
export function requireWorker({workerPath: path = workerPath()}: WorkerOptions): void {
  if (existsSync(path)) return
  const remedy = 'build the project: npm run build'
  throw expected('FILE_MISSING', path, 'the built worker', 'nothing', remedy)
}

function timeoutError(timeoutMs: number | null): CellError {
  const seconds = (timeoutMs ?? 0) / 1000
  const message = `the cell was stopped: it took longer than ${seconds} s`
  return {code: 'CELL_TIMEOUT', message}
}

const NATIVE_FAULT = ' (a fault in native code)'
/** What SIGKILL says of it. @param wanted - whether the system ended a process for want of memory, if that is known */
function killHint(wanted: boolean | undefined): string {
  if (wanted === false)
    return ' (by another program, as kill -9 does: the system has not run out of memory)'
  return ' (the system does that when memory runs out)'
}

/** What a signal says of the death of a process. */
const HINTS: Readonly<Record<string, string>> = {
  SIGSEGV: NATIVE_FAULT,
  SIGBUS: NATIVE_FAULT,
  SIGILL: NATIVE_FAULT,
  SIGFPE: NATIVE_FAULT,
}

/** What a dead worker's cell is recorded with. */
function deathOf(
  code: number | null,
  signal: string | null,
  stderr: string,
  wanted: boolean | undefined,
): Death {
  const how = signal ? `was ended by ${signal}` : `exited with code ${code}`
  const hint = signal === 'SIGKILL' ? killHint(wanted) : signal ? (HINTS[signal] ?? '') : ''
  const words = tellingLine(stderr)
  const message = `the worker process ${how}${hint}`
  const text = words ? `${message}: ${words}` : message
  if (signal === 'SIGKILL') return {code: 'CELL_CRASHED', message: text, ofMemory: wanted ?? true}
  return deathBy(text, stderr)
}

/** @param words - all that is known of it */
function deathBy(message: string, words = message): Death {
  const ofMemory = isOfMemory(words)
  return {code: 'CELL_CRASHED', message: withCause(message, ofMemory), ofMemory}
}

/** Lines of the stacks that Node prints when it aborts. */
const STACK = /^(\d+: |-----)/

/** The line of a crash report that names the fault: not its stack, not its version footer. */
function tellingLine(stderr: string): string | undefined {
  const lines = stderr.split('\n').map(line => line.trim())
  const fault = lines.find(line =>
    /^(FATAL ERROR|# Fatal \w|\w*Error\b|terminate called)/.test(line),
  )
  const last = () => lines.findLast(line => line !== '' && !STACK.test(line))
  return (fault ?? last())?.slice(0, SHOWN_WORDS)
}
