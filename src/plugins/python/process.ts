/** Python that is asked and waited for, see `python/rfa_plugin.py`: features are formed in the midst of a call. */
import {type ChildProcess, spawn} from 'node:child_process'
import {closeSync, writeSync} from 'node:fs'
import {join} from 'node:path'
import {setTimeout as delay} from 'node:timers/promises'
import {z} from 'zod'
import {expected, messageOf, RfaError} from '../../errors.js'
import {errorCode} from '../../files.js'
import {packageRoot} from '../../package.js'
import {pythonPath} from '../../python-path.js'
import {factsOf, type ModuleFacts, REMEDY, requireSound} from './answers.js'
import {lastLine, openPipes, type Pipes, readNow, unlessWaiting} from './pipes.js'

/** Longest time until a file is loaded, in ms: importing PyTorch from a slow disk; and until an answer comes. */
const [START_MS, ANSWER_MS] = [120_000, 600_000]
/** Between looks for an answer, in ms. */
const PAUSE_MS = 0.05
/** Between looks for the first one, in ms. */
const START_PAUSE_MS = 2
/** Longest time for Python to end once it has no one to ask it, in ms: then the system holds it. */
const END_MS = 2000
/** Longest line of an answer, in bytes. */
const LONGEST_LINE = 2 ** 20
const NEWLINE = 0x0a

const shaped = z.object({shape: z.array(z.int().nonnegative())})
const sized = z.object({size: z.int()})

export interface Request {
  do: 'value' | 'gradient' | 'size'
  options: object
  causal?: boolean
  /** Whether one of the arrays says which keys are seen. */
  masked?: boolean
}

export interface HostArray {
  data: Float32Array
  shape: readonly number[]
}

/**
 * Loads a file.
 *
 * @param path - as it was given
 * @param file - without symbolic links
 * @throws {BACKEND_MISSING} without Python, or without a package that the file imports
 * @throws {BAD_PLUGIN} for a file without phi or attention, or one that cannot be read
 * @throws {PLUGIN_FAILED} for what it raises
 * @throws {NOT_WRITABLE} without a folder for temporary files
 */
export async function loadPython(path: string, file: string): Promise<PythonModule> {
  if (process.platform === 'win32') {
    throw expected('UNSUPPORTED', 'Python', 'Linux or macOS', process.platform)
  }
  const python = new PythonProcess(file)
  try {
    const greeting = await python.greeting()
    requireSound(greeting, path)
    return new PythonModule(path, factsOf(greeting), python)
  } catch (error) {
    python.end()
    throw error
  }
}

/** A file of Python in a process that lasts as long as this one. */
export class PythonModule {
  /** Why it cannot be asked any more. */
  #fault: RfaError | undefined

  /** @param path - of the file, as it was given */
  constructor(
    private readonly path: string,
    readonly facts: ModuleFacts,
    private readonly python: PythonProcess,
  ) {
    python.group = facts.pid
  }

  /** F of features. */
  size(request: Omit<Request, 'do'>, arrays: readonly HostArray[]): number {
    return this.#answered(() => this.#ask({...request, do: 'size'}, arrays, sized).size)
  }

  /** Features, outputs or a gradient. @throws {PLUGIN_FAILED} for what the file raises, and where Python ends or waits */
  array(request: Request, arrays: readonly HostArray[]): HostArray {
    return this.#answered(() => {
      const {shape} = this.#ask(request, arrays, shaped)
      const bytes = Buffer.alloc(4 * shape.reduce((size, length) => size * length, 1))
      this.python.fill(bytes)
      return {shape, data: new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)}
    })
  }

  #ask<Answer>(request: Request, arrays: readonly HostArray[], form: z.ZodType<Answer>): Answer {
    const shapes = arrays.map(({shape}) => shape)
    this.python.write(Buffer.from(`${JSON.stringify({...request, shapes})}\n`))
    for (const {data} of arrays) {
      this.python.write(new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
    }
    const answer: unknown = JSON.parse(this.python.line())
    requireSound(answer, this.path)
    return form.parse(answer)
  }

  /** After anything but an answer, or what the file raised, Python is ended: its next answer might be to this request. */
  #answered<Answer>(ask: () => Answer): Answer {
    if (this.#fault) throw this.#fault
    try {
      return ask()
    } catch (error) {
      if (error instanceof RfaError) throw error
      this.python.end()
      this.#fault = this.#faultOf(error)
      throw this.#fault
    }
  }

  #faultOf(error: unknown): RfaError {
    if (!(error instanceof Ended)) {
      return new RfaError('PLUGIN_FAILED', `Python gave an answer that is none (${this.path})`, {
        suggestions: ['look for what writes to files that it has not opened'],
        cause: error,
      })
    }
    const words = this.python.lastLine()
    const message = `Python ${error.message}${words ? `: ${words}` : ''} (${this.path})`
    return new RfaError('PLUGIN_FAILED', message, {
      suggestions: ['look for exits, for memory that runs out, and for loops without end'],
    })
  }
}

/** Python ended, or is silent for too long. */
class Ended extends Error {}

/** Those that run. */
const running = new Set<PythonProcess>()
process.on('exit', () => {
  for (const python of running) python.end()
})

/** Python with a file, and the pipes to it. It ends where this process does: nobody holds the pipe of requests then. */
class PythonProcess {
  readonly #pipes: Pipes = openPipes()
  readonly #child: ChildProcess
  /** How it ended, once that is known. */
  #end: string | undefined
  /** Of the process that runs the file, and all that it starts. */
  group: number | undefined

  constructor(file: string) {
    const {theirs, words} = this.#pipes
    const script = join(packageRoot(), 'python', 'rfa_plugin.py')
    this.#child = spawn(pythonPath(), [script, file], {
      // several workers share the processors, each with a Python of its own
      env: {OMP_NUM_THREADS: '1', ...process.env, PYTHONDONTWRITEBYTECODE: '1'},
      // whoever waits for the end of this stderr waits for that of Python
      stdio: ['ignore', words, words, ...theirs, process.stderr.fd],
    })
    for (const pipe of theirs) closeSync(pipe)
    running.add(this)
    this.#child.once('error', error => {
      this.#end = messageOf(error)
    })
    this.#child.once('exit', (code, signal) => {
      this.#end = signal === null ? `it ended with code ${code}` : `it was ended by ${signal}`
      if (signal !== null) this.#endGroup()
    })
    this.#child.unref()
  }

  /** What it says first. */
  async greeting(): Promise<unknown> {
    const end = performance.now() + START_MS
    const line: number[] = []
    for (;;) {
      // looked at in this order, so that what was said before the end is read
      const over = this.#end !== undefined || performance.now() > end
      if (this.#readLine(line)) return JSON.parse(Buffer.from(line).toString('utf8'))
      if (over) throw this.#unstarted()
      await delay(START_PAUSE_MS)
    }
  }

  /** Adds bytes of a line to those that have come. @returns whether it is whole */
  #readLine(line: number[]): boolean {
    const one = Buffer.alloc(1)
    while (readNow(this.#pipes.answers, one, 0)) {
      if (one[0] === NEWLINE) return true
      line.push(one[0]!)
    }
    return false
  }

  #unstarted(): RfaError {
    const got = this.#end ?? `nothing within ${START_MS / 1000} s`
    const last = this.lastLine()
    const said = last ? `${got}: ${last}` : got
    return expected('BACKEND_MISSING', 'Python', `${pythonPath()} to run`, said, REMEDY)
  }

  write(bytes: Uint8Array): void {
    const {requests} = this.#pipes
    for (let at = 0; at < bytes.length; ) {
      at += patiently(() => unlessWaiting(() => writeSync(requests, bytes, at, bytes.length - at)))
    }
  }

  line(): string {
    const bytes: number[] = []
    const one = Buffer.alloc(1)
    while (bytes.length < LONGEST_LINE) {
      this.fill(one)
      if (one[0] === NEWLINE) return Buffer.from(bytes).toString('utf8')
      bytes.push(one[0]!)
    }
    throw new Error(`expected a line, got ${bytes.length} bytes without one`)
  }

  fill(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      const got = patiently(() => readNow(this.#pipes.answers, bytes, at))
      if (got === 0) throw new Ended('ended')
      at += got
    }
  }

  lastLine(): string {
    return lastLine(this.#pipes.words)
  }

  /** Ends it, and waits until it has ended with all that it has started. */
  end(): void {
    if (!running.delete(this)) return
    const {requests, answers} = this.#pipes
    closeSync(requests)
    const bytes = Buffer.alloc(2 ** 16)
    const end = performance.now() + END_MS
    while (performance.now() < end && readNow(answers, bytes, 0) !== 0) pause()
    closeSync(answers)
  }

  /** Ends what Python has started where it was ended itself, and could not. */
  #endGroup(): void {
    if (this.group === undefined) return
    try {
      process.kill(-this.group, 'SIGKILL')
    } catch (error) {
      if (errorCode(error) !== 'ESRCH') throw error
    }
  }
}

/** Repeats what would have to wait. @throws {Ended} where it fails, or waits for too long */
function patiently(act: () => number | undefined): number {
  const end = performance.now() + ANSWER_MS
  for (;;) {
    try {
      const done = act()
      if (done !== undefined) return done
    } catch (error) {
      throw new Ended(`ended (${errorCode(error)})`)
    }
    if (performance.now() > end) throw new Ended(`gave no answer within ${ANSWER_MS / 1000} s`)
    pause()
  }
}

const SLEEP = new Int32Array(new SharedArrayBuffer(4))

function pause(): void {
  Atomics.wait(SLEEP, 0, 0, PAUSE_MS)
}
