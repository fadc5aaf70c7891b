/** How a cell is divided among processes, and which cells share them. */
import {pluginOf} from '../../../plugins/record.js'
import type {Trial} from '../../experiment.js'
import type {BenchCell} from '../schema.js'

/**
 * A cell as each of its processes runs it: its runs and its time are divided among them, but each has the whole warm-up.
 */
export function splitCell(cell: BenchCell): BenchCell[] {
  const {processes = 1, min_runs, max_runs, min_time_ns} = cell.timing
  const timing = {
    ...cell.timing,
    processes: undefined,
    min_runs: Math.ceil(min_runs / processes),
    max_runs: Math.ceil(max_runs / processes),
    min_time_ns: min_time_ns / processes,
  }
  return Array.from({length: processes}, () => ({...cell, timing}))
}

/** One run after the warm-up, in a process that has nothing but its method. None of a peer, or of an engine: loading it takes seconds. */
export function trialOf(cell: BenchCell): Trial<BenchCell> | undefined {
  if (cell.peer || cell.engine) return undefined
  const one = {processes: undefined, min_runs: 1, max_runs: 1, min_time_ns: 0}
  return {
    cell: {...cell, timing: {...cell.timing, ...one}},
    key: `${sharingKey(cell)} ${cell.method}`,
  }
}

/** What is timed side by side has one process, in which a ratio is free of what processes differ by; code of plug-ins stays apart. */
export function sharingKey(cell: BenchCell): string {
  const {peer, engine, backend, threads} = cell
  return [peer ?? engine ?? backend, threads, pluginOf(cell)].join(' ')
}
