/**
 * A thread of a worker process that ends the process once its parent is gone, whatever the process
 * computes: the worker itself hears of it only between two cells, which may take hours. An orphan goes
 * to another parent at once, on Linux and macOS; not started on Windows, which ends it with its parent by itself.
 */
import {workerData} from 'node:worker_threads'

/** Four looks a second: an orphan is gone within one, and a look costs some microseconds. */
const INTERVAL_MS = 250

const parent: number = workerData
setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL')
}, INTERVAL_MS)
