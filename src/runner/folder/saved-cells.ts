/** What a resumed run needs not compute again. */
import type {Job} from '../../experiments/planned-run.js'
import {packageVersion} from '../../package.js'
import {listed} from '../../report/words.js'
import {recordsOfPlan} from '../../results/journal/plan-records.js'
import type {SetAside} from '../../results/journal/set-aside.js'
import {type CellRecord, isWhole} from '../../results/record.js'

/**
 * The records that stand for cells of a plan: the newest of each, unless it failed or was interrupted.
 *
 * @param keys - of the plan's cells, in its order
 */
export function usableRecords(
  saved: readonly CellRecord[],
  keys: readonly string[],
): {records: CellRecord[]; foreign: number} {
  const {records, foreign} = recordsOfPlan(saved, keys, packageVersion())
  return {records: records.filter(isWhole), foreign}
}

/** The jobs of a plan that were not saved yet. */
export function withoutSaved(jobs: readonly Job[], saved: readonly CellRecord[]): readonly Job[] {
  const keys = jobs.map(({key}) => key)
  return withoutThose(jobs, usableRecords(saved, keys).records)
}

/** Jobs that have none of these records. */
export function withoutThose(
  jobs: readonly Job[],
  records: readonly Pick<CellRecord, 'key'>[],
): readonly Job[] {
  const saved = new Set(records.map(({key}) => key))
  return jobs.filter(({key}) => !saved.has(key))
}

/** Cells that one message names. */
const MOST_NAMED = 5

/**
 * What a reader should know of a journal with damaged lines.
 *
 * @param missing - cells that run now: those of these lines, and those that had not ended
 */
export function damageNote(
  {lines, keptAs}: SetAside,
  missing: readonly Pick<Job, 'label'>[],
): string {
  const labels = missing.slice(0, MOST_NAMED).map(({label}) => label)
  const rest = missing.length - labels.length
  const cells = [...labels, ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ')
  const which =
    lines.length === 1 ? `line ${lines[0]} is` : `lines ${listed(lines.map(String))} are`
  return `records.jsonl: ${which} damaged and left out; ${keptAs} holds the file as it was. Cells without a record run again: ${cells || 'none'}`
}
