/** JSON lines to a child process and back, one at a time. */
import {spawn} from 'node:child_process'
import type {Readable} from 'node:stream'
import {setTimeout as delay} from 'node:timers/promises'
import {z} from 'zod'

export interface ChildCommand {
  /** Begins what is said of it when it fails. */
  name: string
  command: string
  args: readonly string[]
  env: NodeJS.ProcessEnv
  /** Longest time for one answer, in ms; then it is killed. */
  patience: number
}

export interface Conversation {
  /** Whether it can be asked. */
  readonly alive: boolean
  /** What it says before it is asked. @param patience - longest time, in ms. Default: that of an answer */
  nextLine(patience?: number): Promise<unknown>
  /**
   * @param data - what follows the line of the request, as it is
   * @returns an answer; one with `bytes` has the bytes that follow it as `data`
   */
  ask(request: object, data?: readonly Uint8Array[]): Promise<unknown>
  stop(): void
}

/** Kept of what a child complains of, in characters. */
const LAST_WORDS = 4096
/** How long stderr may take to end after stdout, and a child once it is stopped, in ms: a process that it started may hold it. */
const GRACE_MS = 2000
/** Longest line, in bytes: answers have outputs of some hundred rows. */
const LONGEST_LINE = 2 ** 24
/** Shown of a line that is none of ours. */
const SHOWN = 100

/** Starts a child. What it asks for rejects where it cannot be started, ends, is silent for too long or talks nonsense. */
export function conversation({
  name,
  command,
  args,
  env,
  patience: ordinary,
}: ChildCommand): Conversation {
  const child = spawn(command, args, {stdio: ['pipe', 'pipe', 'pipe'], env})
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = `${complaint}${text}`.slice(-LAST_WORDS)
  })
  child.stdin.on('error', () => {}) // that it went is told by its last line
  const reader = new Reader(name, child.stdout)
  const unstarted = new Promise<never>((_, fail) => child.once('error', fail))
  unstarted.catch(() => {})
  const closed = new Promise<void>(done => child.once('close', () => done()))
  let stopped = false
  // closing stdin ends a Python and all that it has started; one that was killed could not do that
  const stop = () => {
    if (stopped) return
    stopped = true
    child.stdin.destroy()
    const timer = setTimeout(() => child.kill('SIGKILL'), GRACE_MS).unref()
    child.once('exit', () => clearTimeout(timer))
  }
  const read = async (patience = ordinary): Promise<unknown> => {
    let silent = false
    const timer = setTimeout(() => {
      silent = true
      stop()
    }, patience)
    try {
      const answer = await Promise.race([nextAnswer(name, reader), unstarted])
      if (answer !== undefined) return answer
      if (silent) throw new Error(`${name}: ended: no answer within ${patience / 1000} s`)
      await Promise.race([closed, delay(GRACE_MS, undefined, {ref: false})])
      throw new Error(`${name}: ended${lastLine(complaint)}`)
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    get alive() {
      return child.exitCode === null && child.signalCode === null && !stopped
    },
    nextLine: read,
    ask(request, data = []) {
      child.stdin.write(`${JSON.stringify(request)}\n`)
      for (const part of data) child.stdin.write(part)
      return read()
    },
    stop,
  }
}

/** A line, with the bytes after it that it speaks of; `undefined` at the end of the stream. */
async function nextAnswer(name: string, reader: Reader): Promise<unknown> {
  const line = await reader.line()
  if (line === undefined) return undefined
  const answer = parsed(name, line)
  const {success, data: sized} = withBytes.safeParse(answer)
  if (!success) return answer
  const data = await reader.bytes(sized.bytes)
  return data && {...sized, data}
}

const withBytes = z.looseObject({bytes: z.int().nonnegative()})

/** A stream, read only on demand. What it gives is `undefined` at the end. */
class Reader {
  readonly #chunks: AsyncIterator<Buffer>
  #rest: Buffer = Buffer.alloc(0)

  constructor(
    private readonly name: string,
    stream: Readable,
  ) {
    this.#chunks = stream[Symbol.asyncIterator]()
  }

  async line(): Promise<string | undefined> {
    for (;;) {
      const end = this.#rest.indexOf('\n')
      if (end >= 0) {
        const line = this.#rest.toString('utf8', 0, end)
        this.#rest = this.#rest.subarray(end + 1)
        return line
      }
      if (this.#rest.length > LONGEST_LINE) {
        const got = `${this.#rest.length} bytes without one`
        throw new Error(`${this.name}: expected an answer in lines, got ${got}`)
      }
      const {value, done} = await this.#chunks.next()
      if (done) return undefined
      this.#rest = Buffer.concat([this.#rest, value])
    }
  }

  async bytes(count: number): Promise<Uint8Array | undefined> {
    const data = Buffer.alloc(count)
    for (let at = 0; ; ) {
      const taken = this.#rest.copy(data, at, 0, count - at)
      this.#rest = this.#rest.subarray(taken)
      at += taken
      if (at === count) return data
      const {value, done} = await this.#chunks.next()
      if (done) return undefined
      this.#rest = value
    }
  }
}

function parsed(name: string, line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    throw new Error(
      `${name}: expected an answer in JSON, got ${JSON.stringify(line.slice(0, SHOWN))}`,
    )
  }
}

function lastLine(text: string): string {
  const line = text.trim().split('\n').at(-1)
  return line ? `: ${line}` : ''
}
