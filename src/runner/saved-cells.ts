/** What a resumed run needs not compute again. */
import {type Cells, cellsFrom} from '../experiments/cells.js'
import type {PredictedCell} from '../experiments/experiment.js'
import type {PlannedRun} from '../experiments/planned-run.js'
import {packageVersion} from '../package.js'
import {listed} from '../report/words.js'
import {cellKey} from '../results/keys.js'
import {recordsOfPlan} from '../results/plan-records.js'
import {type CellRecord, isWhole} from '../results/record.js'
import type {SetAside} from '../results/set-aside.js'

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

/** The cells of a plan that would run beside what was saved. */
export async function withoutSaved<Item extends PredictedCell>(
  {experiment, jobs}: PlannedRun<Item>,
  saved: readonly CellRecord[],
): Promise<Cells<Item>> {
  if (saved.length === 0) return jobs
  const keyOf = (job: Item) => cellKey(experiment.schema, job.cell)
  const {records} = usableRecords(saved, Array.from(jobs, keyOf))
  return withoutThose(jobs, new Set(records.map(({key}) => key)), keyOf)
}

/** Jobs without those of some keys, all of which are among theirs. */
export function withoutThose<Item>(
  jobs: Cells<Item>,
  keys: ReadonlySet<string>,
  keyOf: (job: Item) => string,
): Cells<Item> {
  if (keys.size === 0) return jobs
  return cellsFrom(jobs.length - keys.size, function* () {
    for (const job of jobs) if (!keys.has(keyOf(job))) yield job
  })
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
  missing: Cells<Pick<PredictedCell, 'label'>>,
): string {
  const labels: string[] = []
  for (const {label} of missing) {
    if (labels.push(label) === MOST_NAMED) break
  }
  const rest = missing.length - labels.length
  const cells = [...labels, ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ')
  const which =
    lines.length === 1 ? `line ${lines[0]} is` : `lines ${listed(lines.map(String))} are`
  return `records.jsonl: ${which} damaged and left out; ${keptAs} holds the file as it was. Cells without a record run again: ${cells || 'none'}`
}
