/** The report of saved runs: how each was made, then the tables of its experiment. */

import {basename, resolve} from 'node:path'
import {commandText} from '../report/command-line.js'
import {machineRows} from '../report/doctor.js'
import {type Block, type FigureBlock, heading, type Item, list, text} from '../report/document.js'
import {drawable, type FeatureAxis} from '../report/figures/figure.js'
import {plural} from '../report/numbers.js'
import type {RunManifest} from '../results/folder/manifest.js'
import {shardText} from '../results/folder/shard.js'
import {countRecords} from '../results/folder/summary.js'
import {type CellRecord, endedRecords} from '../results/record.js'
import {type Experiment, printedReport} from './experiment.js'
import {experimentNamed} from './index.js'

/** A saved run with the data of its report. */
export interface ReportedRun {
  /** As it was named on the command line. */
  directory: string
  manifest: RunManifest
  /** Of the cells of its plan, in the order of the plan. */
  records: readonly CellRecord[]
  /** Records of its journal that belong to no cell of its plan. */
  foreign: number
  /** Cells of its plan, or of its part of it; `null` for a plan that this version cannot read any more. */
  cells: number | null
  /** The command that continues it; `null` if the manifest has no command of rfa. */
  resumeCommand: string | null
}

export interface ReportParts {
  /** Default: none. */
  figures?: boolean
  /** What errors are drawn over. Default: M. */
  x?: FeatureAxis | undefined
  /** Everything, not the first screen alone. Default: true. */
  details?: boolean
}

/** One report over one or several runs. */
export async function runReport(
  runs: readonly ReportedRun[],
  parts: ReportParts = {},
): Promise<Block[]> {
  const reports = await Promise.all(runs.map(run => reportOf(run, parts)))
  return reports.flat()
}

async function reportOf(
  run: ReportedRun,
  {figures = false, x, details = true}: ReportParts,
): Promise<Block[]> {
  const {experiment: name} = run.manifest.plan
  const experiment = await experimentNamed(name)
  return [
    heading(1, `${name}: ${run.directory}`),
    ...list(details ? origin(run) : unfinished(run)),
    ...(figures ? await figuresOf(run, experiment, x) : []),
    ...(await printedReport(experiment, run.records, details)),
    ...(run.records.length === 0 ? [text('No cell of this run has finished yet.')] : []),
  ]
}

/** What can be drawn of it, with the command that measures it again. */
async function figuresOf(
  {directory, manifest, records}: ReportedRun,
  experiment: Experiment,
  x: FeatureAxis | undefined,
): Promise<FigureBlock[]> {
  const figures = (await experiment.figures?.(records, x)) ?? []
  const {argv, machine, plan} = manifest
  const command = commandText(argv)
  const run = `run ${runName(directory)}, rfa ${machine.rfa}, seed ${plan.seed}`
  return figures.flatMap(figure => {
    const shown = drawable({...figure, run, command})
    return shown ? [{kind: 'figure' as const, figure: shown}] : []
  })
}

/** A run by the name of its folder. @param directory - as it was named */
export function runName(directory: string): string {
  return basename(resolve(directory))
}

/** Where, when and how the numbers came about. */
function origin(run: ReportedRun): Item[] {
  const {plan, machine, argv, created_at} = run.manifest
  return [
    {label: 'command', command: commandText(argv)},
    `made: ${created_at}, seed ${plan.seed}, backend ${[plan.backend].flat().join(', ')}`,
    ...progress(run),
    ...partOfPlan(run.manifest),
    ...plugins(run),
    ...foreignRecords(run),
    ...sessions(run.manifest),
    `machine: ${machineRows(machine)
      .map(([name, value]) => `${name} ${value}`)
      .join(', ')}`,
  ]
}

/** Where its own estimators came from. */
function plugins({manifest, cells}: ReportedRun): string[] {
  const {plugins = []} = manifest.plan
  const files = plugins.map(
    ({path, sha256, methods}) => `plug-in: ${path}, SHA-256 ${sha256}: ${methods.join(', ')}`,
  )
  if (files.length === 0 || cells !== null) return files
  return [
    ...files,
    'whether cells are missing is not known without its plug-ins: name them by `plugin`',
  ]
}

/** A shard has a part of the cells alone. */
function partOfPlan({shard}: RunManifest): string[] {
  if (!shard) return []
  return [`shard ${shardText(shard)} of its plan; rfa merge joins it with the others`]
}

/** Later sessions that may make a difference. */
function sessions({sessions: later = [], machine}: RunManifest): Item[] {
  const set = (name: string | null | undefined) => name ?? 'no particular instruction set'
  return later.flatMap((session, at) => {
    const before = later[at - 1] ?? machine
    const facts = [
      ...(session.extended ? ['with more cells'] : []),
      ...(session.commit === before.commit ? [] : [`at commit ${session.commit ?? 'unknown'}`]),
      ...(session.instruction_set === (before.instruction_set ?? null)
        ? []
        : [`on ${set(session.instruction_set)}, before it on ${set(before.instruction_set)}`]),
    ]
    return [
      `resumed: ${[session.started_at, ...facts].join(', ')}`,
      {label: 'resumed by', command: commandText(session.argv)},
    ]
  })
}

/** Records in the journal that do not belong to the run. */
function foreignRecords({foreign}: ReportedRun): string[] {
  if (foreign === 0) return []
  return [
    `left out: ${plural(foreign, 'record')} outside this plan, or with the key of another cell`,
  ]
}

/** {@link progress} of a run that has not all of its cells, or failed ones. */
function unfinished(run: ReportedRun): Item[] {
  const items = progress(run)
  return items.length > 1 || countRecords(run.records).failed > 0 ? items : []
}

/** How many cells there are and how they ended; a run that stopped early says so. */
function progress({records, cells, resumeCommand}: ReportedRun): Item[] {
  const {completed, skipped, failed} = countRecords(records)
  const ended = endedRecords(records).length
  const part = records.length - ended
  const outcomes = `${completed - part} completed, ${skipped} skipped, ${failed} failed${part > 0 ? `, ${part} measured in part` : ''}`
  if (cells === null || ended >= cells) return [`${plural(records.length, 'cell')}: ${outcomes}`]
  return [
    `${ended} of ${plural(cells, 'cell')}, incomplete: ${outcomes}`,
    ...(resumeCommand === null ? [] : [{label: 'resume with', command: resumeCommand}]),
  ]
}
