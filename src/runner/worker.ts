/**
 * A child process that runs cells, one at a time, as its parent asks: started by the pool, never by
 * hand, with the number of its parent as argument. It holds no terminal and no files; all it says goes
 * back as messages. When its parent is gone it ends, in the midst of a cell too.
 */
import {Worker} from 'node:worker_threads'
import {answer, type WorkerRequest} from './protocol.js'

const parent = Number(process.argv[2] ?? process.ppid)
if (process.platform !== 'win32') {
  new Worker(new URL('parent-watch.js', import.meta.url), {workerData: parent}).unref()
}

// a terminal or a scheduler sends these to every process; what happens to cells on their way is the
// parent's choice
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
process.on('disconnect', () => process.exit())
process.on('message', async (request: WorkerRequest) => {
  const reply = await answer(request, async ({experiment, cell, context}) => {
    // loaded here, so that what cannot be loaded fails the cell with a sentence
    const {experimentNamed} = await import('../experiments/index.js')
    return (await experimentNamed(experiment)).run(cell, context)
  })
  process.send?.(reply)
})
