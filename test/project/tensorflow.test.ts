/** Backend tensorflow from end to end, where it is set up: `npm run setup:tensorflow`. */
import {execFileSync} from 'node:child_process'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'
import {everyBackend, runnableBackends} from '../helpers/backends.js'
import {newFolder} from '../helpers/folders.js'
import {ELEMENTARY, gamma} from '../helpers/rounding.js'

const root = packageRoot()
const available = (await everyBackend()).includes('tensorflow')
/** What starts more processes than a quick run can afford: where a run is full, or for this backend. */
const thorough = (await runnableBackends()).includes('tensorflow')

/** What is looked at of a record. */
interface RunRecord {
  status: string
  result: {backend: string; rel_l2: {median: number}}
}

/** The records of a run of the program, in processes of its own. */
async function recordsOf(backend: string, ...argv: string[]) {
  const output = join(await newFolder(), 'run')
  const how = ['--backend', backend, '--output', output, '--json', '--quiet']
  const command = [join(root, 'bin', 'run.js'), ...argv, ...how]
  const text = execFileSync(process.execPath, command, {encoding: 'utf8', maxBuffer: 2 ** 28})
  return JSON.parse(text).records as RunRecord[]
}

const SWEEP = ['error-sweep', '--generator', 'gaussian', '--seq-len', '48', '--heads', '2']
const SMALL = ['--head-dim', '8', '--num-features', '16', '--methods', 'favor-pos,elu']
const DRAWS = ['--replicates', '6', '--seed', '3']

/**
 * How far two backends may be apart in rel L2. Weights are not negative; each is off by `gamma(S + M + D)` of its sums
 * times one more than the largest logit, 10 here, in numerator and denominator: an output by twice that times the largest
 * value, 4, and rel L2 by that over the root mean square of the exact output, which is above 0.1. Twice, as both round.
 */
const ROUNDING = (2 * 2 * gamma(48 + 16 + 8 + ELEMENTARY) * (1 + 10) * 4) / 0.1

/** Counts, in a process that computes with so many threads, those that did. */
const COUNT = `
  import {readdirSync, readFileSync} from 'node:fs'
  const {tf, useBackend} = await import(process.argv[1])
  const ticks = () => new Map(readdirSync('/proc/self/task').map(id => {
    const stat = readFileSync('/proc/self/task/' + id + '/stat', 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return [id, Number(fields[11]) + Number(fields[12])]
  }))
  const {threads} = await useBackend('tensorflow', {threads: Number(process.argv[2])})
  const x = tf.randomNormal([4, 512, 512])
  const before = ticks()
  const least = 10 // hundredths of a second: far above what other threads of Node take
  const busy = () => [...ticks()].filter(([id, now]) => now - (before.get(id) ?? 0) >= least)
  const total = () => [...ticks()].reduce((sum, [id, now]) => sum + now - (before.get(id) ?? 0), 0)
  while (total() < 150) tf.tidy(() => void tf.exp(tf.matMul(x, x)))
  console.log(JSON.stringify({threads, busy: busy().length}))
  process.exit()`

function computing(threads: number): {threads: number; busy: number} {
  const library = join(root, 'dist', 'src', 'index.js')
  const argv = ['--input-type=module', '--eval', COUNT, library, `${threads}`]
  return JSON.parse(execFileSync(process.execPath, argv, {encoding: 'utf8'}))
}

describe.runIf(available)('backend tensorflow', () => {
  it('sweeps to the errors that plain JavaScript finds, and says who computed', async () => {
    const argv = [...SWEEP, ...SMALL, ...DRAWS]
    const [mine, plain] = [
      await recordsOf('tensorflow', ...argv, '--threads', '1'),
      await recordsOf('cpu', ...argv),
    ]
    expect(mine.length).toBe(plain.length)
    expect(mine.length).toBeGreaterThan(2)
    for (const [i, record] of mine.entries()) {
      expect(record.result).toMatchObject({backend: 'tensorflow', threads: 1})
      const [own, other] = [record, plain[i]!].map(({result}) => result.rel_l2.median)
      expect(Math.abs(own! - other!)).toBeLessThanOrEqual(ROUNDING)
    }
  })

  it.runIf(thorough)('measures variances', async () => {
    const draws = ['--methods', 'favor-pos', '--num-features', '8', '--norms', '0.5', '--quick']
    const records = await recordsOf('tensorflow', 'variance', ...draws)
    expect(records.length).toBeGreaterThan(0)
    for (const {result} of records) expect(result.backend).toBe('tensorflow')
  })

  it.runIf(thorough)(
    'is timed, and held against the composite on plain JavaScript first',
    async () => {
      const short = ['--seq-len', '64', '--heads', '1', '--head-dim', '8', '--min-runs', '2']
      const records = await recordsOf('tensorflow', 'bench', '--methods', 'elu', ...short)
      expect(records.length).toBeGreaterThan(0)
      for (const {result} of records) expect(result.backend).toBe('tensorflow')
    },
  )

  it.runIf(thorough && process.platform === 'linux')(
    'computes with the threads that it is told',
    () => {
      expect(computing(1)).toEqual({threads: 1, busy: 1})
      const two = computing(2)
      expect(two.threads).toBe(2)
      // the thread that asks computes beside the two that it has, or waits for them
      expect(two.busy).toBeGreaterThanOrEqual(2)
      expect(two.busy).toBeLessThanOrEqual(3)
    },
  )
})
