import {join} from 'node:path'
import {z} from 'zod'
import {writeAtomic} from '../../files.js'
import {type Findings, findings} from '../findings.js'
import {planHash} from '../keys.js'
import type {CellRecord, Plan} from '../record.js'
import {type ShardOfRun, shardOfRun} from './shard.js'

const SUMMARY_SCHEMA = 'rfa.summary/1'
/** The summary's file name inside a run directory. */
const SUMMARY_FILE = 'summary.json'

export const runCounts = z.object({
  total: z.int().nonnegative().describe('Cells with a record.'),
  completed: z.int().nonnegative().describe('Cells that were measured.'),
  skipped: z.int().nonnegative().describe('Cells that do not apply to their method.'),
  failed: z.int().nonnegative().describe('Cells that ended in an error.'),
})
export type RunCounts = z.infer<typeof runCounts>

/** `summary.json` of a run: written when every cell of the plan has a record. */
export const runSummary = z.object({
  schema: z.literal(SUMMARY_SCHEMA).describe('Name and version of this format.'),
  experiment: z.string().describe('Name of the experiment.'),
  plan_hash: z.string().describe('SHA-256 of the plan as canonical JSON.'),
  shard: shardOfRun.optional().describe('Part of the plan; absent: all of it.'),
  counts: runCounts.describe('How the cells ended.'),
  ...findings.shape,
})
type RunSummary = z.infer<typeof runSummary>

export function countRecords(records: readonly Pick<CellRecord, 'status'>[]): RunCounts {
  const counts = {total: records.length, completed: 0, skipped: 0, failed: 0}
  for (const {status} of records) counts[status]++
  return counts
}

/**
 * Writes `summary.json`.
 *
 * @param records - one per cell of the plan, or of its shard
 * @param joint - what they say together
 * @param shard - which part of the plan they are of. Default: all of it
 * @throws {NOT_WRITABLE} when the file cannot be written
 */
export async function writeSummary(
  directory: string,
  plan: Plan,
  records: readonly Pick<CellRecord, 'status'>[],
  joint: Findings = {},
  shard?: ShardOfRun,
): Promise<void> {
  const summary: RunSummary = {
    schema: SUMMARY_SCHEMA,
    experiment: plan.experiment,
    plan_hash: planHash(plan),
    ...(shard && {shard}),
    counts: countRecords(records),
    ...joint,
  }
  await writeAtomic(join(directory, SUMMARY_FILE), `${JSON.stringify(summary, null, 2)}\n`)
}
