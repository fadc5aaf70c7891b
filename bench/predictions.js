#!/usr/bin/env node
// Predicted against measured peak memory of the process of a cell (Linux), over a table of plans.
// node bench/predictions.js [--dist DIR] [FILTER] [--json]: FILTER names a part of a line, e.g. wasm.
import {fork} from 'node:child_process'
import {readFileSync} from 'node:fs'
import {resolve} from 'node:path'
import {pathToFileURL} from 'node:url'
import {parseArgs} from 'node:util'
import {PLANS} from './prediction-plans.js'

const {values, positionals} = parseArgs({
  allowPositionals: true,
  options: {
    dist: {type: 'string', default: resolve(import.meta.dirname, '../dist')},
    json: {type: 'boolean', default: false},
  },
})
const source = resolve(values.dist, 'src')
const {planJobs} = await import(pathToFileURL(resolve(source, 'experiments/index.js')).href)

/** Runs the jobs one after the other in a process of their own and reads its high-water mark. */
function measured(jobs) {
  return new Promise((settle, fail) => {
    const child = fork(resolve(source, 'runner/worker.js'), [], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    const left = [...jobs]
    const next = id => {
      const {key, schema, cell} = left.shift()
      child.send({id, job: {key, schema, cell}})
    }
    child.on('error', fail)
    child.on('exit', code => fail(new Error(`worker ended with ${code}`)))
    child.on('message', ({id, outcome, error}) => {
      const what = error ? error.message : outcome.status
      if (left.length > 0 && !error) return next(id + 1)
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
      child.removeAllListeners('exit')
      child.kill('SIGKILL')
      settle({what, bytes: Number(/VmHWM:\s+(\d+)/.exec(status)[1]) * 1024})
    })
    next(1)
  })
}

const megabytes = bytes => (bytes / 1e6).toFixed(0).padStart(7)
const rows = []
for (const [name, plan] of PLANS) {
  if (positionals[0] && !name.includes(positionals[0])) continue
  const jobs = await planJobs(plan)
  const predicted = Math.max(...jobs.map(job => job.predictedBytes))
  const {what, bytes} = await measured(jobs)
  rows.push({name, predicted, measured: bytes, what})
  if (values.json) continue
  const ratio = (predicted / bytes).toFixed(2).padStart(6)
  const note = what === 'completed' ? '' : what
  process.stdout.write(
    `${name.padEnd(58)}${megabytes(predicted)} ${megabytes(bytes)} ${ratio} ${note}\n`,
  )
}
if (values.json) process.stdout.write(`${JSON.stringify(rows, null, 1)}\n`)
