#!/usr/bin/env node
// How evenly plans are dealt to shards, by predicted cost, and how much sooner two workers end than one (docs/clusters.md).
// node dist/bench/shards.js [--measure ROUNDS]: without --measure nothing is run.
import {spawn} from 'node:child_process'
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join, resolve} from 'node:path'
import {parseArgs} from 'node:util'
import type {MethodSpec} from '../src/experiments/axes.js'
import {deal, dealtCosts} from '../src/experiments/deal.js'
import type {ErrorSweepPlan} from '../src/experiments/error-sweep/schema.js'
import {significant} from '../src/report/numbers.js'
import type {Plan} from '../src/results/record.js'
import {dealtCells} from '../src/runner/shards.js'
import {median} from '../src/stats/index.js'

const {values} = parseArgs({options: {measure: {type: 'string', default: '0'}}})
const COUNTS = [64, 128, 256, 512, 1024]
const METHODS = ['favor-pos', 'favor-trig', 'rfa', 'oprf', 'elu']

const method = (name: string): MethodSpec => ({method: name, preset: 'exact', options: {}})
const seeds = (count: number) => Array.from({length: count}, (_, at) => at + 1)

function sweep(changes: Partial<ErrorSweepPlan>): ErrorSweepPlan {
  const sizes = {batch: 1, heads: 8, head_dim: 64, value_dim: 64, key_len: null}
  return {
    experiment: 'error-sweep',
    input: {kind: 'generator', name: 'gaussian', ...sizes},
    ...{methods: METHODS.map(method), projections: ['iid', 'orth'], orth_sign: 'haar'},
    ...{num_features: [64, 128, 256, 512], seq_lens: [1024], scales: [1], targets: ['raw']},
    ...{replicates: 30, causal: false, row_metrics: false, seed: 0, backend: 'auto'},
    ...changes,
  }
}

/** Plans of a kind each: one length; lengths that differ 64-fold; few exact outputs that many cells share. */
const PLANS: readonly [string, Plan][] = [
  ['one length, 100 scales', sweep({scales: seeds(100).map(at => at / 50)})],
  [
    'lengths 256 to 16384, 20 scales',
    sweep({
      seq_lens: [256, 512, 1024, 2048, 4096, 8192, 16384],
      scales: seeds(20).map(at => at / 10),
    }),
  ],
  [
    'length 4096, 2000 numbers of features',
    sweep({seq_lens: [4096], num_features: seeds(2000), methods: [method('favor-pos')]}),
  ],
]

for (const [name, plan] of PLANS) {
  const cells = await dealtCells(plan)
  const whole = dealtCosts(cells, deal(cells, 1), 1)[0]!
  const most = Math.max(...cells.map(({cost, family}) => cost + (family?.cost ?? 0)))
  const ratios = COUNTS.map(count => {
    const last = Math.max(...dealtCosts(cells, deal(cells, count), count))
    return significant(last / Math.max(whole / count, most))
  })
  const row = [name, cells.length, `${significant(whole)} s`, ...ratios]
  process.stdout.write(`| ${row.join(' | ')} |\n`)
}

const rounds = Number(values.measure)
if (rounds > 0) await measure(rounds)

/** One worker that runs all, and two that run a shard each at the same time, in turns. */
async function measure(count: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'rfa-shards-'))
  try {
    const plan = join(folder, 'plan.json')
    const changes = {seq_lens: [512], scales: [1]}
    writeFileSync(
      plan,
      JSON.stringify(sweep({...changes, methods: METHODS.slice(0, 3).map(method)})),
    )
    const times: [number, number][] = []
    for (let round = 0; round < count; round++) {
      const one = await timed(folder, plan, `${round}-of-1`, ['1/1'])
      const two = await timed(folder, plan, `${round}-of-2`, ['1/2', '2/2'])
      times.push([one, two])
      process.stdout.write(`${[one, two, one / two].map(value => significant(value)).join(' ')}\n`)
    }
    const [one, two] = [0, 1].map(at => median(times.map(pair => pair[at]!)))
    const ratio = median(times.map(([alone, both]) => alone / both))
    process.stdout.write(
      `medians of ${count} rounds: one worker ${significant(one!)} s, two ${significant(two!)} s; ratio ${significant(ratio)}\n`,
    )
  } finally {
    rmSync(folder, {recursive: true})
  }
}

/** Seconds until the last of some shards has ended; each has a thread. */
async function timed(
  folder: string,
  plan: string,
  name: string,
  shards: readonly string[],
): Promise<number> {
  const program = resolve(import.meta.dirname, '..', '..', 'bin', 'run.js')
  const start = performance.now()
  const runs = shards.map((shard, at) => {
    const output = join(folder, `${name}-${at}`)
    const words = ['run', plan, '--shard', shard, '--output', output, '--threads', '1', '--quiet']
    const child = spawn(process.execPath, [program, ...words], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    return new Promise<void>((done, fail) => {
      child.once('error', fail)
      child.once('exit', code => (code === 0 ? done() : fail(new Error(`${shard}: exit ${code}`))))
    })
  })
  await Promise.all(runs)
  return (performance.now() - start) / 1000
}
