/**
 * How evenly plans are dealt to shards, by predicted cost (docs/clusters.md); with the word `run`, how much sooner two workers
 * end than one.
 */
import {spawn} from 'node:child_process'
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {deal, dealtCosts} from '../../src/experiments/deal.js'
import {packageRoot} from '../../src/package.js'
import {significant} from '../../src/report/numbers.js'
import {dealtCells} from '../../src/runner/schedule/shards.js'
import {type Named, type SweepChanges, sweep} from './plans.js'
import {type Calibration, each} from './run.js'

const COUNTS = [64, 128, 256, 512, 1024]
/** Rounds of one worker and of two. */
const ROUNDS = 5

const upTo = (count: number, step = 1) => Array.from({length: count}, (_, at) => (at + 1) * step)
const LENGTHS = [256, 512, 1024, 2048, 4096, 8192, 16384]

function large(
  name: string,
  changes: SweepChanges,
  methods = 'favor-pos favor-trig rfa oprf elu',
): Named {
  const {plan} = sweep(methods, {
    ...{heads: 8, projections: ['iid', 'orth'], num_features: [64, 128, 256, 512]},
    ...{seq_lens: [1024], targets: ['raw'], replicates: 30, backend: 'auto', ...changes},
  })
  return {name, plan}
}

/** Plans of a kind each: one length; lengths that differ 64-fold; few exact outputs that many cells share. */
const PLANS: readonly Named[] = [
  large('one length, 100 scales', {scales: upTo(100, 0.02)}),
  large('lengths 256 to 16384, 20 scales', {seq_lens: LENGTHS, scales: upTo(20, 0.1)}),
  large(
    'length 4096, 2000 numbers of features',
    {seq_lens: [4096], num_features: upTo(2000)},
    'favor-pos',
  ),
]

export default (async words => {
  if (words.includes('run')) return {rows: await sooner()}
  return {rows: await each(PLANS, words, dealt)}
}) satisfies Calibration

/** The dearest of some numbers of shards over the ideal one. */
async function dealt({name, plan}: Named) {
  const cells = await dealtCells(plan)
  const whole = dealtCosts(cells, deal(cells, 1), 1)[0]!
  const most = Math.max(
    ...Array.from(cells, ({cost, shared = []}) =>
      shared.reduce((sum, part) => sum + part.cost, cost),
    ),
  )
  const ratios = COUNTS.map(count => {
    const last = Math.max(...dealtCosts(cells, deal(cells, count), count))
    return [`${count} shards`, last / Math.max(whole / count, most)] as const
  })
  const place = {'in one place': `${significant(whole)} s`}
  return {plan: name, cells: cells.length, ...place, ...Object.fromEntries(ratios)}
}

/** One worker that runs all, and two that run a shard each at the same time, in turns. */
async function sooner() {
  const folder = mkdtempSync(join(tmpdir(), 'rfa-shards-'))
  try {
    const path = join(folder, 'plan.json')
    const {plan} = large('', {seq_lens: [512]}, 'favor-pos favor-trig rfa')
    writeFileSync(path, JSON.stringify(plan))
    return await each(
      upTo(ROUNDS).map(round => ({name: `round ${round}`})),
      [],
      async ({name}) => {
        const one = await timed(folder, path, `${name}-one`, ['1/1'])
        const two = await timed(folder, path, `${name}-two`, ['1/2', '2/2'])
        return {round: name, 'one worker, s': one, 'two workers, s': two, 'faster by': one / two}
      },
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
  const program = join(packageRoot(), 'bin', 'run.js')
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
