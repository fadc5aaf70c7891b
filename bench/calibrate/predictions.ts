/**
 * Predicted against measured peak memory of the process of a cell (Linux), over plans that each fill memory in one way.
 * Words are parts of their names, e.g. wasm.
 */
import {fork} from 'node:child_process'
import {readFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import {type PlannedRun, planRun} from '../../src/experiments/planned-run.js'
import type {BackendName} from '../../src/index.js'
import {bytes} from '../../src/report/numbers.js'
import type {CellReply, Sign, TurnOver, WorkerRequest} from '../../src/runner/workers/protocol.js'
import {bench, type Named, swap, sweep, variance} from './plans.js'
import {type Calibration, each} from './run.js'

const everywhere = (make: (backend: BackendName) => Named) =>
  (['native', 'tensorflow', 'wasm', 'cpu'] as const).map(make)
const [causal, wasm] = [true, 'wasm' as const]
const small = {num_features: [64], seq_lens: [1024]}
const rows = {row_metrics: true}

const PLANS: readonly Named[] = [
  ...everywhere(backend =>
    sweep('favor-pos', {backend, seq_lens: [64], num_features: [32], heads: 1}),
  ),
  ...everywhere(backend => sweep('favor-pos', {backend})),
  ...everywhere(backend => sweep('favor-pos', {backend, causal})),
  sweep('favor-pos', {backend: wasm, causal, seq_lens: [2048]}),
  sweep('favor-pos', {seq_lens: [4096]}),
  sweep('favor-pos', {heads: 8, seq_lens: [16384], replicates: 10, targets: ['raw']}),
  sweep('oprf', {backend: wasm, causal, seq_lens: [1024]}),
  sweep('rfa', {backend: wasm, causal, seq_lens: [1024]}),
  ...everywhere(backend => sweep('elu', {backend, causal, seq_lens: [1024]})),
  ...everywhere(backend => sweep('favor-pos', {backend, ...rows})),
  sweep('favor-pos', {...rows, seq_lens: [1024]}),
  sweep('favor-pos', {...rows, seq_lens: [768], heads: 1}),
  sweep('favor-pos', {...rows, causal, backend: wasm}),
  sweep('softmax', {...rows, seq_lens: [1024]}),
  ...everywhere(backend => sweep('softmax', {backend, seq_lens: [1024]})),
  sweep('softmax-online', {backend: wasm, seq_lens: [2048]}),
  ...everywhere(backend => sweep('lara', {backend, ...small})),
  ...everywhere(backend => sweep('eva', {backend, ...small})),
  sweep('eva', {backend: wasm, causal, ...small}),
  ...everywhere(backend => sweep('reformer', {backend, num_features: [64]})),
  ...everywhere(backend => sweep('nystrom', {backend, ...small})),
  sweep('nystrom reformer', small),
  sweep('eva lara', small),
  sweep('ra', {seq_lens: [1024]}),
  sweep('mean-value', {seq_lens: [8192], heads: 2}),
  sweep('rfa favor-pos', {scales: [0.5, 1, 2], seq_lens: [2048]}),
  sweep('favor-pos', {backend: wasm, batch: 2, heads: 8}),
  sweep('favor-trig', {num_features: [1024], seq_lens: [1024]}),
  sweep('favor-trig', {num_features: [1024], seq_lens: [1024], backend: wasm}),
  ...everywhere(backend => bench('favor-pos', {backend, seq_lens: [1024]})),
  ...everywhere(backend => bench('elu', {backend, causal, seq_lens: [512]})),
  bench('favor-pos', {backend: wasm, causal, seq_lens: [1024]}),
  bench('favor-pos', {seq_lens: [16384]}),
  bench('softmax', {seq_lens: [2048]}),
  bench('softmax', {seq_lens: [1024], backend: wasm}),
  bench('softmax-online', {seq_lens: [4096]}),
  bench('lara', {num_features: [64]}),
  bench('eva', {num_features: [64]}),
  bench('reformer', small),
  bench('nystrom', {num_features: [64], backend: wasm}),
  ...everywhere(backend => variance('favor-pos', {backend})),
  ...everywhere(backend => variance('hrf', {backend, replicates: 500})),
  ...everywhere(backend => variance('oprf', {backend})),
  variance('favor-pos', {num_features: [4096]}),
  variance('favor-trig', {num_features: [16384], replicates: 500}),
  variance('favor-pos', {projections: ['givens'], replicates: 500}),
  variance('sderf', {replicates: 500}),
  variance('maclaurin', {replicates: 500}),
  ...(await Promise.all([
    swap('elu'),
    swap('favor-pos'),
    swap('favor-pos', {num_features: [1024], replicates: 3}),
    swap('rfa', {max_tokens: 64, replicates: 20}),
  ])),
]

export default (async words => {
  const report = await each(PLANS, words, async ({name, plan}) => {
    const run = await planRun(plan)
    const predicted = Math.max(...Array.from(run.jobs, job => job.predictedBytes))
    return {name, predicted, ...(await measuredOf(run))}
  })
  const shown = report.map(({name, predicted, measured, what}) => ({
    ...{plan: name, predicted: bytes(predicted), measured: bytes(measured)},
    ...{ratio: predicted / measured, 'not completed': what === 'completed' ? null : what},
  }))
  return {rows: shown, report}
}) satisfies Calibration

/** Runs the jobs one after the other in a separate process and reads its high-water mark. */
function measuredOf({experiment, jobs}: PlannedRun): Promise<{what: string; measured: number}> {
  return new Promise((settle, fail) => {
    const worker = fileURLToPath(new URL('../../src/runner/workers/worker.js', import.meta.url))
    const child = fork(worker, [], {stdio: ['ignore', 'ignore', 'inherit', 'ipc']})
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
