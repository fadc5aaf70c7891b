/** The report of saved runs: how each was made, then the tables of its experiment. */

import {machineRows} from '../report/doctor.js'
import {type Block, heading, list, text} from '../report/document.js'
import {plural} from '../report/numbers.js'
import type {
  AnyRecord,
  BenchRecord,
  ErrorSweepRecord,
  RunManifest,
  VarianceRecord,
} from '../results/schemas/index.js'
import {benchReport} from './bench/report.js'
import {errorSweepReport} from './error-sweep/report.js'
import {varianceReport} from './variance/report.js'

/** A run as it was read back. */
export interface SavedRun {
  /** As it was named on the command line. */
  directory: string
  manifest: RunManifest
  /** Of the cells of its plan, in the order of the plan. */
  records: readonly AnyRecord[]
  /** Records of its journal that belong to no cell of its plan. */
  foreign: number
  /** Cells of its plan; `null` for a plan that this version cannot read any more. */
  cells: number | null
  /** The command that goes on with it; `null` where the manifest names none of rfa. */
  resumeCommand: string | null
}

/** How many cells ended in which way. */
export interface OutcomeCounts {
  completed: number
  skipped: number
  failed: number
}

/** Counts the outcomes of records. */
export function outcomeCounts(records: readonly {status: keyof OutcomeCounts}[]): OutcomeCounts {
  const counts = {completed: 0, skipped: 0, failed: 0}
  for (const {status} of records) counts[status]++
  return counts
}

/** The tables of one experiment's records, whichever experiment it is. */
export function recordsReport(
  experiment: RunManifest['plan']['experiment'],
  records: readonly AnyRecord[],
): Block[] {
  switch (experiment) {
    case 'error-sweep':
      return errorSweepReport(records as readonly ErrorSweepRecord[])
    case 'bench':
      return benchReport(records as readonly BenchRecord[])
    case 'variance':
      return varianceReport(records as readonly VarianceRecord[])
  }
}

/** One report over one or several runs. */
export function runReport(runs: readonly SavedRun[]): Block[] {
  return runs.flatMap(run => [
    heading(1, `${run.manifest.plan.experiment}: ${run.directory}`),
    ...list(origin(run)),
    ...recordsReport(run.manifest.plan.experiment, run.records),
    ...(run.records.length === 0 ? [text('No cell of this run has finished yet.')] : []),
  ])
}

/** Where, when and how the numbers came about. */
function origin(run: SavedRun): string[] {
  const {plan, machine, command, created_at} = run.manifest
  return [
    `command: ${command}`,
    `made: ${created_at}, seed ${plan.seed}, backend ${plan.backend}`,
    ...progress(run),
    ...strangers(run),
    `machine: ${machineRows(machine)
      .map(([name, value]) => `${name} ${value}`)
      .join(', ')}`,
  ]
}

/** What stands in the journal without belonging to the run. */
function strangers({foreign}: SavedRun): string[] {
  if (foreign === 0) return []
  return [
    `left out: ${plural(foreign, 'record')} of no cell of this plan, or under the key of another`,
  ]
}

/** How many cells there are and how they ended; a run that stopped early says so. */
function progress({records, cells, resumeCommand}: SavedRun): string[] {
  const {completed, skipped, failed} = outcomeCounts(records)
  const outcomes = `${completed} completed, ${skipped} skipped, ${failed} failed`
  if (cells === null || records.length >= cells) {
    return [`${plural(records.length, 'cell')}: ${outcomes}`]
  }
  return [
    `${records.length} of ${plural(cells, 'cell')}, incomplete: ${outcomes}`,
    ...(resumeCommand === null ? [] : [`resume with: ${resumeCommand}`]),
  ]
}
