/** The runs of claims and figures: one after the other, each in a separate folder below theirs. */
import type {ClaimPlan} from '../../claims/claim.js'
import {ClaimRuns} from '../../claims/runs.js'
import {resumeLine} from '../../report/command-line.js'
import {plural} from '../../report/numbers.js'
import type {CellRecord} from '../../results/record.js'
import type {RunOptions} from '../flags/shared.js'
import {EXIT_CELLS_FAILED} from '../program/exit-codes.js'
import type {Invocation} from '../program/services.js'
import {OwnRuns} from '../run/own-folder-run.js'

/** What `rfa claims` was asked for. */
export interface ClaimsFlags extends Pick<RunOptions, 'output' | 'seed' | 'threads'> {
  quick: boolean
  resume: boolean
  quiet: boolean
}

/** How such a command ends. */
export interface Ending {
  warnings: readonly string[]
  /** 0 where nothing speaks against it. */
  exitCode: number
}

/**
 * The end of runs: failed cells, or runs with only skipped cells, count more than anything else.
 *
 * @param otherwise - how it ends where neither is so
 */
export function endingOf(
  {counts: {total, completed, failed}}: ClaimRuns,
  directory: string,
  {argv}: Invocation,
  otherwise: Ending,
): Ending {
  const resume = `next: ${resumeLine(argv, directory)} runs what failed again`
  const faults = [
    ...(failed > 0 ? [`${failed} of ${plural(total, 'cell')} failed; ${resume}`] : []),
    ...(total > 0 && completed + failed === 0
      ? ['nothing was measured: all cells were skipped']
      : []),
  ]
  if (faults.length === 0) return otherwise
  return {warnings: [...otherwise.warnings, ...faults], exitCode: EXIT_CELLS_FAILED}
}

/**
 * Runs plans by name.
 *
 * @param directory - folder of their folders
 * @param following - plans that follow from the runs so far. Default: none
 * @throws {INTERRUPTED} after Ctrl-C, saying how to continue all of it
 */
export async function runAll(
  plans: ReadonlyMap<string, ClaimPlan>,
  flags: ClaimsFlags & {directory: string},
  invocation: Invocation,
  following: (runs: ClaimRuns) => Promise<ReadonlyMap<string, ClaimPlan>> = async () => new Map(),
): Promise<ClaimRuns> {
  const records = new Map<string, readonly CellRecord[]>()
  const runs = new OwnRuns(invocation)
  try {
    let next = plans
    do {
      const count = records.size + next.size
      for (const [name, plan] of next) {
        invocation.note(`run ${records.size + 1} of ${count}: ${name}`)
        records.set(name, await runs.recordsOf(plan, {...flags, name}))
      }
      next = await following(new ClaimRuns(records))
    } while (next.size > 0)
  } finally {
    await runs.end()
  }
  return new ClaimRuns(records)
}
