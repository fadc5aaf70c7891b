#!/usr/bin/env node
// Times the native kernels against TensorFlow.js on WebAssembly, in interleaved rounds, and prints ratios.
// npm run bench:kernels -- [--quick] [--seconds N] [--lengths L,L] [--output FILE]
import {mkdirSync, writeFileSync} from 'node:fs'
import {loadavg} from 'node:os'
import {dirname} from 'node:path'
import {parseArgs} from 'node:util'
import type {Addon} from '../src/backends/native/addon.js'
import {loadAddon} from '../src/backends/native/loader.js'
import {useBackend} from '../src/index.js'
import {machineFacts} from '../src/results/folder/machine.js'
import {attentionCases, type KernelCase, OPERATION_CASES, SHAPE} from './cases.js'
import {prepare} from './engine.js'
import type {KernelRow, KernelsReport} from './report-schema.js'
import {impossibleRows, kernelRow, type Samples} from './statistics.js'
import {kernelsText} from './table.js'

const {values: flags} = parseArgs({
  options: {
    quick: {type: 'boolean', default: false},
    seconds: {type: 'string', default: '8'},
    lengths: {type: 'string', default: '512,2048,8192'},
    output: {type: 'string', default: 'results/reference/kernels.json'},
  },
})
/** Rounds of a case: what its seconds allow, within these bounds; wasm, the slowest, takes the fewest. */
const ROUNDS = {least: 3, most: 40}
const SECONDS = flags.quick ? 0.5 : Number(flags.seconds)
const LENGTHS = flags.quick ? [512] : flags.lengths.split(',').map(Number)

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
