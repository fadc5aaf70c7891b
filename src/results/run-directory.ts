import {readdir, readFile, stat} from 'node:fs/promises'
import {join} from 'node:path'
import {expected} from '../errors.js'
import {errorCode, notWritable, writeAtomic} from '../files.js'
import {makeFolder, parseJson, requireRegularFile, unreadable} from './files.js'
import {
  JOURNAL_FILE,
  type Journal,
  LOCK_FILE,
  lockDirectory,
  newest,
  openJournal,
  readRecords,
} from './journal.js'
import {removeLeftovers} from './leftovers.js'
import {GUARD_ENDING} from './lock.js'
import {machineFacts} from './machine.js'
import {
  EARLIER_MANIFEST_SCHEMA,
  MANIFEST_SCHEMA,
  type RunManifest,
  runManifest,
} from './manifest.js'
import {parseWith, schemaOf, unknownSchema} from './parse-record.js'
import {firstDifference} from './plan-difference.js'
import type {CellRecord, Plan, StoredExperiment} from './record.js'

/** The manifest's file name inside a run directory. */
const MANIFEST_FILE = 'manifest.json'

/** What a run directory is made for. */
export interface RunRequest {
  directory: string
  /** Whose records this version reads, that of the plan among them. */
  experiments: readonly StoredExperiment[]
  plan: Plan
  /** The command, word by word, for the manifest. */
  argv: readonly string[]
  /** Go on with the run that is there, if there is one; else one that is there is refused. */
  resume: boolean
}

/** A run directory open for writing: close the journal when done. */
export interface OpenRun {
  manifest: RunManifest
  journal: Journal
  /** Whether it was there already. */
  resumed: boolean
}

/** A run directory as reports read it. */
export interface SavedRun {
  manifest: RunManifest
  /** The newest record of each cell, in the order in which cells first ended. */
  records: CellRecord[]
}

/**
 * Makes a run directory, or opens the one there to go on with it. All that can be refused is refused
 * before anything is written or computed. What a process killed at its very start left is no run yet.
 *
 * @throws {WOULD_OVERWRITE} when the directory holds something else than a run to go on with; nothing
 *   in it is touched
 * @throws {PLAN_MISMATCH} when the run there was started with another plan, by another version of
 *   rfa or, for times to be compared, on another processor
 * @throws {NOT_WRITABLE} when the directory cannot be made or written, or another rfa writes into it
 * @throws {BAD_FILE} {UNKNOWN_SCHEMA} when the run there cannot be read
 */
export async function createRun(request: RunRequest): Promise<OpenRun> {
  const {directory, experiments, plan, argv} = request
  await examine(request)
  await makeFolder(directory)
  const lock = await lockDirectory(directory)
  try {
    // once more: another process may have come first
    const saved = await examine(request)
    const manifest = saved ?? (await newManifest(plan, argv, ownerOf(plan, experiments)))
    if (saved) await requireSameOrigin(request, saved)
    await lock.check()
    if (!saved) await writeManifest(directory, manifest)
    await lock.check()
    await removeLeftovers(directory, LOCK_FILE)
    const journal = await openJournal(directory, experiments, lock)
    return {manifest, journal, resumed: saved !== undefined}
  } catch (error) {
    await lock.release()
    throw error
  }
}

/**
 * Reads a run directory, finished or not; nothing in it is touched.
 *
 * @param experiments - whose runs this version reads
 * @throws {FILE_MISSING} when there is no such directory, or it holds no run
 * @throws {BAD_FILE} {UNKNOWN_SCHEMA} when it cannot be read
 */
export async function openRun(
  directory: string,
  experiments: readonly StoredExperiment[],
): Promise<SavedRun> {
  const manifest = await readManifest(directory, experiments)
  if (!manifest) {
    const there = await stat(directory).catch(() => undefined)
    const got = there?.isDirectory() ? `one without ${MANIFEST_FILE}` : there ? 'a file' : 'nothing'
    const remedy = `name a folder that rfa has written, with ${MANIFEST_FILE} and ${JOURNAL_FILE}`
    throw expected('FILE_MISSING', directory, 'the directory of a run', got, remedy)
  }
  return {manifest, records: newest(await readRecords(directory, experiments))}
}

function writeManifest(directory: string, manifest: RunManifest): Promise<void> {
  return writeAtomic(join(directory, MANIFEST_FILE), `${JSON.stringify(manifest, null, 2)}\n`)
}

/** A manifest of a run that begins now, on this machine. */
export async function newManifest(
  plan: Plan,
  argv: readonly string[],
  experiment: Pick<StoredExperiment, 'isolation'>,
): Promise<RunManifest> {
  return {
    schema: MANIFEST_SCHEMA,
    created_at: new Date().toISOString(),
    argv: [...argv],
    plan,
    machine: await machineFacts({timed: experiment.isolation === 'fresh'}),
  }
}

/** The manifest of the run to go on with, `undefined` where a new run may start; refuses the rest. */
async function examine({
  directory,
  experiments,
  plan,
  resume,
}: RunRequest): Promise<RunManifest | undefined> {
  const entries = await entriesOf(directory)
  const manifest = entries.includes(MANIFEST_FILE)
    ? await readManifest(directory, experiments)
    : undefined
  if (manifest && resume) {
    requireSamePlan(directory, manifest.plan, plan)
    return manifest
  }
  if (entries.length === 0) return undefined
  throw expected(
    'WOULD_OVERWRITE',
    directory,
    resume ? 'the directory of a run, or a new or empty one' : 'a new or empty directory',
    manifest ? 'one that holds a run' : `one that holds other files (${entries[0]})`,
    ...(manifest ? ['add `resume` to go on with that run'] : []),
    'choose another `output`',
  )
}

/** What a directory holds beside what a process killed at its very start leaves behind. */
async function entriesOf(directory: string): Promise<string[]> {
  try {
    const names = await readdir(directory)
    return names.filter(name => !isOfLock(name) && !name.endsWith('.tmp')).sort()
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return []
    throw notWritable(directory, error)
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

/** A manifest of the earlier format as one of the present one. What quotes bind stays one word, which is no command. */
function asPresentManifest(value: unknown): unknown {
  if (schemaOf(value) !== EARLIER_MANIFEST_SCHEMA) return value
  const {command, ...rest} = value as {command: unknown}
  if (typeof command !== 'string') return value
  const argv = /['"\\]/.test(command) ? [command] : command.split(' ')
  return {...rest, schema: MANIFEST_SCHEMA, argv}
}

function requireSamePlan(directory: string, saved: Plan, asked: Plan): void {
  const difference = firstDifference(saved, asked)
  if (difference)
    throw mismatch(directory, 'plan', difference.path, difference.left, difference.right)
}

/**
 * One manifest speaks for all records of a run, so all must come from the code that it names, and times
 * from its processor, used in the same way.
 */
async function requireSameOrigin(
  {directory, experiments}: RunRequest,
  {machine, plan}: RunManifest,
): Promise<void> {
  const experiment = ownerOf(plan, experiments)
  const here = await machineFacts({timed: false})
  for (const field of originFields(experiment, plan)) {
    const [saved, now] = [machine[field], here[field]]
    if (saved === undefined || saved === now) continue
    throw mismatch(directory, 'machine', field, saved ?? 'none', now ?? 'none')
  }
}

function ownerOf(plan: Plan, experiments: readonly StoredExperiment[]): StoredExperiment {
  return experiments.find(({name}) => name === plan.experiment)!
}

function originFields(
  {isolation}: StoredExperiment,
  {backend}: Plan,
): ('rfa' | 'cpu' | 'instruction_set')[] {
  if (isolation === 'shared') return ['rfa']
  return ['auto', 'native'].includes(backend) ? ['rfa', 'cpu', 'instruction_set'] : ['rfa', 'cpu']
}

function mismatch(directory: string, what: string, field: string, saved: string, asked: string) {
  return expected(
    'PLAN_MISMATCH',
    directory,
    `the ${what} that this run was started with, ${field} ${saved}`,
    `${field} ${asked}`,
    'choose another `output` to start a new run',
  )
}
