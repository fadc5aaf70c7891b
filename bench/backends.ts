#!/usr/bin/env node
// Times methods on every backend that runs here, in interleaved rounds, one thread and two, and what loading a backend
// takes: the order of `--backend auto` follows from it. Only what gives the results of plain JavaScript is timed.
// npm run bench:backends -- [--quick] [--threads N,N] [--output FILE]
import {execFileSync} from 'node:child_process'
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs'
import {loadavg} from 'node:os'
import {dirname} from 'node:path'
import {fileURLToPath} from 'node:url'
import {parseArgs} from 'node:util'
import {checkEstimator} from '../src/check/index.js'
import {type BackendName, probeBackends, useBackend} from '../src/index.js'
import {machineFacts} from '../src/results/machine.js'
import {backendCases, METHODS} from './backend-cases.js'
import type {AttentionCase} from './cases.js'
import {type PreparedCase, prepare} from './engine.js'
import type {BackendRow, BackendStart, BackendsReport} from './report-schema.js'
import {spread} from './statistics.js'
import {backendsText} from './table.js'

const {values: flags} = parseArgs({
  options: {
    quick: {type: 'boolean', default: false},
    threads: {type: 'string', default: '1,2'},
    output: {type: 'string', default: 'results/reference/backends.json'},
    /** Of a process that this one starts: times cases with so many threads, or loads a backend. */
    timed: {type: 'string'},
    started: {type: 'string'},
  },
})
const ROUNDS = flags.quick ? 2 : 7
/** A case goes on until it has taken so long, two rounds at least. */
const MILLISECONDS = 1500
/** Work that plain WebAssembly would take seconds for is not given to it. */
const MOST_WASM_FLOPS = 1e10
const STARTS = 3
const TIMED = ['native', 'tensorflow', 'wasm'] as const

if (flags.started) await start(flags.started as BackendName)
else if (flags.timed) await timeAll(Number(flags.timed))
else await main()

async function main(): Promise<void> {
  const before = loadavg()[0]!
  const available = (await probeBackends()).filter(({available}) => available)
  const names = available.map(({name}) => name as BackendName).filter(name => name !== 'cpu')
  await assertAgreement()
  const report: BackendsReport = {
    schema: 'rfa.backends/1',
    created_at: new Date().toISOString(),
    machine: await machineFacts({timed: true}),
    backends: available.map(({name, detail}) => ({name, detail})),
    starts: names.map(name => startOf(name)),
    rows: flags.threads.split(',').flatMap(count => own<BackendRow[]>('--timed', count)),
    load_average: {before, after: loadavg()[0]!},
  }
  process.stdout.write(`${backendsText(report)}\n`)
  mkdirSync(dirname(flags.output), {recursive: true})
  writeFileSync(flags.output, `${JSON.stringify(report, null, 2)}\n`)
}

/** @throws {Error} where a backend is off the composite by more than rounding allows */
async function assertAgreement(): Promise<void> {
  for (const method of METHODS) {
    const outcomes = await checkEstimator({method, groups: ['backends'], seed: 0, draws: 1})
    for (const {status, finding} of outcomes) {
      if (status !== 'passed')
        throw new Error(
          `${method}: expected equal results of all backends, got ${status}: ${finding}`,
        )
    }
  }
}

/** What this program prints in a process of its own. */
function own<T>(...argv: string[]): T {
  const command = [fileURLToPath(import.meta.url), ...argv, ...(flags.quick ? ['--quick'] : [])]
  const stdio = ['ignore', 'pipe', 'inherit'] as const
  const options = {encoding: 'utf8', stdio: [...stdio], maxBuffer: 2 ** 26} as const
  return JSON.parse(execFileSync(process.execPath, command, {...options, stdio: [...stdio]}))
}

/** The fastest of a few processes that load a backend, and what it then holds. */
function startOf(name: BackendName): BackendStart {
  const starts = Array.from({length: STARTS}, () => own<BackendStart>('--started', name))
  return starts.reduce((best, next) => (next.ns < best.ns ? next : best))
}

async function start(name: BackendName): Promise<void> {
  const from = process.hrtime.bigint()
  await useBackend(name)
  const ns = Number(process.hrtime.bigint() - from)
  const status = readFileSync('/proc/self/status', 'utf8')
  const resident_bytes = 1024 * Number(/VmHWM:\s+(\d+)/.exec(status)?.[1])
  process.stdout.write(JSON.stringify({name, ns, resident_bytes} satisfies BackendStart))
}

async function timeAll(threads: number): Promise<void> {
  const rows: BackendRow[] = []
  const probed = await probeBackends()
  const names = TIMED.filter(name => probed.some(one => one.name === name && one.available))
  for (const given of await backendCases(flags.quick)) {
    process.stderr.write(`${given.name} L=${given.length} ${threads} threads\n`)
    rows.push(await measure(given, threads, names))
  }
  process.stdout.write(JSON.stringify(rows))
}

/** One case: every backend in turn, round by round. */
async function measure(
  given: AttentionCase,
  threads: number,
  names: readonly BackendName[],
): Promise<BackendRow> {
  const runs: Partial<Record<BackendName, PreparedCase>> = {}
  for (const name of names) {
    if (name === 'wasm' && given.flops > MOST_WASM_FLOPS) continue
    runs[name] = await prepare(given, name, threads)
  }
  const times: Record<string, number[]> = {}
  const end = performance.now() + MILLISECONDS
  for (let round = 0; round < ROUNDS && (round < 2 || performance.now() < end); round++) {
    for (const [name, run] of Object.entries(runs)) {
      times[name] ??= []
      if (run) times[name].push(await run.time())
    }
  }
  for (const run of Object.values(runs)) await run?.dispose()
  const {method, causal, heads, headDim, numFeatures, length} = given
  const sizes = {heads, head_dim: headDim, num_features: numFeatures, seq_len: length}
  const of = (name: BackendName) => spread(times[name] ?? [])
  const engines = {native: of('native'), tensorflow: of('tensorflow'), wasm: of('wasm')}
  return {method, causal, ...sizes, threads, ...engines}
}
