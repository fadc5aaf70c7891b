#!/usr/bin/env node
// Predicted against measured peak memory of the process of a cell (Linux), over a table of plans.
// npm run bench:predictions -- [--dist DIR] [FILTER] [--json]: FILTER names a part of a line, e.g. wasm.
import {fork} from 'node:child_process'
import {readFileSync} from 'node:fs'
import {resolve} from 'node:path'
import {pathToFileURL} from 'node:url'
import {parseArgs} from 'node:util'
import type {PlannedRun} from '../src/experiments/planned-run.js'
import type {CellReply, Sign, TurnOver, WorkerRequest} from '../src/runner/protocol.js'
import {PLANS} from './prediction-plans.js'
import type {Prediction} from './report-schema.js'
import {predictionsText} from './table.js'

const {values, positionals} = parseArgs({
  allowPositionals: true,
  options: {
    dist: {type: 'string', default: resolve(import.meta.dirname, '..')},
    json: {type: 'boolean', default: false},
  },
})
const source = resolve(values.dist, 'src')
const {planRun}: typeof import('../src/experiments/planned-run.js') = await import(
  pathToFileURL(resolve(source, 'experiments/planned-run.js')).href
)

const rows: Prediction[] = []
for (const [name, plan] of PLANS) {
  if (positionals[0] && !name.includes(positionals[0])) continue
  process.stderr.write(`${name}\n`)
  const run = await planRun(plan)
  const predicted = Math.max(...run.jobs.map(job => job.predictedBytes))
  rows.push({name, predicted, ...(await measured(run))})
}
const shown = values.json ? JSON.stringify(rows, null, 1) : predictionsText(rows)
process.stdout.write(`${shown}\n`)

/** Runs the jobs one after the other in a process of their own and reads its high-water mark. */
function measured({experiment, jobs}: PlannedRun): Promise<Pick<Prediction, 'what' | 'measured'>> {
  return new Promise((settle, fail) => {
    const child = fork(resolve(source, 'runner/worker.js'), [], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    const left = [...jobs]
    const next = (id: number) => {
      const {cell} = left.shift()!
      const request: WorkerRequest = {id, experiment: experiment.name, cell, context: {}}
      child.send(request)
    }
    child.on('error', fail)
    child.on('exit', code => fail(new Error(`worker ended with ${code}`)))
    child.on('message', (reply: CellReply | Sign | TurnOver) => {
      if ('leftMs' in reply) return // still at work
      if ('turnOver' in reply) return void child.send({id: reply.id, others: false})
      const failed = 'error' in reply
      if (left.length > 0 && !failed) return next(reply.id + 1)
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
      child.removeAllListeners('exit')
      child.kill('SIGKILL')
      const what = failed ? reply.error.message : reply.outcome.status
      settle({what, measured: Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) * 1024})
    })
    next(1)
  })
}
