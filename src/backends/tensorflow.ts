import {availableParallelism} from 'node:os'
import util from 'node:util'
import {messageOf} from '../errors.js'
import {tf} from '../tf.js'
import {runsTinyOperation} from './check.js'
import {isThreadCount} from './threads.js'
import type {Availability, Backend, ThreadOptions} from './types.js'

/** The package, named at run time: it is optional, so the compiler must not need its types. */
const PACKAGE = '@tensorflow/tfjs-node'
const DETAIL = `libtensorflow through ${PACKAGE}`

/** TensorFlow's C library through @tensorflow/tfjs-node, an optional dependency. */
const tensorflow: Backend = {
  threading: 'any',
  keepsThreads: true,
  async probe(how = {}) {
    loadedThreads ??= threadsFor(how)
    process.env.TF_NUM_INTRAOP_THREADS = String(loadedThreads)
    addRemovedUtilities()
    try {
      await import(PACKAGE)
    } catch (error) {
      return {available: false, detail: DETAIL, ...whyNotLoaded(error)}
    }
    try {
      await runsTinyOperation('tensorflow')
      return {available: true, detail: DETAIL}
    } catch (error) {
      return {available: false, detail: DETAIL, ...whyNotRunning(error)}
    }
  },
  async activate() {
    await tf.setBackend('tensorflow')
  },
  facts: () => ({threads: loadedThreads!, instructionSet: null}),
}
export default tensorflow

/** Threads that the library was loaded with: it reads their number once, and keeps it. */
let loadedThreads: number | undefined

/** Threads asked for, or the share, or those that TensorFlow's own variable says, or one per processor. */
function threadsFor({threads, threadShare}: ThreadOptions): number {
  const told = Number(process.env.TF_NUM_INTRAOP_THREADS)
  const own = isThreadCount(told) ? told : availableParallelism()
  return threads ?? threadShare ?? own
}

/**
 * Tells two ways of being absent apart: the package was removed because its install script failed,
 * or the package is there but its script was never run.
 *
 * @param error - what importing the package threw
 */
export function whyNotLoaded(error: unknown): Pick<Availability, 'reason' | 'remedy'> {
  const message = messageOf(error)
  const missing = (error as NodeJS.ErrnoException | null)?.code === 'ERR_MODULE_NOT_FOUND'
  if (missing && message.includes(PACKAGE)) {
    return {
      reason: `${PACKAGE} is not installed: npm removed it because libtensorflow could not be downloaded`,
      remedy: `set TFJS_NODE_CDN_STORAGE to a mirror that this machine reaches and run npm ci again; everything else works without it`,
    }
  }
  if (/tfjs_binding|native addon/i.test(message)) {
    return {
      reason: `${PACKAGE} is installed but its native addon is not: its install script did not run`,
      remedy: `npm rebuild ${PACKAGE} (with npm 12, approve its script first: npm approve-scripts)`,
    }
  }
  return {reason: `${PACKAGE} does not load: ${message}`, remedy: 'run npm ci again'}
}

/**
 * The third way: the addon loads, then kernels fail, as on Node versions that removed utilities
 * which it calls.
 *
 * @param error - what running an operation threw
 */
export function whyNotRunning(error: unknown): Pick<Availability, 'reason' | 'remedy'> {
  const message = messageOf(error)
  if (/isNullOrUndefined|is not a function/.test(message)) {
    return {
      reason: `${PACKAGE} loads but does not run on Node ${process.versions.node}: ${message}`,
      remedy: 'use Node 20 or 22 for this backend',
    }
  }
  return {reason: `${PACKAGE} loads but does not run: ${message}`, remedy: 'use `backend: wasm`'}
}

/** tfjs-node 4.22 calls util.isNullOrUndefined and util.isArray, which Node 23 removed. */
function addRemovedUtilities(): void {
  const target = util as unknown as Record<string, unknown>
  target.isNullOrUndefined ??= (value: unknown) => value === null || value === undefined
  target.isArray ??= Array.isArray
}
