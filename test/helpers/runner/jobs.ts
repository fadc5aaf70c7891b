import {fileURLToPath} from 'node:url'
import type {Job} from '../../../src/experiments/planned-run.js'
import varianceExperiment from '../../../src/experiments/variance/schema.js'
import {cellKey} from '../../../src/results/keys.js'
import {isRunning as runs} from '../../../src/results/processes.js'
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

/** Whether a process runs; one that has ended but that nobody has asked about does not. */
export function isRunning(pid: number): boolean {
  return runs(pid)
}

/** The process that computed a record of a fake worker. */
export function pidOf(record: {status: string; result?: unknown}): number {
  const {kernel} = record.result as {kernel: string}
  return Number(kernel.replace('pid ', ''))
}
