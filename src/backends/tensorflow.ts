import {availableParallelism} from 'node:os'
import util from 'node:util'
import {tf} from '../tf.js'
import {runsTinyOperation} from './check.js'
import {PACKAGE, whyNotLoaded, whyNotRegistered, whyNotRunning} from './tensorflow-absent.js'
import {isThreadCount} from './threads.js'
import type {Backend, ThreadOptions} from './types.js'

const NAME = 'tensorflow'
const DETAIL = `TensorFlow through ${PACKAGE}`

/**
 * TensorFlow's C library through @tensorflow/tfjs-node, an optional dependency. Its functions have a vector form and,
 * for what is left at the end of a tensor, a plain one, and it divides long sums among threads: last bits depend on where
 * an entry stands and on the number of threads.
 */
const tensorflow: Backend = {
  threading: 'any',
  keepsThreads: true,
  sameBits: false,
  async probe(how = {}) {
    loadedThreads ??= threadsFor(how)
    process.env.TF_NUM_INTRAOP_THREADS = String(loadedThreads)
    process.env.TF_CPP_MIN_LOG_LEVEL ??= '1' // warnings, not how it was built
    replaceDeprecatedUtilities()
    const before = tf.engine().backendName
    try {
      await import(PACKAGE)
      // which has made itself the current one
      if (before) await tf.setBackend(before)
    } catch (error) {
      return {available: false, detail: DETAIL, ...whyNotLoaded(error)}
    }
    if (!tf.findBackendFactory(NAME)) {
      return {available: false, detail: DETAIL, ...whyNotRegistered()}
    }
    try {
      await runsTinyOperation(NAME)
      return {available: true, detail: `TensorFlow ${libraryVersion()} through ${PACKAGE}`}
    } catch (error) {
      return {available: false, detail: DETAIL, ...whyNotRunning(error)}
    }
  },
  async activate() {
    await tf.setBackend(NAME)
  },
  facts: () => ({threads: loadedThreads!, instructionSet: null}),
  describe() {
    const threads = loadedThreads === 1 ? '1 thread' : `${loadedThreads} threads`
    return `TensorFlow ${libraryVersion()} through ${PACKAGE}, ${threads}`
  },
}
export default tensorflow

/** Threads that the library was loaded with: it reads their number once, and keeps it. */
let loadedThreads: number | undefined

/** Threads asked for, or the share, or those that TensorFlow's own variable says, or one per processor. */
function threadsFor({threads, threadShare}: ThreadOptions): number {
  const set = Number(process.env.TF_NUM_INTRAOP_THREADS)
  const own = isThreadCount(set) ? set : availableParallelism()
  return threads ?? threadShare ?? own
}

/** The version of the C library, by its addon. */
function libraryVersion(): string {
  const {binding} = tf.findBackend(NAME) as {binding?: {TF_Version?: string}}
  return binding?.TF_Version ?? 'of unknown version'
}

/**
 * tfjs-node 4.22 calls util.isNullOrUndefined and util.isArray, at any time. Where Node lacks them they are added; where it
 * warns of them, from 22 on, they give way to the same functions without the warning, for this whole process. Earlier
 * versions of Node are left alone.
 */
function replaceDeprecatedUtilities(): void {
  if (Number.parseInt(process.versions.node, 10) < 22) return
  const target = util as unknown as Record<string, unknown>
  target.isNullOrUndefined = (value: unknown) => value === null || value === undefined
  target.isArray = Array.isArray
}
