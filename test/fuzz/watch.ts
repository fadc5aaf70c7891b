/** Watches a process that reads damaged files: for inputs that take for ever, and for memory that is held. */
import {Worker} from 'node:worker_threads'

/** Longest time of one input, in ms: no judge of speed but a guard against hanging, which a timer cannot be. */
const LONGEST_MS = 60_000
const NAME_BYTES = 256

/** A thread: a process that hangs in a loop runs no timer of its own. */
const WATCHER = `
const {writeSync} = require('node:fs')
const {step, name, peak, longest} = require('node:worker_threads').workerData
let [last, since] = [0, Date.now()]
setInterval(() => {
  peak[0] = Math.max(peak[0], process.memoryUsage.rss())
  const now = Atomics.load(step, 0)
  if (now !== last) [last, since] = [now, Date.now()]
  if (now % 2 === 0 || Date.now() - since < longest) return
  const end = name.indexOf(0)
  writeSync(2, 'no end of ' + Buffer.from(name).toString('utf8', 0, end < 0 ? name.length : end) + '\\n')
  process.kill(process.pid, 'SIGABRT')
}, 5)`

/** A watch over one input after the other. */
export interface Watch {
  /** Does something with an input; where it never ends, the process does, and says the name. */
  over<T>(name: string, action: () => Promise<T>): Promise<T>
  /** Inputs so far. */
  count(): number
  /** Growth of resident memory to its most, in bytes, since the watch began. */
  growth(): number
  end(): Promise<void>
}

/** Begins to watch. */
export function beginWatch(): Watch {
  const step = new Int32Array(new SharedArrayBuffer(4))
  const name = new Uint8Array(new SharedArrayBuffer(NAME_BYTES))
  const peak = new Float64Array(new SharedArrayBuffer(8))
  const before = process.memoryUsage.rss()
  const workerData = {step, name, peak, longest: LONGEST_MS}
  const worker = new Worker(WATCHER, {eval: true, workerData})
  let count = 0
  return {
    async over(input, action) {
      name.fill(0)
      name.set(Buffer.from(input).subarray(0, NAME_BYTES))
      count++
      Atomics.add(step, 0, 1)
      try {
        return await action()
      } finally {
        Atomics.add(step, 0, 1)
      }
    },
    count: () => count,
    growth: () => Math.max(0, peak[0]! - before),
    end: async () => void (await worker.terminate()),
  }
}
