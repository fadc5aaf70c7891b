/** The TensorFlow.js backends by name: probing, choosing, activating. Heavy modules load on demand. */
import {expected, RfaError, unknownName} from '../errors.js'
import type {Backend, BackendReport, ThreadOptions} from './types.js'

const REGISTRY = {
  native: () => import('./native/index.js'),
  tensorflow: () => import('./tensorflow.js'),
  wasm: () => import('./wasm.js'),
  cpu: () => import('./cpu.js'),
} as const satisfies Record<string, () => Promise<{default: Backend}>>

/** A backend's name; the order is that of preference under `auto`. */
export type BackendName = keyof typeof REGISTRY
export const BACKEND_NAMES = Object.keys(REGISTRY) as readonly BackendName[]

/** What `--backend` and {@link useBackend} accept. */
export type BackendChoice = BackendName | 'auto'

/** Which backend runs, and how. */
export interface ActiveBackend {
  name: BackendName
  threads: number
  /** Vector instruction set where the backend knows it, else null. */
  instructionSet: string | null
}

/**
 * Makes a backend the current one and loads the estimators. Call once before {@link attention}.
 *
 * @param choice - a name, or `auto`: the first available of native, tensorflow, wasm, cpu. Default `auto`.
 * @param options.threads - threads to compute with. Default: the backend's own choice, for native
 *   as many as the machine lets this process run at once
 * @returns which one runs
 * @throws {BACKEND_MISSING} when the named backend is not available, with its remedy
 * @throws {BAD_OPTION} for threads that are no positive integer
 * @throws {UNSUPPORTED} for threads on a backend that has one
 */
export async function useBackend(
  choice: BackendChoice = 'auto',
  {threads}: ThreadOptions = {},
): Promise<ActiveBackend> {
  if (choice !== 'auto' && !BACKEND_NAMES.includes(choice)) {
    throw unknownName('backend', 'backends', choice, ['auto', ...BACKEND_NAMES])
  }
  if (threads !== undefined && !(Number.isInteger(threads) && threads > 0)) {
    throw expected('BAD_OPTION', 'threads', 'a positive integer', String(threads))
  }
  const [{loadEstimators}, name] = await Promise.all([
    import('../attention/estimators/index.js'),
    choice === 'auto' ? firstAvailable(threads) : activate(choice, threads),
    quietTensorFlow(),
  ])
  await loadEstimators()
  const {default: backend} = await REGISTRY[name]()
  return {name, ...backend.facts()}
}

/** Tries every backend and tells which work, and what to do about the others. */
export async function probeBackends(): Promise<BackendReport[]> {
  await quietTensorFlow()
  const reports: BackendReport[] = []
  for (const name of BACKEND_NAMES) {
    const {default: backend} = await REGISTRY[name]()
    const report = await backend.probe()
    const detail = (report.available && backend.describe?.()) || report.detail
    reports.push({name, ...report, detail})
  }
  return reports
}

async function firstAvailable(threads: number | undefined): Promise<BackendName> {
  for (const name of BACKEND_NAMES) {
    const {default: backend} = await REGISTRY[name]()
    if ((await backend.probe({threads})).available) return activate(name, threads)
  }
  throw new RfaError(
    'BACKEND_MISSING',
    'backend: expected at least cpu to be available, got none',
    {
      suggestions: ['run rfa doctor', 'reinstall with npm ci'],
    },
  )
}

async function activate(name: BackendName, threads: number | undefined): Promise<BackendName> {
  const {default: backend} = await REGISTRY[name]()
  const report = await backend.probe({threads})
  if (!report.available) {
    throw new RfaError(
      'BACKEND_MISSING',
      `backend ${name}: ${report.reason ?? 'is not available'}`,
      {
        suggestions: [report.remedy ?? 'run rfa doctor', 'use --backend auto'],
      },
    )
  }
  if (threads !== undefined && threads > 1 && backend.threading === 'one') {
    throw expected(
      'UNSUPPORTED',
      'threads',
      `1, all that backend ${name} has`,
      String(threads),
      'use --backend native',
    )
  }
  await backend.activate({threads})
  return name
}

/** Production mode: no per-kernel checks inside timed regions, no advertisement on stderr. */
async function quietTensorFlow(): Promise<void> {
  const tf = await import('@tensorflow/tfjs-core')
  tf.env().set('IS_TEST', true)
  tf.enableProdMode()
}
