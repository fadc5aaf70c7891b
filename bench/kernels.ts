#!/usr/bin/env node
// Times the native kernels against TensorFlow.js on WebAssembly, in interleaved rounds, and prints ratios.
// npm run bench:kernels -- [--quick] [--seconds N] [--lengths L,L] [--output FILE]
import {execFileSync} from 'node:child_process'
import {mkdirSync, writeFileSync} from 'node:fs'
import {availableParallelism, loadavg} from 'node:os'
import {dirname} from 'node:path'
import {fileURLToPath} from 'node:url'
import {parseArgs} from 'node:util'
import type {Addon} from '../src/backends/native/addon.js'
import {loadAddon} from '../src/backends/native/loader.js'
import {useBackend} from '../src/index.js'
import {machineFacts} from '../src/results/machine.js'
import {attentionCases, decodeCases, type KernelCase, OPERATION_CASES, SHAPE} from './cases.js'
import {decodeTokens} from './decode.js'
import {prepare} from './engine.js'
import {impossibleRows} from './peak.js'
import type {KernelRow, KernelsReport, PeakMemory} from './report-schema.js'
import {causalRatios, kernelRow, knownSpread, type Samples} from './statistics.js'
import {kernelsText} from './table.js'

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
const LENGTHS = flags.quick ? [512] : flags.lengths.split(',').map(Number)
const MEMORY_METHODS = ['favor-pos', 'favor-hyp', 'favor-relu', 'favor-trig', 'rfa', 'elu']

const loaded = loadAddon()
if ('addon' in loaded) await main(loaded.addon)
else {
  process.stderr.write(`bench:kernels: ${loaded.reason}; ${loaded.remedy}\n`)
  process.exitCode = 3
}

async function main(addon: Addon): Promise<void> {
  await useBackend('native', {threads: 1})
  const report = await measureAll(addon)
  process.stdout.write(`${kernelsText(report)}\n`)
  mkdirSync(dirname(flags.output), {recursive: true})
  writeFileSync(flags.output, `${JSON.stringify(report, null, 2)}\n`)
  const impossible = impossibleRows(report.kernels)
  for (const sentence of impossible) process.stderr.write(`bench:kernels: ${sentence}\n`)
  if (impossible.length > 0) process.exitCode = 1
}

async function measureAll(addon: Addon): Promise<KernelsReport> {
  const before = loadavg()[0]!
  const kernels: KernelRow[] = []
  for (const given of [...(await attentionCases(LENGTHS)), ...OPERATION_CASES]) {
    kernels.push(await measure(given, addon))
  }
  return {
    schema: 'rfa.kernels/3',
    created_at: new Date().toISOString(),
    machine: await machineFacts({timed: true}),
    runtime: addon.runtime(),
    load_average: {before, after: loadavg()[0]!},
    seconds_per_case: SECONDS,
    shape: SHAPE,
    kernels,
    causal_over_bidirectional: causalRatios(kernels),
    threads: await threadScaling(),
    decode: await decodeComparison(),
    memory: flags.quick ? [] : peakMemory(),
  }
}

/** One case: every engine in turn, round by round, the multiply-add peak measured in between. */
async function measure(given: KernelCase, addon: Addon): Promise<KernelRow> {
  const length = given.kind === 'attention' ? given.length : 0
  process.stderr.write(`${given.name}${length ? ` L=${length}` : ''}\n`)
  const native = await prepare(given, 'native', 1)
  // a softmax beyond 2048 takes wasm a minute: its rate is known from the shorter ones
  const wasm = length > 2048 ? undefined : await prepare(given, 'wasm')
  const samples: Samples = {native: [], wasm: []}
  let peak = 0
  await inRounds(async round => {
    peak = Math.max(peak, addon.fmaPeak(0.02))
    if (wasm && round < ROUNDS.least) await twice(samples.wasm, () => wasm.time())
    await twice(samples.native, () => native.time())
  })
  await native.dispose()
  await wasm?.dispose()
  return kernelRow(given, samples, peak, native.operations)
}

/** Times a run twice: the first finds the caches as the other engines left them. */
async function twice(samples: number[], time: () => Promise<number>): Promise<void> {
  samples.push(await time())
  samples.push(await time())
}

/** Calls `body` with 0, 1, ...: a few times, with slow engines, and then for the seconds of a case. */
async function inRounds(body: (round: number) => Promise<void>): Promise<void> {
  let end = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS.most && performance.now() < end; round++) {
    if (round === ROUNDS.least - 1) end = performance.now() + 1000 * SECONDS
    await body(round)
  }
}

/** One thread against two, in turn. */
async function threadScaling(): Promise<KernelsReport['threads']> {
  if (availableParallelism() < 2) return []
  const results: KernelsReport['threads'] = []
  for (const given of await attentionCases([flags.quick ? 512 : 2048])) {
    const one = await prepare(given, 'native', 1)
    const two = await prepare(given, 'native', 2)
    const times = {one: [] as number[], two: [] as number[]}
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
async function decodeComparison(): Promise<KernelsReport['decode']> {
  const runs = decodeCases(flags.quick ? 256 : 2048).map(given => ({
    given,
    native: [] as number[],
    stateBytes: 0,
  }))
  await inRounds(async () => {
    for (const run of runs) {
      const {ns, stateBytes} = await decodeTokens(run.given, 'native')
      run.native.push(ns)
      run.stateBytes = stateBytes
    }
  })
  const exact = runs[0]!
  return runs.map(({given, native, stateBytes}) => ({
    method: given.method,
    num_features: given.numFeatures,
    tokens: given.tokens,
    state_bytes: stateBytes,
    native: knownSpread(native),
    faster_than_exact: Math.min(...exact.native) / Math.min(...native),
    state_over_exact: stateBytes / exact.stateBytes,
  }))
}

/** Each in a process of its own. */
function peakMemory(): PeakMemory[] {
  const script = fileURLToPath(new URL('memory.js', import.meta.url))
  return MEMORY_METHODS.flatMap(method =>
    ['0', '1'].map((causal): PeakMemory => {
      const command = [script, method, '131072', causal]
      return JSON.parse(execFileSync(process.execPath, command, {encoding: 'utf8'}))
    }),
  )
}
