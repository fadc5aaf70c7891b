import {existsSync, readFileSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {fileURLToPath} from 'node:url'
import {onTestFinished, vi} from 'vitest'
import type {Job} from '../../../src/experiments/planned-run.js'
import varianceExperiment from '../../../src/experiments/variance/index.js'
import {cellKey} from '../../../src/results/keys.js'
import {isRunning as runs} from '../../../src/results/lock/processes.js'
import {newFolder} from '../folders.js'
import {varianceCell} from '../records/variance.js'

/** The script of the fake workers. */
export const fakeWorker = fileURLToPath(new URL('fake-worker.mjs', import.meta.url))

/**
 * A job that a fake worker does.
 *
 * @param method - what the worker does; see fake-worker.mjs
 * @param seed - tells jobs apart
 * @param norm - for `sleep`: how long, in ms
 */
export function jobFor(method: string, seed = 0, norm = 1): Job {
  const cell = varianceCell({method, seed, norm})
  const key = cellKey(varianceExperiment.schema, cell)
  const label = `${method} ${seed}`
  return {key, cell, label, predictedCost: 1, predictedBytes: 0}
}

export function jobsFor(...methods: string[]): Job[] {
  return methods.map((method, seed) => jobFor(method, seed))
}

/** The experiment of these jobs as one that is timed, whose cells take the processes that the name of their method joins. */
export const timedExperiment: typeof varianceExperiment = {
  ...varianceExperiment,
  isolation: 'fresh',
  processes: {
    split: ({method, ...cell}) => method.split('+').map(own => ({...cell, method: own})),
    merge: async results => {
      const kernel = results.map(one => one.kernel).join(', ')
      const expectation = results.reduce((sum, one) => 10 * sum + one.expectation!, 0)
      return {...results[0]!, kernel, expectation}
    },
  },
}

/** What the processes of a cell of it found, a digit of each, in their order. */
export function foundIn(record: {status: string; result?: unknown}): number {
  return (record.result as {expectation: number}).expectation
}

/** Whether a process runs; one that has ended but that nobody has asked about does not. */
export function isRunning(pid: number): boolean {
  return runs(pid)
}

/** The processes that computed a record of fake workers. */
export function pidsOf(record: {status: string; result?: unknown}): number[] {
  const {kernel} = record.result as {kernel: string}
  return kernel.split(', ').map(name => Number(name.replace('pid ', '')))
}
/** The only one. */
export const pidOf = (record: {status: string; result?: unknown}) => pidsOf(record)[0]!

/** Sets a variable that workers inherit, for one test. */
export function environment(name: string, value: string): void {
  vi.stubEnv(name, value)
  onTestFinished(() => void vi.unstubAllEnvs())
}

/** What is written in a file that workers note in. */
export const lines = (file: string) => readFileSync(file, 'utf8').trim().split('\n')

/** A file that workers note in what they do. */
export async function notes(): Promise<string> {
  const path = join(await newFolder(), 'notes')
  environment('RFA_TEST_FILE', path)
  return path
}

/** Waits until workers have noted something so often. */
export async function noted(file: string, text: string, times = 1): Promise<void> {
  const count = () => (existsSync(file) ? lines(file).filter(line => line === text).length : 0)
  while (count() < times) await sleep(5)
}

/** What workers wait for. */
export async function gate(): Promise<{open(): void}> {
  const path = join(await newFolder(), 'gate')
  environment('RFA_TEST_GATE', path)
  return {open: () => writeFileSync(path, '')}
}
