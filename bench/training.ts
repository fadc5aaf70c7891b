#!/usr/bin/env node
// Times a training step of a small language model, in TensorFlow.js on the native backend and in PyTorch, one thread
// each. Softmax is exact attention in tiles on both sides. Times count only where both have the same loss and gradients.
// npm run bench:training -- [--methods NAME,NAME] [--length N] [--batch N] [--steps N] [--profile]
import {spawnSync} from 'node:child_process'
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {parseArgs} from 'node:util'
import * as tf from '@tensorflow/tfjs-core'
import {hostData} from '../src/attention/internal.js'
import {useBackend} from '../src/index.js'
import {packageRoot} from '../src/package.js'
import {machineFacts} from '../src/results/folder/machine.js'
import {median} from '../src/stats/index.js'
import {rowsText} from './calibrate/rows.js'
import {NoPython, usePeersPython} from './peers/environment.js'
import {type Sizes, type Start, startOf, type Training, training} from './training/model.js'

const {values: flags} = parseArgs({
  options: {
    methods: {type: 'string', default: 'softmax-online,elu,rfa,favor-pos'},
    length: {type: 'string', default: '128'},
    batch: {type: 'string', default: '16'},
    steps: {type: 'string', default: '200'},
    profile: {type: 'boolean', default: false},
  },
})
/** Steps before those that count: a training has thousands, and the first few compile. */
const WARMUP = 30
/** Steps of a profile. */
const PROFILED = 7
const STEPS = Number(flags.steps)
const SIZES: Sizes = {
  ...{layers: 2, width: 64, heads: 2, hidden: 128, vocabulary: 64, numFeatures: 32},
  ...{batch: Number(flags.batch), length: Number(flags.length)},
}
/**
 * Most that gradients of the two may differ by, relative to their size: roundings of sums over all tokens of a batch,
 * 2^-24 for each term.
 */
const BOUND = SIZES.batch * SIZES.length * 2 ** -24

/** What an engine found and took. */
interface Found {
  loss: number
  gradients: Float32Array
  /** Milliseconds of CPU of each step. */
  milliseconds: number[]
}

// of the built package: TensorFlow.js has its gradients in a form that Node does not read
await import(new URL('../gradients.js', import.meta.url).href)
await useBackend('native', {threads: 1})
const start = startOf(SIZES)
const {cpu} = await machineFacts({timed: true})
let peers = true
try {
  usePeersPython()
} catch (error) {
  if (!(error instanceof NoPython)) throw error
  peers = false
}
process.stdout.write(`${cpu}, one thread, ${SIZES.batch} texts of ${SIZES.length} tokens\n`)
const rows = []
for (const method of flags.methods.split(',')) rows.push(await rowOf(method))
process.stdout.write(`${rowsText(rows)}\n`)

async function rowOf(method: string) {
  const model = training(method, SIZES, start)
  const own = ownSteps(model)
  if (flags.profile) process.stdout.write(`${method}\n${rowsText(await profileOf(model))}\n`)
  model.dispose()
  const torch = peers ? torchSteps(method, SIZES, start) : undefined
  if (torch) assertSame(method, own, torch)
  const ours = median(own.milliseconds)
  const theirs = torch && median(torch.milliseconds)
  return {
    ...{method, 'rfa ms': ours, 'torch ms': theirs ?? null},
    ...{'over torch': theirs ? ours / theirs : null, loss: own.loss},
  }
}

function ownSteps(model: Training): Found {
  const {loss, ...slopes} = hostData(() => {
    const {loss, grads} = model.gradients()
    return {loss, ...grads}
  })
  // in the order of the weights
  const gradients = Float32Array.from(
    Object.values(slopes).flatMap(values => Array.from(values as Float32Array)),
  )
  const milliseconds: number[] = []
  for (let step = 0; step < WARMUP + STEPS; step++) {
    const begin = process.cpuUsage()
    model.step()
    const {user, system} = process.cpuUsage(begin)
    if (step >= WARMUP) milliseconds.push((user + system) / 1e3)
  }
  return {loss: loss[0]!, gradients, milliseconds}
}

function torchSteps(method: string, sizes: Sizes, {weights, tokens, projection}: Start): Found {
  const folder = mkdtempSync(join(tmpdir(), 'rfa-training-'))
  try {
    const file = (name: string) => join(folder, name)
    writeFileSync(file('weights'), Buffer.concat(weights.map(({values}) => bytesOf(values))))
    writeFileSync(file('projection'), bytesOf(projection))
    const request = {
      ...{method, sizes, steps: STEPS, warmup: WARMUP, tokens: [...tokens]},
      weights: weights.map(({name, shape}) => ({name, shape})),
      ...{weights_file: file('weights'), projection_file: file('projection')},
      gradients_file: file('gradients'),
    }
    writeFileSync(file('request'), JSON.stringify(request))
    const script = join(packageRoot(), 'bench', 'training', 'torch_training.py')
    const run = spawnSync(process.env.RFA_PYTHON!, [script, file('request')], {encoding: 'utf8'})
    if (run.status !== 0) throw new Error(`torch_training.py: ${run.stderr}`)
    const gradients = new Float32Array(new Uint8Array(readFileSync(file('gradients'))).buffer)
    return {...(JSON.parse(run.stdout) as Omit<Found, 'gradients'>), gradients}
  } finally {
    rmSync(folder, {recursive: true})
  }
}

function bytesOf({buffer, byteOffset, byteLength}: Float32Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** @throws {Error} where loss or gradients differ by more than roundings */
function assertSame(method: string, own: Found, torch: Found): void {
  const differences = own.gradients.map((x, i) => x - torch.gradients[i]!)
  const gradients = norm(differences) / norm(torch.gradients)
  const loss = Math.abs(own.loss / torch.loss - 1)
  const same = own.gradients.length === torch.gradients.length && gradients < BOUND && loss < BOUND
  if (same) return
  throw new Error(`${method}: loss differs by ${loss}, gradients by ${gradients}, at most ${BOUND}`)
}

function norm(values: Float32Array): number {
  return Math.sqrt(values.reduce((sum, x) => sum + x * x, 0))
}

/** Kernels of a step by their time, the longest first. */
async function profileOf(model: Training) {
  tf.env().set('CHECK_COMPUTATION_FOR_ERRORS', false)
  const best: {name: string; ms: number}[] = []
  // of each call the fastest of some steps, which all make the same calls
  for (let round = 0; round < PROFILED; round++) {
    const {kernels} = await tf.profile(() => model.step())
    for (const [at, {name, kernelTimeMs}] of kernels.entries()) {
      const ms = Number(await kernelTimeMs)
      best[at] = {name, ms: Math.min(ms, best[at]?.ms ?? ms)}
    }
  }
  const byName = new Map<string, {calls: number; ms: number}>()
  for (const {name, ms} of best) {
    const entry = byName.get(name) ?? {calls: 0, ms: 0}
    byName.set(name, {calls: entry.calls + 1, ms: entry.ms + ms})
  }
  const all = [...byName].map(([kernel, entry]) => ({kernel, ...entry}))
  return all.sort((a, b) => b.ms - a.ms).slice(0, 12)
}
