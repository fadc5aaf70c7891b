/** JSON lines to a child process and back, one at a time. */
import {spawn} from 'node:child_process'
import {createInterface} from 'node:readline'
import {setTimeout as delay} from 'node:timers/promises'

/** How a child is started. */
export interface ChildCommand {
  /** Begins what is said of it when it fails. */
  name: string
  command: string
  args: readonly string[]
  env: NodeJS.ProcessEnv
  /** Longest time for one answer, in ms; then it is killed. */
  patience: number
}

/** A child that answers. */
export interface Conversation {
  /** `undefined` when it could not be started. */
  readonly pid: number | undefined
  /** What it says before it is asked. */
  firstLine(): Promise<unknown>
  /** @param data - what follows the line of the request, as it is */
  ask(request: object, data?: readonly Uint8Array[]): Promise<unknown>
  stop(): void
}

/** Kept of what a child complains of, in characters. */
const LAST_WORDS = 4096
/** How long stderr may take to end after stdout, in ms: a process of its own may hold it open. */
const GRACE_MS = 2000
/** Shown of a line that is none of ours. */
const SHOWN = 100

/** Starts a child. What it asks for rejects where it cannot be started, ends, is silent for too long or talks nonsense. */
export function conversation({name, command, args, env, patience}: ChildCommand): Conversation {
  const child = spawn(command, args, {stdio: ['pipe', 'pipe', 'pipe'], env})
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = `${complaint}${text}`.slice(-LAST_WORDS)
  })
  child.stdin.on('error', () => {}) // that it went is told by its last line
  const lines = createInterface({input: child.stdout})[Symbol.asyncIterator]()
  const unstarted = new Promise<never>((_, fail) => child.once('error', fail))
  unstarted.catch(() => {})
  const closed = new Promise<void>(done => child.once('close', () => done()))
  const read = async (): Promise<unknown> => {
    let silent = false
    const timer = setTimeout(() => {
      silent = true
      child.kill('SIGKILL')
    }, patience)
    try {
      const line = await Promise.race([lines.next(), unstarted])
      if (!line.done) return parsed(name, line.value)
      if (silent) throw new Error(`${name}: ended: no answer within ${patience / 1000} s`)
      await Promise.race([closed, delay(GRACE_MS, undefined, {ref: false})])
      throw new Error(`${name}: ended${lastLine(complaint)}`)
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    pid: child.pid,
    firstLine: read,
    ask(request, data = []) {
      child.stdin.write(`${JSON.stringify(request)}\n`)
      for (const part of data) child.stdin.write(part)
      return read()
    },
    stop: () => void child.kill('SIGKILL'),
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
