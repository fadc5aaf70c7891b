/** Joins the shards of a run. */
import {expected, RfaError} from '../../errors.js'
import {allExperiments, experimentNamed} from '../../experiments/index.js'
import {planKeys, planLabels} from '../../experiments/planned-run.js'
import {resumeLine, withoutFolder} from '../../report/command-line.js'
import {plural} from '../../report/numbers.js'
import type {RunManifest} from '../../results/folder/manifest.js'
import {createMergedRun, openRun} from '../../results/folder/run-directory.js'
import {shardText} from '../../results/folder/shard.js'
import {
  asShard,
  machinesOf,
  requireDistinct,
  requireOneRun,
  type SavedShard,
} from '../../results/folder/shard-folders.js'
import type {Journal} from '../../results/journal/journal.js'
import {LINE_CHECKSUM} from '../../results/journal/journal-line.js'
import {recordsOfPlan} from '../../results/journal/plan-records.js'
import {type CellRecord, endedRecords, type Plan} from '../../results/record.js'
import {type ExperimentRun, runOf, saveTables, type TableOptions} from './finished-run.js'
import {wayOf} from './mixed-backends.js'

export interface MergeOptions extends TableOptions {
  /** Folder of the merged run, new or empty; made when it is needed. */
  directory: string | (() => Promise<string>)
  /** Join what is there, though cells are missing: they run when the merged run is gone on with. */
  partial: boolean
  /** Called with a warning for readers of the results. */
  onWarning?: ((text: string) => void) | undefined
}

export interface MergedRun {
  shards: readonly SavedShard[]
  manifest: RunManifest
  /** One per cell that has one, in the order of the plan. */
  records: readonly CellRecord[]
  /** Keys of cells without a record, or with one that was interrupted, in that order. */
  missing: readonly string[]
}

/**
 * Reads the folders of shards and holds them against each other.
 *
 * @param load - loads the plug-ins of a plan. Default: there are none
 * @throws {USAGE} {FILE_MISSING} {BAD_FILE} {UNKNOWN_SCHEMA} for anything but the folder of a run, or one named twice
 * @throws {PLAN_MISMATCH} where they are not shards of one run
 */
export async function readShards(
  directories: readonly string[],
  load: (plan: Plan) => Promise<unknown> = async () => {},
  onWarning: (text: string) => void = () => {},
): Promise<MergedRun> {
  await requireDistinct(directories)
  const experiments = await allExperiments()
  const named: SavedShard[] = []
  for (const directory of directories) {
    named.push(asShard(directory, await openRun(directory, experiments)))
  }
  requireOneRun(named, experiments)
  const shards = named.sort((a, b) => a.manifest.shard.index - b.manifest.shard.index)
  const manifest = manifestOf(shards)
  await load(manifest.plan)
  const keys = await planKeys(manifest.plan)
  const all = shards.flatMap(({records}) => records)
  const {records, foreign} = recordsOfPlan(all, keys, manifest.machine.rfa)
  const there = new Set(endedRecords(records).map(({key}) => key))
  warnOf({shards, records, foreign}, onWarning)
  return {shards, manifest, records, missing: keys.filter(key => !there.has(key))}
}

/** The manifest that a run of the whole plan would have, with the machines of its shards. */
function manifestOf(shards: readonly SavedShard[]): RunManifest {
  const {schema, argv, plan, machine} = shards[0]!.manifest
  const created = shards.map(({manifest}) => manifest.created_at).sort()
  const sessions = shards
    .flatMap(({manifest}) => manifest.sessions ?? [])
    .sort((a, b) => (a.started_at < b.started_at ? -1 : 1))
  return {
    ...{schema, created_at: created[0]!, argv: withoutFolder(argv, ['--shard']), plan, machine},
    merged: machinesOf(shards),
    line_checksum: LINE_CHECKSUM,
    ...(sessions.length > 0 && {sessions}),
  }
}

function warnOf(
  {shards, records, foreign}: Pick<MergedRun, 'shards' | 'records'> & {foreign: number},
  warn: (text: string) => void,
): void {
  if (foreign > 0) {
    warn(
      `left out: ${plural(foreign, 'record')} outside this plan, or with the key of another cell`,
    )
  }
  const commits = new Set(shards.flatMap(({manifest}) => manifest.machine.commit ?? []))
  if (commits.size > 1) {
    warn(
      `shards were made by rfa at commits ${[...commits].join(' and ')}: if results changed between them, their records are not comparable`,
    )
  }
  const ways = new Set(records.flatMap(wayOf))
  if (ways.size > 1) {
    warn(
      `cells were computed by ${[...ways].join(' and ')}: they may differ in their last digits; each record names its backend`,
    )
  }
}

/**
 * Writes the folder of the merged run.
 *
 * @throws {FILE_MISSING} where cells are missing, unless that is wanted, naming them and what runs them
 * @throws {WOULD_OVERWRITE} {NOT_WRITABLE} for the folder
 * @throws {FaultyRun} the same after the last record, with the records
 */
export async function writeMerged(
  merged: MergedRun,
  options: MergeOptions,
): Promise<ExperimentRun> {
  const {records, missing} = merged
  if (missing.length > 0 && !options.partial) throw await incomplete(merged)
  const {directory: place} = options
  const directory = typeof place === 'string' ? place : await place()
  const argv = [...merged.manifest.argv, '--output', directory]
  const manifest = {...merged.manifest, argv}
  const journal = await newFolder(directory, manifest)
  try {
    await journal.appendAll(records)
    const planned = {
      experiment: await experimentNamed(manifest.plan.experiment),
      plan: manifest.plan,
    }
    const run = await runOf(planned, {directory, manifest, records: [...records]})
    await planned.experiment.save?.(run.records, directory)
    if (missing.length === 0) await saveTables(planned, run, options, journal)
    return run
  } finally {
    await journal.close()
  }
}

async function newFolder(directory: string, manifest: RunManifest): Promise<Journal> {
  try {
    return await createMergedRun(directory, manifest, await allExperiments())
  } catch (error) {
    if (!(error instanceof RfaError) || error.code !== 'WOULD_OVERWRITE') throw error
    // a run that is there is not gone on with by merging into it
    const suggestions = ['choose another `output`']
    throw new RfaError(error.code, error.message, {suggestions, cause: error})
  }
}

/** Cells, and commands, that one message names. */
const MOST_NAMED = 5

async function incomplete({shards, manifest, records, missing}: MergedRun): Promise<RfaError> {
  const labels = await planLabels(manifest.plan, missing.slice(0, MOST_NAMED))
  const more = missing.length - labels.length
  const names = [...labels, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
  const ended = endedRecords(records).length
  const what = `a record of each of the ${plural(ended + missing.length, 'cell')} of the plan`
  const got = `${ended}; missing: ${names}`
  const other = 'merge what there is with --partial; --resume then runs the rest in one place'
  return expected('FILE_MISSING', 'merge', what, got, ...advice(shards), other)
}

/** What would make the missing records: shards that have none yet, then those that have not ended. */
function advice(shards: readonly SavedShard[]): string[] {
  const {count} = shards[0]!.manifest.shard
  const there = new Set(shards.map(({manifest}) => manifest.shard.index))
  const absent = Array.from({length: count}, (_, at) => at + 1).filter(index => !there.has(index))
  const named = absent.slice(0, MOST_NAMED).map(index => shardText({index, count}))
  const others = absent.length - named.length
  const which = `${named.join(', ')}${others > 0 ? ` and ${others} more` : ''}`
  const [shardWord, them] =
    absent.length === 1 ? ['the folder of shard', 'it'] : ['the folders of shards', 'them']
  const unfinished = shards.filter(
    ({manifest, records}) => endedRecords(records).length < manifest.shard.cells,
  )
  return [
    ...(absent.length > 0 ? [`name ${shardWord} ${which}, too, or run ${them} with --shard`] : []),
    ...unfinished.slice(0, MOST_NAMED).map(({directory, manifest: {argv, shard}, records}) => {
      const has = `${directory} has ${endedRecords(records).length} of ${shard.cells} cells`
      return `${has}, continue with: ${resumeLine(argv, directory)}`
    }),
  ]
}
