import {availableParallelism} from 'node:os'
import {messageOf} from '../../errors.js'
import {tf} from '../../tf.js'
import {runsTinyOperation} from '../check.js'
import {MAX_THREADS} from '../threads.js'
import type {Availability, Backend} from '../types.js'
import type {Addon} from './addon.js'
import {BACKEND, registerNativeBackend} from './backend.js'
import {nativeHostLoops} from './host-loops.js'
import {loadAddon} from './loader.js'
import {processorsFor} from './processors.js'

/** Seconds of the peak measurement that `rfa doctor` shows. */
const PEAK_SECONDS = 0.05

/** The kernels of this package in C++ with vector instructions and threads. */
const native: Backend = {
  threading: 'any',
  sameBits: true,
  async probe() {
    const result = loadAddon()
    if (!('addon' in result)) return {available: false, detail: 'C++ kernels', ...result}
    const detail = describeAddon(result.addon)
    try {
      // an addon may load and yet fail at its first instruction: only a result shows that it works
      registerNativeBackend(result.addon)
      if (!works) await runsTinyOperation(BACKEND)
      works = true
      return {available: true, detail}
    } catch (error) {
      return {available: false, detail, ...broken(error)}
    }
  },
  async activate({threads, threadShare} = {}) {
    // TensorFlow.js goes through every kernel of all backends
    if (tf.engine().backendName !== BACKEND) await tf.setBackend(BACKEND)
    addonOf().setThreads(threads ?? threadShare ?? ownThreads())
  },
  bindThreads() {
    const addon = addonOf()
    const processors = addon.threads() > 1 ? processorsFor(addon.threads()) : undefined
    if (processors) addon.bindThreads(processors)
  },
  hostLoops() {
    return nativeHostLoops(addonOf())
  },
  facts() {
    const addon = addonOf()
    const {isa, build} = addon.runtime()
    // a number of another build than release must not pass for one of the product
    const instructionSet = build === 'release' ? isa : `${isa} (${build} build)`
    return {threads: addon.threads(), instructionSet}
  },
  describe() {
    const addon = addonOf()
    const peak = addon.fmaPeak(PEAK_SECONDS)
    return `${describeAddon(addon)}, ${ownThreads()} threads, ${peak.toFixed(0)} GFLOP/s FMA peak per thread`
  },
}
export default native

/** Whether it has computed something in this process. */
let works = false

let atFirst: number | undefined

/** Default threads: the number that this process may run at once, as long as none is bound to a processor. */
function ownThreads(): number {
  atFirst ??= Math.min(availableParallelism(), MAX_THREADS)
  return atFirst
}

function addonOf(): Addon {
  const result = loadAddon()
  if (!('addon' in result)) throw new Error(result.reason)
  return result.addon
}

function describeAddon(addon: Addon): string {
  const {isa, forced, build, compiler} = addon.runtime()
  return `C++ kernels, ${isa}${forced ? ' (forced)' : ''}, ${build} build by ${compiler}`
}

function broken(error: unknown): Pick<Availability, 'reason' | 'remedy'> {
  return {
    reason: `the addon loads but does not run: ${messageOf(error)}`,
    remedy: 'build it again: npm rebuild rfa (in a checkout: npm run build:native)',
  }
}
