/** The TensorFlow.js backends by name: probing, choosing, activating. Heavy modules load on demand. */
import {expected, RfaError, unknownName} from '../errors.js'
import {bringHostLoops} from '../host-loops.js'
import {tf} from '../tf.js'
import {isThreadCount, MAX_THREADS} from './threads.js'
import type {Availability, Backend, BackendReport, ThreadOptions} from './types.js'

const REGISTRY = {
  native: () => import('./native/index.js'),
  tensorflow: () => import('./tensorflow.js'),
  wasm: () => import('./wasm.js'),
  cpu: () => import('./cpu.js'),
} as const satisfies Record<string, () => Promise<{default: Backend}>>

/** A backend's name, in the order in which `auto` prefers them. */
export type BackendName = keyof typeof REGISTRY
export const BACKEND_NAMES = Object.keys(REGISTRY) as readonly BackendName[]

/** What `--backend` and {@link useBackend} accept: the first that runs, or one by its name. */
export const BACKEND_CHOICES = ['auto', ...BACKEND_NAMES] as const
export type BackendChoice = (typeof BACKEND_CHOICES)[number]

/** Which backend runs, and how. */
export interface ActiveBackend {
  name: BackendName
  threads: number
  /** Vector instruction set where the backend knows it, else null. */
  instructionSet: string | null
}

export interface UseOptions extends ThreadOptions {
  /** Called with a sentence when `auto` skips a native backend that is installed but cannot run. */
  note?: ((text: string) => void) | undefined
}

/**
 * Makes a backend the current one and loads the estimators. Call once before {@link attention}.
 *
 * @param choice - a name, or `auto`: the first available of native, tensorflow, wasm, cpu. Default `auto`.
 * @param options.threads - threads to compute with. Default: the backend's choice: for native `threadShare`, else
 * the processors that this process may use
 * @returns which one runs
 * @throws {BACKEND_MISSING} when the named backend is not available, with its remedy; under `auto`
 *   when RFA_ISA asks for an instruction set that cannot be had
 * @throws {BAD_OPTION} for threads that are not an integer from 1 to `MAX_THREADS`
 * @throws {UNSUPPORTED} for threads on a backend that has one
 */
export async function useBackend(
  choice: BackendChoice = 'auto',
  options: UseOptions = {},
): Promise<ActiveBackend> {
  const {note, ...how} = options ?? {} // null says no more than nothing
  if (choice !== 'auto' && !BACKEND_NAMES.includes(choice)) {
    throw unknownName('backend', 'backends', choice, BACKEND_CHOICES)
  }
  await checkThreads(choice, how.threads)
  quietTensorFlow()
  const [{loadEstimators}, name] = await Promise.all([
    import('../attention/names.js'),
    inTurn(() => (choice === 'auto' ? firstAvailable(how, note) : activate(choice, how))),
  ])
  await loadEstimators()
  const {default: backend} = await REGISTRY[name]()
  return {name, ...backend.facts()}
}

/**
 * Binds each thread of the backend in use to one processor, for benchmarks: otherwise times depend on where the
 * system puts threads. Does nothing with one thread, on systems that cannot bind, and for backends with the threads
 * of a library.
 */
export async function bindThreads(name: BackendName): Promise<void> {
  const {default: backend} = await REGISTRY[name]()
  backend.bindThreads?.()
}

/**
 * Refuses threads that no machine could give; loads nothing that computes under `auto`.
 *
 * @throws {BAD_OPTION} for threads that are not an integer from 1 to `MAX_THREADS`
 * @throws {UNSUPPORTED} for several threads on a backend that has one
 */
export async function checkThreads(
  choice: BackendChoice,
  threads: number | undefined,
): Promise<void> {
  if (threads === undefined) return
  if (!isThreadCount(threads)) {
    const what = `an integer from 1 to ${MAX_THREADS}`
    throw expected('BAD_OPTION', 'threads', what, String(threads))
  }
  if (threads === 1 || (await threadingOf(choice)) === 'any') return
  const what = `1, all that backend ${choice} has`
  throw expected('UNSUPPORTED', 'threads', what, String(threads), 'use `backend: native`')
}

/** Tries every backend and returns which work, and what to do about the others. */
export function probeBackends(): Promise<BackendReport[]> {
  quietTensorFlow()
  return inTurn(async () => {
    const reports: BackendReport[] = []
    for (const name of BACKEND_NAMES) {
      const {default: backend} = await REGISTRY[name]()
      const report = await backend.probe()
      const detail = (report.available && backend.describe?.()) || report.detail
      reports.push({name, ...report, detail})
    }
    return reports
  })
}

/** The backend to count memory for: under `auto` the one that would be used here, or the plainest if none can be. */
export async function meteredBackend(choice: BackendChoice): Promise<BackendName> {
  if (choice !== 'auto') return choice
  quietTensorFlow()
  return inTurn(async () => {
    for (const name of BACKEND_NAMES) {
      const {default: backend} = await REGISTRY[name]()
      if ((await backend.probe()).available) return name
    }
    return 'cpu'
  })
}

/** Loads and tries the backend that `auto` prefers, before the first call that needs one. Reports nothing. */
export async function tryPreferred(): Promise<void> {
  quietTensorFlow()
  const {default: backend} = await REGISTRY[BACKEND_NAMES[0]!]()
  await inTurn(() => backend.probe())
}

/** Threads that a process can compute with: any number, or one. Under `auto` it depends on the backend that works. */
export async function threadingOf(choice: BackendChoice): Promise<Backend['threading']> {
  if (choice === 'auto') return 'any'
  const {default: backend} = await REGISTRY[choice]()
  return backend.threading
}

/** Whether a backend computes with the threads of its first use in a process, whatever is asked for later. */
export async function keepsThreads(name: BackendName): Promise<boolean> {
  const {default: backend} = await REGISTRY[name]()
  return backend.keepsThreads ?? false
}

/** Whether an entry has the same bits on a backend wherever it stands, and for any number of threads. */
export async function hasSameBits(name: BackendName): Promise<boolean> {
  const {default: backend} = await REGISTRY[name]()
  return backend.sameBits
}

let lastTurn: Promise<unknown> = Promise.resolve()

/**
 * Does work that changes the current backend after all earlier such work: TensorFlow.js gives up a backend that
 * is still starting when another is asked for.
 */
function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const turn = lastTurn.then(work)
  lastTurn = turn.catch(() => {})
  return turn
}

async function firstAvailable(how: ThreadOptions, note: UseOptions['note']): Promise<BackendName> {
  let passedOver: string | undefined
  for (const name of BACKEND_NAMES) {
    const {default: backend} = await REGISTRY[name]()
    const report = await backend.probe(how)
    if (report.available) {
      if (passedOver !== undefined) note?.(`${passedOver}; using ${name}`)
      return activate(name, how)
    }
    if (name !== 'native') continue
    if (process.env.RFA_ISA) throw missing(name, report)
    if (!report.absent) passedOver = `native: ${report.reason}`
  }
  const what = 'at least cpu to be available'
  const remedies = ['run rfa doctor', 'reinstall with npm ci']
  throw expected('BACKEND_MISSING', 'backend', what, 'none', ...remedies)
}

/** Error of a backend that cannot be had. RFA_ISA is in the way of `auto` too. */
function missing(name: BackendName, {reason, remedy}: Availability): RfaError {
  const message = `backend ${name}: ${reason ?? 'is not available'}`
  const forced = name === 'native' && process.env.RFA_ISA
  const instead = forced
    ? 'without RFA_ISA, `backend: auto` takes another one'
    : 'use `backend: auto`'
  return new RfaError('BACKEND_MISSING', message, {
    suggestions: [remedy ?? 'run rfa doctor', instead],
  })
}

async function activate(name: BackendName, how: ThreadOptions): Promise<BackendName> {
  const {default: backend} = await REGISTRY[name]()
  const report = await backend.probe(how)
  if (!report.available) throw missing(name, report)
  await checkThreads(name, how.threads)
  await backend.activate(how)
  bringHostLoops(backend.hostLoops?.() ?? {})
  return name
}

/**
 * Production mode: no per-kernel checks inside timed regions, no advertisement on stderr. Flag IS_TEST is left alone: it
 * takes a tensor that `tf.customGrad` saves for a leak.
 */
function quietTensorFlow(): void {
  tf.enableProdMode()
}
