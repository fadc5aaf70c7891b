/** Python that is asked and waited for, see `python/rfa_plugin.py`: features are formed in the midst of a call. */
import {type ChildProcess, spawn, spawnSync} from 'node:child_process'
import {
  closeSync,
  constants,
  fstatSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {setTimeout as delay} from 'node:timers/promises'
import {z} from 'zod'
import {expected, messageOf, RfaError} from '../../errors.js'
import {errorCode} from '../../files.js'
import {packageRoot} from '../../package.js'
import {pythonPath} from '../../python-path.js'

/** Longest time until a file is loaded, in ms: importing PyTorch from a slow disk; and until an answer comes. */
const [START_MS, ANSWER_MS] = [120_000, 600_000]
/** Between looks for an answer, in ms. */
const PAUSE_MS = 0.05
/** Kept of what Python complains of, in characters. */
const LAST_WORDS = 2000

const fault = z.union([
  z.object({fault: z.string(), line: z.number().nullable(), missing: z.string().optional()}),
  z.object({expected: z.string(), line: z.number().nullable()}),
])
const option = z.discriminatedUnion('type', [
  z.object({type: z.literal('boolean'), default: z.boolean()}),
  z.object({type: z.literal('integer'), default: z.number().int()}),
  z.object({type: z.literal('number'), default: z.number()}),
  z.object({type: z.literal('text'), default: z.string()}),
])
/** What a file says of itself. */
const moduleFacts = z.object({
  /** Its function. */
  does: z.enum(['phi', 'attention']),
  library: z.enum(['numpy', 'torch']),
  /** Whether it takes random vectors. */
  projected: z.boolean(),
  /** What else an attention takes. */
  forms: z.array(z.enum(['causal', 'key_mask'])),
  options: z.record(z.string(), option),
  /** First line of the doc string of the function. */
  says: z.string(),
  name: z.string().optional(),
  title: z.string().optional(),
  citation: z.string().optional(),
  unbiased_for: z.literal('softmax').optional(),
  non_negative: z.boolean().optional(),
})
export type ModuleFacts = z.infer<typeof moduleFacts>
const shaped = z.object({shape: z.array(z.number().int())})
const sized = z.object({size: z.number().int()})

/** What is asked for. */
export interface Request {
  do: 'value' | 'gradient' | 'size'
  options: object
  causal?: boolean
  /** Whether one of the arrays says which keys are seen. */
  masked?: boolean
}

/** An array and its shape. */
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
 */
export async function loadPython(path: string, file: string): Promise<PythonModule> {
  if (process.platform === 'win32') {
    throw expected('UNSUPPORTED', 'Python', 'Linux or macOS', process.platform)
  }
  const folder = mkdtempSync(join(tmpdir(), 'rfa-python-'))
  const names = [join(folder, 'requests'), join(folder, 'answers')] as const
  try {
    const made = spawnSync('mkfifo', names, {encoding: 'utf8'})
    if (made.status !== 0) {
      throw expected('PLUGIN_FAILED', 'Python', 'pipes', made.stderr?.trim() || 'no mkfifo')
    }
    return await started(path, file, names)
  } finally {
    rmSync(folder, {recursive: true, force: true})
  }
}

/** A file of Python in a process that lasts as long as this one. */
export class PythonModule {
  /** @param path - of the file, as it was given */
  constructor(
    private readonly path: string,
    readonly facts: ModuleFacts,
    private readonly child: ChildProcess,
    private readonly pipes: {requests: number; answers: number},
    private readonly lastWords: () => string,
  ) {}

  /** F of features. */
  size(request: Omit<Request, 'do'>, arrays: readonly HostArray[]): number {
    return sized.parse(this.ask({...request, do: 'size'}, arrays)).size
  }

  /** Features, outputs or a gradient. @throws {PLUGIN_FAILED} for what the file raises, and where Python ends or waits */
  array(request: Request, arrays: readonly HostArray[]): HostArray {
    const {shape} = shaped.parse(this.ask(request, arrays))
    const bytes = Buffer.alloc(4 * shape.reduce((size, length) => size * length, 1))
    this.fill(bytes)
    return {shape, data: new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)}
  }

  private ask(request: Request, arrays: readonly HostArray[]): unknown {
    const shapes = arrays.map(({shape}) => shape)
    this.write(Buffer.from(`${JSON.stringify({...request, shapes})}\n`))
    for (const {data} of arrays) {
      this.write(new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
    }
    const answer: unknown = JSON.parse(this.line())
    const wrong = fault.safeParse(answer)
    if (wrong.success) throw faultOf(this.path, wrong.data)
    return answer
  }

  private write(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      at += this.patiently(() => writeSync(this.pipes.requests, bytes, at, bytes.length - at))
    }
  }

  private line(): string {
    const bytes: number[] = []
    const one = Buffer.alloc(1)
    for (;;) {
      this.fill(one)
      if (one[0] === 0x0a) return Buffer.from(bytes).toString('utf8')
      bytes.push(one[0]!)
    }
  }

  private fill(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      const got = this.patiently(() =>
        readSync(this.pipes.answers, bytes, at, bytes.length - at, null),
      )
      if (got === 0) throw this.ended('ended')
      at += got
    }
  }

  /** Repeats what would have to wait. */
  private patiently(act: () => number): number {
    const end = performance.now() + ANSWER_MS
    for (;;) {
      try {
        return act()
      } catch (error) {
        if (errorCode(error) !== 'EAGAIN') throw this.ended(`ended (${errorCode(error)})`)
      }
      if (performance.now() > end) {
        this.child.kill('SIGKILL')
        throw this.ended(`gave no answer within ${ANSWER_MS / 1000} s`)
      }
      Atomics.wait(SLEEP, 0, 0, PAUSE_MS)
    }
  }

  private ended(what: string): RfaError {
    const words = this.lastWords().trim().split('\n').at(-1)
    const message = `Python ${what}${words ? `: ${words}` : ''} (${this.path})`
    return new RfaError('PLUGIN_FAILED', message, {
      suggestions: ['look for exits, for memory that runs out, and for loops without end'],
    })
  }
}

const SLEEP = new Int32Array(new SharedArrayBuffer(4))

async function started(
  path: string,
  file: string,
  [requestsPath, answersPath]: readonly [string, string],
): Promise<PythonModule> {
  const python = pythonPath()
  const script = join(packageRoot(), 'python', 'rfa_plugin.py')
  // several workers share the processors, each with a Python of its own
  const env = {OMP_NUM_THREADS: '1', ...process.env, PYTHONDONTWRITEBYTECODE: '1'}
  // nothing reads while this process waits for an answer: what Python complains of goes to a file
  const wordsPath = `${requestsPath}.stderr`
  const words = openSync(wordsPath, 'w+')
  const child = spawn(python, [script, file, requestsPath, answersPath], {
    env,
    stdio: ['ignore', 'pipe', words],
  })
  const lastWords = () => {
    const bytes = Buffer.alloc(LAST_WORDS)
    const from = Math.max(0, fstatSync(words).size - LAST_WORDS)
    return bytes.toString('utf8', 0, readSync(words, bytes, 0, LAST_WORDS, from))
  }
  let text = ''
  let ended: string | undefined
  child.once('error', error => {
    ended = messageOf(error)
  })
  child.once('exit', code => {
    ended ??= `it ended with code ${code}`
  })
  child.stdout!.setEncoding('utf8').on('data', part => {
    text += part
  })
  const answers = openSync(answersPath, constants.O_RDONLY | constants.O_NONBLOCK)
  const failed = (error: RfaError) => {
    child.kill('SIGKILL')
    closeSync(answers)
    closeSync(words)
    return error
  }
  const end = performance.now() + START_MS
  const until = async (ready: () => boolean) => {
    while (!ready()) {
      if (ended !== undefined || performance.now() > end) return false
      await delay(2)
    }
    return true
  }
  if (!(await until(() => text.includes('\n')))) {
    const last = lastWords().trim().split('\n').at(-1)
    const got = ended ?? `nothing within ${START_MS / 1000} s`
    throw failed(
      expected(
        'BACKEND_MISSING',
        'Python',
        `${python} to run`,
        last ? `${got}: ${last}` : got,
        REMEDY,
      ),
    )
  }
  const greeting: unknown = JSON.parse(text.slice(0, text.indexOf('\n')))
  const wrong = fault.safeParse(greeting)
  if (wrong.success) throw failed(faultOf(path, wrong.data))
  const facts = moduleFacts.safeParse(greeting)
  if (!facts.success) {
    const [issue] = facts.error.issues
    throw failed(expected('BAD_PLUGIN', issue!.path.join('.'), 'another value', issue!.message))
  }
  // opened for both, as nobody may read it yet; then for writing alone, which fails once Python has ended
  const held = openSync(requestsPath, constants.O_RDWR | constants.O_NONBLOCK)
  const greeted = () => {
    try {
      return readSync(answers, Buffer.alloc(HELLO)) > 0
    } catch {
      return false
    }
  }
  if (!(await until(greeted))) {
    throw failed(expected('PLUGIN_FAILED', 'Python', 'an answer', ended ?? 'nothing'))
  }
  const requests = openSync(requestsPath, constants.O_WRONLY | constants.O_NONBLOCK)
  closeSync(held)
  child.unref()
  child.stdout!.destroy()
  return new PythonModule(path, facts.data, child, {requests, answers}, lastWords)
}

/** Bytes of the line that says that both pipes are open. */
const HELLO = 3

const REMEDY = 'RFA_PYTHON=PATH names the Python of an environment that has what the file imports'

function faultOf(path: string, wrong: z.infer<typeof fault>): RfaError {
  const at = wrong.line === null ? '' : ` (${path}:${wrong.line})`
  if ('expected' in wrong) {
    return new RfaError('BAD_PLUGIN', `expected ${wrong.expected}${at}`, {
      suggestions: [
        'write def phi(x, projection): ..., which gives features [B, H, n, F]',
        'or def attention(query, key, value): ..., which gives outputs [B, H, L, Dv]',
      ],
    })
  }
  const {fault: said, missing} = wrong
  if (missing !== undefined) {
    return expected(
      'BACKEND_MISSING',
      'Python',
      `the package ${missing}`,
      `${said}${at}`,
      `python3 -m pip install ${missing}`,
      REMEDY,
    )
  }
  const code = /^(SyntaxError|IndentationError|TabError)/.test(said)
    ? 'BAD_PLUGIN'
    : 'PLUGIN_FAILED'
  return new RfaError(code, `${said}${at}`)
}
