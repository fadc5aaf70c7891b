#!/usr/bin/env node
// Times the native kernels against TensorFlow.js on WebAssembly and plain PyTorch, in interleaved rounds,
// and prints ratios. npm run bench:kernels -- [--quick] [--seconds N] [--lengths L,L] [--output FILE]
import {execFileSync} from 'node:child_process'
import {mkdirSync, writeFileSync} from 'node:fs'
import {availableParallelism, loadavg} from 'node:os'
import {dirname} from 'node:path'
import {fileURLToPath} from 'node:url'
import {parseArgs} from 'node:util'
import {loadAddon} from '../dist/src/backends/native/loader.js'
import {useBackend} from '../dist/src/index.js'
import {machineFacts} from '../dist/src/results/machine.js'
import {shareOfPeak} from '../dist/src/theory/peak.js'
import {attentionCases, OPERATION_CASES, SHAPE} from './cases.js'
import {decodeTokens} from './decode.js'
import {prepare} from './engine.js'
import {impossibleRows} from './peak.js'
import {printTable} from './table.js'
import {startTorch} from './torch.js'

const {values: flags} = parseArgs({
  options: {
    quick: {type: 'boolean', default: false},
    seconds: {type: 'string', default: '8'},
    lengths: {type: 'string', default: '512,2048,8192'},
    output: {type: 'string', default: 'results/reference/kernels.json'},
  },
})
/** Rounds of a case: as many as its seconds allow, within these bounds; wasm, the slowest, takes the fewest. */
const ROUNDS = {least: 3, most: 40}
const SECONDS = flags.quick ? 0.5 : Number(flags.seconds)
const TOKENS = flags.quick ? 256 : 2048
const DECODE_CASES = [
  ['softmax', 64],
  ['rfa', 64],
  ['favor-pos', 128],
  ['elu', 64],
].map(([method, numFeatures]) => ({
  ...{kind: 'decode', method, heads: 8, headDim: 64, numFeatures, tokens: TOKENS},
}))

const loaded = loadAddon()
if (!('addon' in loaded)) {
  process.stderr.write(`bench:kernels: ${loaded.reason}; ${loaded.remedy}\n`)
  process.exit(3)
}
const {addon} = loaded
await main()

async function main() {
  await useBackend('native', {threads: 1})
  const torch = await startTorch(1)
  const cases = [
    ...attentionCases(flags.quick ? [512] : flags.lengths.split(',').map(Number)),
    ...OPERATION_CASES,
  ]
  const loadBefore = loadavg()[0]
  const rows = []
  for (const given of cases) rows.push(await measure(given, torch))
  const report = {
    schema: 'rfa.kernels/1',
    created_at: new Date().toISOString(),
    machine: await machineFacts(),
    runtime: addon.runtime(),
    torch: torch?.facts ?? null,
    // runnable processes over the last minute: this one counts 1, more is other load
    load_average: {before: loadBefore, after: loadavg()[0]},
    seconds_per_case: SECONDS,
    shape: SHAPE,
    kernels: rows,
    causal_over_bidirectional: causalRatios(rows),
    threads: await threadScaling(),
    decode: await decodeComparison(torch),
    memory: flags.quick ? [] : peakMemory(),
  }
  torch?.stop()
  printTable(report)
  mkdirSync(dirname(flags.output), {recursive: true})
  writeFileSync(flags.output, `${JSON.stringify(report, null, 2)}\n`)
  const impossible = impossibleRows(rows)
  for (const sentence of impossible) process.stderr.write(`bench:kernels: ${sentence}\n`)
  if (impossible.length > 0) process.exitCode = 1
}

/** One case: every engine in turn, round by round, the multiply-add peak measured in between. */
async function measure(given, torch) {
  process.stderr.write(`${given.name}${given.length ? ` L=${given.length}` : ''}\n`)
  const native = await prepare(given, 'native', 1)
  // a softmax beyond 2048 takes wasm a minute: its rate is known from the shorter ones
  const wasm = given.length > 2048 ? undefined : await prepare(given, 'wasm')
  const samples = {native: [], wasm: [], torch: []}
  let peak = 0
  await inRounds(async round => {
    peak = Math.max(peak, addon.fmaPeak(0.02))
    if (wasm && round < ROUNDS.least) await twice(samples.wasm, () => wasm.time())
    await twice(samples.native, () => native.time())
    if (torch) await twice(samples.torch, async () => (await torch.time(given)) ?? Number.NaN)
  })
  await native.dispose()
  await wasm?.dispose()
  return summary(given, samples, peak, native.operations)
}

/** Times a run twice: the first finds the caches as the other engines left them. */
async function twice(samples, time) {
  samples.push(await time())
  samples.push(await time())
}

/** Calls `body` with 0, 1, ...: a few times, with slow engines, and then for the seconds of a case. */
async function inRounds(body) {
  let end = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS.most && performance.now() < end; round++) {
    if (round === ROUNDS.least - 1) end = performance.now() + 1000 * SECONDS
    await body(round)
  }
}

function summary(given, samples, peak, operations) {
  const ns = Object.fromEntries(
    Object.entries(samples).map(([engine, times]) => [engine, spread(times)]),
  )
  const best = ns.native.min_ns
  const rate = given.flops === null || given.flops === undefined ? null : given.flops / best
  const over = engine => (ns[engine] ? ns[engine].min_ns / best : null)
  const {kind: _kind, ...facts} = given
  return {
    ...facts,
    operations,
    native: ns.native,
    wasm: ns.wasm,
    torch: ns.torch,
    gflops: rate,
    fma_peak_gflops: peak,
    peak_pct:
      rate === null ? null : 100 * shareOfPeak({flops: given.flops, ns: best, threads: 1}, peak),
    wasm_over_native: over('wasm'),
    torch_over_native: over('torch'),
  }
}

/** Median and fastest; the ratios use the fastest, which other load on the machine disturbs least. */
function spread(times) {
  const sorted = times.filter(Number.isFinite).sort((a, b) => a - b)
  if (sorted.length === 0) return null
  return {min_ns: sorted[0], median_ns: sorted[Math.floor(sorted.length / 2)], runs: sorted.length}
}

function causalRatios(rows) {
  return rows
    .filter(({causal}) => causal)
    .map(row => {
      const plain = rows.find(
        ({method, length, causal}) => method === row.method && length === row.length && !causal,
      )
      const ratio = row.native.min_ns / plain.native.min_ns
      return {method: row.method, length: row.length, ratio}
    })
}

/** One thread against two, in turn. */
async function threadScaling() {
  if (availableParallelism() < 2) return []
  const results = []
  for (const given of attentionCases([flags.quick ? 512 : 2048])) {
    const one = await prepare(given, 'native', 1)
    const two = await prepare(given, 'native', 2)
    const times = {one: [], two: []}
    await inRounds(async () => {
      times.one.push(await one.time())
      times.two.push(await two.time())
    })
    await one.dispose()
    await two.dispose()
    const [first, second] = [Math.min(...times.one), Math.min(...times.two)]
    results.push({name: given.name, one_ns: first, two_ns: second, speedup: first / second})
  }
  await useBackend('native', {threads: 1})
  return results
}

/** All methods in turn, round by round, as they are compared with each other. */
async function decodeComparison(torch) {
  const samples = DECODE_CASES.map(() => ({native: [], torch: [], stateBytes: 0}))
  await inRounds(async round => {
    for (const [i, given] of DECODE_CASES.entries()) {
      const run = await decodeTokens(given, 'native')
      samples[i].native.push(run.ns)
      samples[i].stateBytes = run.stateBytes
      if (torch && round < ROUNDS.least) {
        samples[i].torch.push((await torch.time(given)) ?? Number.NaN)
      }
    }
  })
  const [exact] = samples
  return DECODE_CASES.map(({method, numFeatures}, i) => {
    const {native, torch, stateBytes} = samples[i]
    return {
      ...{method, num_features: numFeatures, tokens: TOKENS, state_bytes: stateBytes},
      native: spread(native),
      torch: spread(torch),
      faster_than_exact: Math.min(...exact.native) / Math.min(...native),
      state_over_exact: stateBytes / exact.stateBytes,
    }
  })
}

function peakMemory() {
  const script = fileURLToPath(new URL('memory.js', import.meta.url))
  return ['favor-pos', 'favor-hyp', 'favor-relu', 'favor-trig', 'rfa', 'elu'].flatMap(method =>
    ['0', '1'].map(causal =>
      JSON.parse(
        execFileSync(process.execPath, [script, method, '131072', causal], {encoding: 'utf8'}),
      ),
    ),
  )
}
