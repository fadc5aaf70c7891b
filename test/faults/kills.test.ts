/** Runs whose processes are killed at any moment, and which then end as if nothing had been. */
import {mkdirSync, rmSync} from 'node:fs'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {describe, expect, it, onTestFinished} from 'vitest'
import {randomStream} from '../../src/random/index.js'
import {FULL} from '../helpers/effort.js'
import {temporaryFolder} from '../helpers/folders.js'
import {complete, expectNoneLeft, journalOf, start, tablesOf} from './runs.js'

/** A run is killed so often before it may end. */
const IN_A_ROW = 5

const SIZE = ['--generator', 'gaussian', '--heads', '3', '--head-dim', '17']
const SWEEP = ['error-sweep', ...SIZE, '--seq-len', '31', '--threads', '2', '--replicates', '3']
/** By experiment: its command line, and how often it is killed, 50 times in all. */
const PLANS: readonly {kills: number; argv: string[]}[] = [
  {
    kills: 20,
    argv: [...SWEEP, '--methods', 'elu,softmax,favor-pos,rfa', '--num-features', '8,16'],
  },
  {kills: 20, argv: ['variance', '--quick', '--threads', '2']},
  {
    kills: 10,
    argv: [
      ...['bench', '--heads', '3', '--head-dim', '17', '--seq-len', '31,47', '--threads', '2'],
      ...['--methods', 'elu,favor-pos', '--no-exact', '--warmup', '0', '--min-runs', '2'],
      ...['--max-runs', '3', '--min-time', '0.001'],
    ],
  },
]

/** Columns of a benchmark that hold what was measured: times, memory, the machine, and what is counted from them. */
const isMeasured = (column: string) =>
  /_ns$|_gflops$|_bytes$|^runs$|outliers$|^outlier_counts_|^conditions_/.test(column) &&
  !column.startsWith('timing_')

const folder = temporaryFolder()

describe.runIf(FULL && process.platform === 'linux')('a run that is killed', () => {
  it.each(PLANS)(
    'goes on to the bytes of one that was not: $argv.0, $kills times',
    async ({argv, kills}) => {
      const [name] = argv as [string]
      const reference = join(folder, name)
      const begun = performance.now()
      expect(await complete([...argv, '--output', reference], {cwd: folder})).toMatchObject({
        code: 0,
      })
      const span = performance.now() - begun
      const wanted = tablesOf(reference, isMeasured)
      const told = {parent: 0, worker: 0, 'before the first cell': 0, 'cells saved': 0}
      const stream = randomStream(kills, `kills of ${name}`)
      for (let done = 0, round = 0; done < kills; round++) {
        const output = join(folder, `${name}-${round}`)
        const words = [...argv, '--output', output, '--resume']
        mkdirSync(output)
        for (let row = 0; row < IN_A_ROW && done < kills; row++) {
          const saved = journalOf(output).length - 1
          const moment = sleep(span * stream.uniform())
          const killed = await killOnce(words, moment, stream.integer(2) === 1)
          if (killed === undefined) break // it had ended before
          done++
          told[killed]++
          const lines = journalOf(output)
          if (lines.length === 1) told['before the first cell']++
          told['cells saved'] += lines.length - 1 - saved
        }
        const last = await complete(words, {cwd: folder})
        expect(last, last.stderr).toMatchObject({code: 0})
        expect(tablesOf(output, isMeasured), `round ${round}`).toEqual(wanted)
        rmSync(output, {recursive: true})
      }
      process.stderr.write(`${name}: ${kills} kills ${JSON.stringify(told)}\n`)
    },
    20 * 60_000, // forty and more runs of the program
  )
})

/**
 * Starts a run and kills one of its processes when the moment has come. No process is left, and what the journal had is there.
 *
 * @returns whom it hit, `undefined` where the run had ended before
 */
async function killOnce(words: string[], moment: Promise<void>, atWorker: boolean) {
  const output = words[words.indexOf('--output') + 1]!
  const before = journalOf(output).slice(0, -1)
  const run = start(words, {cwd: folder})
  onTestFinished(() => void run.child.kill('SIGKILL'))
  await moment
  const parent = run.child.pid!
  const workers = run.processes().filter(pid => pid !== parent)
  const victim = atWorker ? (workers[0] ?? parent) : parent
  const isHit = run.child.exitCode === null && process.kill(victim, 'SIGKILL')
  const {code, signal, stderr} = await run.ended
  await expectNoneLeft(run)
  expect(journalOf(output).slice(0, before.length)).toEqual(before)
  if (!isHit || (victim === parent && signal === null)) return undefined
  if (victim === parent) return 'parent'
  // it plans, too
  if (code === 2) expect(stderr).toMatch(/while making the plan: the worker process .* SIGKILL/)
  else if (code === 3) expect(stderr).toMatch(/^the worker process .* SIGKILL/)
  else expect([0, 4], stderr).toContain(code) // no cell was on its way, or it is recorded as failed
  return 'worker'
}
