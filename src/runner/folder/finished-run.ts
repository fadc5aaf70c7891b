/** What is left when every cell of a run has a record: tables, and what records say together. */
import {join} from 'node:path'
import {z} from 'zod'
import {RfaError} from '../../errors.js'
import type {PlannedRun} from '../../experiments/planned-run.js'
import {writeAtomic} from '../../files.js'
import {findings} from '../../results/findings.js'
import type {RunManifest} from '../../results/folder/manifest.js'
import {countRecords, runCounts, writeSummary} from '../../results/folder/summary.js'
import type {Journal} from '../../results/journal/journal.js'
import type {CellRecord} from '../../results/record.js'
import {writeCsv} from '../../results/tables/csv.js'
import type {TableFile} from '../../results/tables/table-files.js'
import type {RequestedTable} from '../../results/tables/tables.js'
import {verdictSchema} from '../../results/verdict.js'

const FINISHED_SCHEMA = 'rfa.finished-run/1'

/** A finished run, as `--json` prints it. @param parts - schemas of its manifest and of a record */
export const finishedRunSchema = (parts: {
  manifest: z.ZodType<RunManifest>
  record: z.ZodType<CellRecord>
}) =>
  z.object({
    schema: z.literal(FINISHED_SCHEMA).describe('Name and version of this format.'),
    directory: z.string().nullable().describe('Folder of the run; `null`: nothing was saved.'),
    manifest: parts.manifest.describe('What manifest.json of the run holds.'),
    records: z
      .array(parts.record)
      .describe('One per cell, in the order of the plan, however they came in.'),
    counts: runCounts.describe('How the cells ended.'),
    verdicts: z.array(verdictSchema).describe('Answers to what the experiment asks, if it asks.'),
    ...findings.shape,
  })
export type ExperimentRun = z.infer<ReturnType<typeof finishedRunSchema>>

/** A run that ended with a fault, and what there is to show of it: it was interrupted, or its tables could not be written. */
export class FaultyRun extends RfaError {
  constructor(
    readonly run: ExperimentRun,
    cause: RfaError,
  ) {
    super(cause.code, cause.message, {suggestions: cause.suggestions, cause})
  }
}

/** Tables to write, in formats other than the journal. */
export interface TableOptions {
  /** Default: csv. */
  formats?: readonly TableFile[] | undefined
  /** Those that runs have on request alone. Default: none. */
  requested?: readonly RequestedTable[]
}

type Own = Pick<PlannedRun, 'experiment' | 'plan'>

/** Writes what the journal holds as tables. @throws {FaultyRun} when that fails */
export async function saveTables(
  planned: Own,
  finished: ExperimentRun,
  options: TableOptions,
  journal: Journal,
): Promise<void> {
  try {
    await journal.verify()
    await writeTables(planned, finished, options)
  } catch (error) {
    throw error instanceof RfaError ? new FaultyRun(finished, error) : error
  }
}

async function writeTables(
  {experiment, plan}: Own,
  {directory, manifest, records, ...rest}: ExperimentRun,
  {formats = ['csv'], requested = []}: TableOptions,
): Promise<void> {
  if (directory === null) return
  const joint = findings.parse(rest)
  const tables = experiment.tables.filter(({flag}) => !flag || requested.includes(flag))
  if (formats.includes('csv')) await writeCsv(join(directory, 'records.csv'), records, tables)
  if (formats.includes('parquet')) {
    const {writeParquet} = await import('../../results/tables/parquet.js')
    await writeParquet(join(directory, 'records.parquet'), records, tables)
  }
  if (formats.includes('json')) {
    await writeAtomic(join(directory, 'records.json'), `${JSON.stringify(records, null, 2)}\n`)
  }
  await writeSummary(directory, plan, records, joint, manifest.shard)
}

/** A run with what its records say. */
export async function runOf(
  {experiment}: Pick<PlannedRun, 'experiment'>,
  run: Pick<ExperimentRun, 'directory' | 'manifest' | 'records'>,
): Promise<ExperimentRun> {
  const {records} = run
  const verdicts = (await experiment.verdicts?.(records)) ?? []
  const joint = await experiment.findings?.(records)
  return {schema: FINISHED_SCHEMA, ...run, counts: countRecords(records), verdicts, ...joint}
}
