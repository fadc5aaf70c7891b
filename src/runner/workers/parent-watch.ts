/**
 * A thread that ends its process once the parent is gone, whatever the process computes: a worker itself hears of it
 * only between two cells, which may take hours, and a program that Python has started never. An orphan goes
 * to another parent at once, on Linux and macOS; not started on Windows, which ends it with its parent by itself.
 */
import {rmSync} from 'node:fs'
import {workerData} from 'node:worker_threads'

/** Four looks a second: an orphan is gone within one, and a look costs some microseconds. */
const INTERVAL_MS = 250

/** What the parent would have removed is removed for it. */
const {parent, temporary}: {parent: number; temporary?: string} = workerData
setInterval(() => {
  if (process.ppid === parent) return
  try {
    if (temporary) rmSync(temporary, {recursive: true, force: true})
  } finally {
    process.kill(process.pid, 'SIGKILL')
  }
}, INTERVAL_MS)
