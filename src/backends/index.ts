/** The TensorFlow.js backends by name: probing, choosing, activating. Heavy modules load on demand. */
import {RfaError, unknownName} from '../errors.js'
import type {Backend, BackendReport} from './types.js'

const REGISTRY = {
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
 * @param choice - a name, or `auto`: the first available of tensorflow, wasm, cpu. Default `auto`.
 * @returns which one runs
 * @throws {BACKEND_MISSING} when the named backend is not available, with its remedy
 */
export async function useBackend(choice: BackendChoice = 'auto'): Promise<ActiveBackend> {
  if (choice !== 'auto' && !BACKEND_NAMES.includes(choice)) {
    throw unknownName('backend', 'backends', choice, ['auto', ...BACKEND_NAMES])
  }
  const [{loadEstimators}, name] = await Promise.all([
    import('../attention/estimators/index.js'),
    choice === 'auto' ? firstAvailable() : activate(choice),
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
    reports.push({name, ...(await backend.probe())})
  }
  return reports
}

async function firstAvailable(): Promise<BackendName> {
  for (const name of BACKEND_NAMES) {
    const {default: backend} = await REGISTRY[name]()
    if ((await backend.probe()).available) return activate(name)
  }
  throw new RfaError(
    'BACKEND_MISSING',
    'backend: expected at least cpu to be available, got none',
    {
      suggestions: ['run rfa doctor', 'reinstall with npm ci'],
    },
  )
}

async function activate(name: BackendName): Promise<BackendName> {
  const {default: backend} = await REGISTRY[name]()
  const report = await backend.probe()
  if (!report.available) {
    throw new RfaError(
      'BACKEND_MISSING',
      `backend ${name}: ${report.reason ?? 'is not available'}`,
      {
        suggestions: [report.remedy ?? 'run rfa doctor', 'use --backend auto'],
      },
    )
  }
  await backend.activate()
  return name
}

/** Production mode: no per-kernel checks inside timed regions, no advertisement on stderr. */
async function quietTensorFlow(): Promise<void> {
  const tf = await import('@tensorflow/tfjs-core')
  tf.env().set('IS_TEST', true)
  tf.enableProdMode()
}
