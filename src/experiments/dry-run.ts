import {type Block, list, text} from '../report/document.js'
import {bytes, nanoseconds, plural} from '../report/numbers.js'
import type {AnyPlan} from '../results/schemas/manifest.js'

/** A plan with what running it would mean. */
export interface DryRun {
  plan: AnyPlan
  /** Number of cells. */
  cells: number
  /** Seconds, `null` where nothing is known. */
  predictedSeconds: number | null
  /** Largest memory of one cell, in bytes. */
  peakBytes: number
  /** One line per cell, in the order of the plan. */
  cellLabels: string[]
}

/** Cells that the terminal lists; `--json` has all of them. */
const LISTED = 40

/** What `--dry-run` prints. */
export function dryRunReport({
  plan,
  cells,
  predictedSeconds,
  peakBytes,
  cellLabels,
}: DryRun): Block[] {
  const time = predictedSeconds === null ? 'unknown' : nanoseconds(predictedSeconds * 1e9)
  const rest = cellLabels.length - LISTED
  return [
    text(
      `${plan.experiment}: ${plural(cells, 'cell')}, predicted time ${time}, predicted peak memory ${bytes(peakBytes)}`,
    ),
    ...list(cellLabels.slice(0, LISTED)),
    ...(rest > 0 ? [text(`and ${rest} more; --json lists all`)] : []),
  ]
}
