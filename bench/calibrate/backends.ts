/**
 * Times methods on every backend that runs here, in interleaved rounds, with one thread and two, and the time to
 * load a backend: the order of `--backend auto` follows from it. Only methods with the results of plain JavaScript
 * are timed. Words are for the processes that this one starts: `timed N` times cases with N threads, `started`
 * loads a backend.
 */
import {execFileSync} from 'node:child_process'
import {readFileSync} from 'node:fs'
import {loadavg} from 'node:os'
import {fileURLToPath} from 'node:url'
import {checkEstimator} from '../../src/check/index.js'
import {type BackendName, probeBackends, useBackend} from '../../src/index.js'
import {machineFacts} from '../../src/results/folder/machine.js'
import {type AttentionCase, attentionCase} from '../cases.js'
import {type PreparedCase, prepare} from '../engine.js'
import type {BackendRow, BackendStart, BackendsReport} from '../report-schema.js'
import {spread} from '../statistics.js'
import type {Row} from './rows.js'
import type {Calibration} from './run.js'

const METHODS = ['softmax', 'softmax-online', 'favor-pos', 'rfa', 'lara', 'elu'] as const
const LENGTHS = [128, 512, 2048, 4096]
/** Heads, length of a head and random vectors: the standard ones, one head, and smaller ones. */
const SIZES = [
  {heads: 8, headDim: 64, numFeatures: 256},
  {heads: 1, headDim: 64, numFeatures: 256},
  {heads: 8, headDim: 32, numFeatures: 64},
]
/** A case goes on until it has taken so long, two rounds at least. */
const MILLISECONDS = 1500
/** Work that plain WebAssembly would take seconds for is not given to it. */
const MOST_WASM_FLOPS = 1e10
const STARTS = 3
const TIMED = ['native', 'tensorflow', 'wasm'] as const

export default (async ([part, of], {quick, threads}) => {
  if (part === 'started') return {rows: [], report: await start(of as BackendName)}
  if (part === 'timed') return {rows: [], report: await timeAll(Number(of), quick)}
  const before = loadavg()[0]!
  const available = (await probeBackends()).filter(({available}) => available)
  const names = available.map(({name}) => name).filter(name => name !== 'cpu')
  await assertAgreement()
  const own = <T>(...words: string[]) => inProcess<T>([...words, ...(quick ? ['--quick'] : [])])
  const report: BackendsReport = {
    schema: 'rfa.backends/1',
    created_at: new Date().toISOString(),
    machine: await machineFacts({timed: true}),
    backends: available.map(({name, detail}) => ({name, detail})),
    starts: names.map(name => fastest(() => own<BackendStart>('started', name))),
    rows: threads.split(',').flatMap(count => own<BackendRow[]>('timed', count)),
    load_average: {before, after: loadavg()[0]!},
  }
  return {rows: [...report.rows.map(shown), ...report.starts.map(shownStart)], report}
}) satisfies Calibration

/** @throws {Error} where a backend is off the composite by more than rounding allows */
async function assertAgreement(): Promise<void> {
  for (const method of METHODS) {
    const outcomes = await checkEstimator({method, groups: ['backends'], seed: 0, draws: 1})
    for (const {status, finding} of outcomes) {
      if (status === 'passed') continue
      const got = `got ${status}: ${finding}`
      throw new Error(`${method}: expected equal results of all backends, ${got}`)
    }
  }
}

/** What this calibration reports in a separate process. */
function inProcess<T>(words: readonly string[]): T {
  const program = fileURLToPath(new URL('../calibrate.js', import.meta.url))
  const text = execFileSync(process.execPath, [program, 'backends', ...words, '--json'], {
    ...{encoding: 'utf8', maxBuffer: 2 ** 26},
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return JSON.parse(text)
}

/** The fastest of a few processes that load a backend, and what it then holds. */
function fastest(once: () => BackendStart): BackendStart {
  return Array.from({length: STARTS}, once).reduce((best, next) =>
    next.ns < best.ns ? next : best,
  )
}

async function start(name: BackendName): Promise<BackendStart> {
  const from = process.hrtime.bigint()
  await useBackend(name)
  const ns = Number(process.hrtime.bigint() - from)
  const status = readFileSync('/proc/self/status', 'utf8')
  return {name, ns, resident_bytes: 1024 * Number(/VmHWM:\s+(\d+)/.exec(status)?.[1])}
}

async function timeAll(threads: number, quick: boolean): Promise<BackendRow[]> {
  const rows: BackendRow[] = []
  const probed = await probeBackends()
  const names = TIMED.filter(name => probed.some(one => one.name === name && one.available))
  for (const given of await backendCases(quick)) {
    process.stderr.write(`${given.name} L=${given.length} ${threads} threads\n`)
    rows.push(await measure(given, {threads, names, rounds: quick ? 2 : 7}))
  }
  return rows
}

/** Cases of attention over whole sequences, in the order of the table. */
async function backendCases(quick: boolean): Promise<AttentionCase[]> {
  const cases = METHODS.flatMap(method =>
    [false, true].flatMap(causal =>
      (quick ? SIZES.slice(0, 1) : SIZES).flatMap(sizes =>
        (quick ? [128] : LENGTHS).map(length => attentionCase(method, {...sizes, length, causal})),
      ),
    ),
  )
  return (await Promise.all(cases)).filter(given => given !== undefined)
}

/** One case: every backend in turn, round by round. */
async function measure(
  given: AttentionCase,
  {threads, names, rounds}: {threads: number; names: readonly BackendName[]; rounds: number},
): Promise<BackendRow> {
  const runs: Partial<Record<BackendName, PreparedCase>> = {}
  for (const name of names) {
    if (name === 'wasm' && given.flops > MOST_WASM_FLOPS) continue
    runs[name] = await prepare(given, name, threads)
  }
  const times: Record<string, number[]> = {}
  const end = performance.now() + MILLISECONDS
  for (let round = 0; round < rounds && (round < 2 || performance.now() < end); round++) {
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

function shown({native, tensorflow, wasm, ...row}: BackendRow): Row {
  const ms = (ns: number | undefined) => (ns === undefined ? null : ns / 1e6)
  const over = (own: BackendRow['wasm'], other: BackendRow['wasm']) =>
    own && other && own.min_ns / other.min_ns
  return {
    method: `${row.method}${row.causal ? ' causal' : ''}`,
    ...{H: row.heads, D: row.head_dim, M: row.num_features, L: row.seq_len, threads: row.threads},
    ...{'native, ms': ms(native?.min_ns), 'tensorflow, ms': ms(tensorflow?.min_ns)},
    ...{'over native': over(tensorflow, native), 'wasm, ms': ms(wasm?.min_ns)},
    'over tensorflow': over(wasm, tensorflow),
  }
}

function shownStart({name, ns, resident_bytes}: BackendStart): Row {
  return {method: `loading ${name}`, 'ms to load': ns / 1e6, 'resident MB': resident_bytes / 1e6}
}
