import {readdir, readFile, stat} from 'node:fs/promises'
import {join} from 'node:path'
import {expected} from '../../errors.js'
import {errorCode, notWritable, writeAtomic} from '../../files.js'
import {unusedArrays} from '../../inputs/other-arrays.js'
import {A_FOLDER, makeFolder, parseJson, requireRegularFile, unreadable} from '../files.js'
import {type Journal, LOCK_FILE, lockDirectory, openJournal} from '../journal/journal.js'
import {LINE_CHECKSUM} from '../journal/journal-line.js'
import {JOURNAL_FILE, newest, type ReadOptions, readRecords} from '../journal/journal-reader.js'
import {parseWith, schemaOf, unknownSchema} from '../journal/parse-record.js'
import {planHash} from '../keys.js'
import {GUARD_ENDING, type Lock} from '../lock/lock.js'
import type {CellRecord, Plan, StoredExperiment} from '../record.js'
import {removeLeftovers} from './leftovers.js'
import {machineFacts} from './machine.js'
import {
  EARLIER_MANIFEST_SCHEMA,
  MANIFEST_SCHEMA,
  type Machine,
  type RunManifest,
  runManifest,
} from './manifest.js'
import {comparePlugins} from './plugins.js'
import {extensionOf, mismatch, ownerOf, type PlanCells} from './resume.js'
import {type Shard, type ShardOfRun, shardText} from './shard.js'

/** The manifest's file name inside a run directory. */
export const MANIFEST_FILE = 'manifest.json'

export interface RunRequest extends PlanCells {
  directory: string
  /** Experiments with records that this version reads, the one of the plan included. */
  experiments: readonly StoredExperiment[]
  plan: Plan
  /** Which part of the plan is run. Default: all of it */
  shard?: ShardOfRun | undefined
  /** The command, word by word, for the manifest. */
  argv: readonly string[]
  /** `true`: continue the run that is there, if there is one; `false`: refuse it. */
  resume: boolean
}

/** A run directory open for writing: close the journal when done. */
export interface OpenRun {
  manifest: RunManifest
  journal: Journal
  /** Whether it was there already. */
  resumed: boolean
  /** Number of the cells that it had, where it is extended by this plan. */
  extended: number | undefined
}

/** A run directory as reports read it. */
export interface SavedRun {
  manifest: RunManifest
  /** The newest record of each cell, in the order in which cells first ended. */
  records: CellRecord[]
}

/**
 * Makes a run directory, or opens the one there to continue it. All checks come before anything is written or
 * computed. Files of a process that was killed at its very start are not a run yet. A plan with all cells of the
 * run there, and others, replaces its plan; the manifest keeps the first command, and its session has the command
 * of the larger plan.
 *
 * @throws {WOULD_OVERWRITE} when the directory holds anything but a run to continue; nothing in it is touched
 * @throws {PLAN_MISMATCH} when this plan changes or drops cells of the run there, or the run is another shard, by
 * another version of rfa or, for comparable times, on another processor
 * @throws {NOT_WRITABLE} when the directory cannot be made or written, or another rfa writes into it
 * @throws {BAD_FILE} {UNKNOWN_SCHEMA} when the run there cannot be read
 */
export async function createRun(request: RunRequest): Promise<OpenRun> {
  const {experiments, plan} = request
  return openOrMake(request, () => newManifest(request, ownerOf(plan, experiments)))
}

/** A directory without a run to continue asks for no cells. */
const NO_CELLS: PlanCells = {keysOf: async () => [], labelsOf: async () => []}

/**
 * Makes the directory of a run that was made elsewhere.
 *
 * @throws what {@link createRun} throws of a directory that is not new or empty
 */
export async function createMergedRun(
  directory: string,
  manifest: RunManifest,
  experiments: readonly StoredExperiment[],
): Promise<Journal> {
  const {plan, argv} = manifest
  const request = {directory, experiments, plan, argv, resume: false, ...NO_CELLS}
  return (await openOrMake(request, async () => manifest)).journal
}

async function openOrMake(request: RunRequest, make: () => Promise<RunManifest>): Promise<OpenRun> {
  const {directory} = request
  await examine(request)
  await makeFolder(directory)
  const lock = await lockDirectory(directory)
  try {
    // once more: another process may have come first
    const saved = await examine(request)
    if (saved) return await goOn(request, saved, lock)
    const manifest = await make()
    await lock.check()
    await writeManifest(directory, manifest)
    const journal = await openLocked(request, manifest, lock)
    return {manifest, journal, resumed: false, extended: undefined}
  } catch (error) {
    await lock.release()
    throw error
  }
}

/**
 * Looks at a run directory as {@link createRun} does, and writes nothing.
 *
 * @returns the run that a request would continue, `undefined` where it would start one
 * @throws what {@link createRun} throws of a directory that it has read
 */
export async function examineRun(request: RunRequest): Promise<SavedRun | undefined> {
  const {directory, experiments} = request
  const saved = await examine(request)
  if (!saved) return undefined
  const {manifest} = saved
  requireSameOrigin(request, manifest, await machineFacts({timed: false}))
  const how = {checked: isChecked(manifest), onDamage: () => {}} // cells of damaged lines run again
  return {manifest, records: newest(await readRecords(directory, experiments, how))}
}

/** Opens what is there; its manifest is replaced last, so that nothing is left half done. */
async function goOn(request: RunRequest, saved: Found, lock: Lock): Promise<OpenRun> {
  const here = await machineFacts({timed: false})
  requireSameOrigin(request, saved.manifest, here)
  const manifest = continued(request, saved, here)
  const journal = await openLocked(request, manifest, lock)
  try {
    if (manifest !== saved.manifest) {
      await journal.check()
      await writeManifest(request.directory, manifest)
    }
    return {manifest, journal, resumed: true, extended: saved.extended}
  } catch (error) {
    await journal.close()
    throw error
  }
}

async function openLocked(
  {directory, experiments}: RunRequest,
  manifest: RunManifest,
  lock: Lock,
): Promise<Journal> {
  await lock.check()
  await removeLeftovers(directory, LOCK_FILE)
  return openJournal(directory, experiments, {lock, checked: isChecked(manifest)})
}

function isChecked({line_checksum}: RunManifest): boolean {
  return line_checksum !== undefined
}

/** The manifest of a run with this session, where that is worth telling. */
function continued(
  {plan, argv}: RunRequest,
  {manifest, extended}: Found,
  here: Machine,
): RunManifest {
  const {sessions = [], machine} = manifest
  const {commit, instruction_set = null} = here
  const before = sessions.at(-1) ?? machine
  const {instruction_set: earlier = instruction_set} = before
  const isExtended = extended !== undefined
  if (!isExtended && before.commit === commit && earlier === instruction_set) return manifest
  const session = {
    started_at: new Date().toISOString(),
    argv: [...argv],
    commit,
    instruction_set,
    extended: isExtended,
  }
  return {...manifest, ...(isExtended && {plan}), sessions: [...sessions, session]}
}

/**
 * Reads a run directory, finished or not; nothing in it is touched.
 *
 * @param experiments - those with runs that this version reads
 * @param options - `wholeUpTo`: bytes of a journal beyond which records lack their heavy lists
 * @throws {FILE_MISSING} when there is no such directory, or it holds no run
 * @throws {BAD_FILE} {UNKNOWN_SCHEMA} when it cannot be read
 */
export async function openRun(
  directory: string,
  experiments: readonly StoredExperiment[],
  {wholeUpTo}: Pick<ReadOptions, 'wholeUpTo'> = {},
): Promise<SavedRun> {
  const manifest = await readManifest(directory, experiments)
  if (!manifest) {
    const there = await stat(directory).catch(() => undefined)
    const got = there?.isDirectory()
      ? `one without ${MANIFEST_FILE}`
      : there
        ? 'a file'
        : 'no such folder'
    const remedy = `name a folder that rfa has written, with ${MANIFEST_FILE} and ${JOURNAL_FILE}`
    throw expected('FILE_MISSING', directory, 'the directory of a run', got, remedy)
  }
  const checked = isChecked(manifest)
  return {
    manifest,
    records: newest(await readRecords(directory, experiments, {checked, wholeUpTo})),
  }
}

function writeManifest(directory: string, manifest: RunManifest): Promise<void> {
  return writeAtomic(join(directory, MANIFEST_FILE), `${JSON.stringify(manifest, null, 2)}\n`)
}

/** A manifest of a run that begins now, on this machine. */
export async function newManifest(
  {plan, argv, shard}: Pick<RunRequest, 'plan' | 'argv' | 'shard'>,
  experiment: Pick<StoredExperiment, 'isolation'>,
): Promise<RunManifest> {
  const unused = plan.input ? await unusedArrays(plan.input).catch(() => []) : [] // reading it says what is wrong
  return {
    schema: MANIFEST_SCHEMA,
    created_at: new Date().toISOString(),
    argv: [...argv],
    plan,
    ...(shard && {shard}),
    ...(unused.length > 0 && {unused_arrays: unused}),
    machine: await machineFacts({timed: experiment.isolation === 'fresh'}),
    line_checksum: LINE_CHECKSUM,
  }
}

/** The run to continue. */
interface Found {
  manifest: RunManifest
  /** Number of its cells, where the plan asked for has more. */
  extended: number | undefined
}

/** The run to continue, `undefined` where a new one may start; refuses the rest. */
async function examine(request: RunRequest): Promise<Found | undefined> {
  const {directory, experiments, resume, plan} = request
  const entries = await entriesOf(directory)
  const manifest = entries.includes(MANIFEST_FILE)
    ? await readManifest(directory, experiments)
    : undefined
  if (manifest && resume) {
    const {plugins} = manifest.plan
    comparePlugins(directory, plugins, plan.plugins)
    // the same may stand at another path now
    const asked = plugins ? {...request, plan: {...plan, plugins}} : request
    compareShards(asked, manifest)
    const extended = await extensionOf(asked, manifest.plan)
    if (manifest.shard) requireSamePlan(asked, manifest)
    return {manifest, extended}
  }
  if (entries.length === 0) return undefined
  throw expected(
    'WOULD_OVERWRITE',
    directory,
    resume ? 'the directory of a run, or a new or empty one' : 'a new or empty directory',
    manifest ? 'one that holds a run' : `one that holds other files (${entries[0]})`,
    ...(manifest ? ['add `resume` to continue that run'] : []),
    'choose another `output`',
  )
}

/** What a directory holds, without the leftovers of a process that was killed at its very start. */
async function entriesOf(directory: string): Promise<string[]> {
  try {
    const names = await readdir(directory)
    return names.filter(name => !isOfLock(name) && !name.endsWith('.tmp')).sort()
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return []
    throw notWritable(directory, error, A_FOLDER)
  }
}

/** Whether a file is the lock, or what guarded its takeover. */
function isOfLock(name: string): boolean {
  return name === LOCK_FILE || (name.startsWith(LOCK_FILE) && name.endsWith(GUARD_ENDING))
}

/**
 * The manifest of the run in a directory, `undefined` where there is none.
 *
 * @throws {BAD_FILE} {UNKNOWN_SCHEMA} when it cannot be read
 */
export async function readManifest(
  directory: string,
  experiments: readonly StoredExperiment[],
): Promise<RunManifest | undefined> {
  const path = join(directory, MANIFEST_FILE)
  await requireRegularFile(path)
  const text = await readFile(path, 'utf8').catch(error => {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return undefined
    throw unreadable(path, error)
  })
  if (text === undefined) return undefined
  const value = asPresentManifest(parseJson(path, text))
  const schema = schemaOf(value)
  if (schema !== MANIFEST_SCHEMA) throw unknownSchema(path, schema, [MANIFEST_SCHEMA])
  return parseWith(runManifest(experiments), value, path, 'the manifest of a run')
}

/** A manifest of the earlier format as one of the present one. Quoted text stays one word. */
function asPresentManifest(value: unknown): unknown {
  if (schemaOf(value) !== EARLIER_MANIFEST_SCHEMA) return value
  const {command, ...rest} = value as {command: unknown}
  if (typeof command !== 'string') return value
  const argv = /['"\\]/.test(command) ? [command] : command.split(' ')
  return {...rest, schema: MANIFEST_SCHEMA, argv}
}

/**
 * One manifest speaks for all records of a run, so all must come from the code that it names, and times
 * from its processor, used in the same way.
 */
function requireSameOrigin(
  {directory, experiments}: RunRequest,
  {machine, plan}: RunManifest,
  here: Machine,
): void {
  const experiment = ownerOf(plan, experiments)
  for (const field of originFields(experiment, plan)) {
    const [saved, now] = [machine[field], here[field]]
    if (saved === undefined || saved === now) continue
    throw mismatch(directory, 'machine', `${field} ${saved ?? 'none'}`, `${field} ${now ?? 'none'}`)
  }
}

/** A part of a plan is gone on with as that part. */
function compareShards({directory, shard}: RunRequest, saved: RunManifest): void {
  const [before, now] = [shardName(saved.shard), shardName(shard)]
  if (before !== now) throw mismatch(directory, 'part of the plan', before, now)
}

/** Another plan may be dealt otherwise: cells of this shard would be those of another. */
function requireSamePlan({directory, plan}: RunRequest, saved: RunManifest): void {
  if (planHash(saved.plan) === planHash(plan)) return
  const what = `the plan that ${shardName(saved.shard)} was started with`
  const got = 'one with more cells, or in another order, which is dealt anew'
  throw expected('PLAN_MISMATCH', directory, what, got, 'run the larger plan in new folders')
}

function shardName(shard: Shard | undefined): string {
  return shard ? `shard ${shardText(shard)}` : 'all of it'
}

/** What all of one run must have in common: see {@link requireSameOrigin}. */
export function originFields(
  {isolation}: StoredExperiment,
  {backend}: Plan,
): ('rfa' | 'cpu' | 'instruction_set')[] {
  if (isolation === 'shared') return ['rfa']
  const ours = [backend].flat().some(name => name === 'auto' || name === 'native')
  return ours ? ['rfa', 'cpu', 'instruction_set'] : ['rfa', 'cpu']
}
