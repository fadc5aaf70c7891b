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
import {parseWith, schemaOf, unknownSchema} from './parse-record.js'
import {firstDifference} from './plan-difference.js'
import type {AnyRecord} from './schemas/index.js'
import {type AnyPlan, MANIFEST_SCHEMA, type RunManifest, runManifest} from './schemas/manifest.js'

/** The manifest's file name inside a run directory. */
export const MANIFEST_FILE = 'manifest.json'

/** What a run directory is made for. */
export interface RunRequest {
  directory: string
  plan: AnyPlan
  /** The command as typed, for the manifest. */
  command: string
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
  records: AnyRecord[]
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
  const {directory, plan, command} = request
  await examine(request)
  await makeFolder(directory)
  const lock = await lockDirectory(directory)
  try {
    // once more: another process may have come first
    const saved = await examine(request)
    const manifest = saved ?? (await newManifest(plan, command))
    if (saved) await requireSameOrigin(directory, saved)
    await lock.check()
    if (!saved) await writeManifest(directory, manifest)
    await lock.check()
    await removeLeftovers(directory, LOCK_FILE)
    const journal = await openJournal(directory, lock)
    return {manifest, journal, resumed: saved !== undefined}
  } catch (error) {
    await lock.release()
    throw error
  }
}

/**
 * Reads a run directory, finished or not; nothing in it is touched.
 *
 * @throws {FILE_MISSING} when there is no such directory, or it holds no run
 * @throws {BAD_FILE} {UNKNOWN_SCHEMA} when it cannot be read
 */
export async function openRun(directory: string): Promise<SavedRun> {
  const manifest = await readManifest(directory)
  if (!manifest) {
    const there = await stat(directory).catch(() => undefined)
    const got = there?.isDirectory() ? `one without ${MANIFEST_FILE}` : there ? 'a file' : 'nothing'
    const remedy = `name a folder that rfa has written, with ${MANIFEST_FILE} and ${JOURNAL_FILE}`
    throw expected('FILE_MISSING', directory, 'the directory of a run', got, remedy)
  }
  return {manifest, records: newest(await readRecords(directory))}
}

function writeManifest(directory: string, manifest: RunManifest): Promise<void> {
  return writeAtomic(join(directory, MANIFEST_FILE), `${JSON.stringify(manifest, null, 2)}\n`)
}

/** A manifest of a run that begins now, on this machine. */
export async function newManifest(plan: AnyPlan, command: string): Promise<RunManifest> {
  return {
    schema: MANIFEST_SCHEMA,
    created_at: new Date().toISOString(),
    command,
    plan,
    machine: await machineFacts(),
  }
}

/** The manifest of the run to go on with, `undefined` where a new run may start; refuses the rest. */
async function examine({directory, plan, resume}: RunRequest): Promise<RunManifest | undefined> {
  const entries = await entriesOf(directory)
  const manifest = entries.includes(MANIFEST_FILE) ? await readManifest(directory) : undefined
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
    ...(manifest ? ['add --resume to go on with that run'] : []),
    'choose another --output',
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

async function readManifest(directory: string): Promise<RunManifest | undefined> {
  const path = join(directory, MANIFEST_FILE)
  await requireRegularFile(path)
  const text = await readFile(path, 'utf8').catch(error => {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return undefined
    throw unreadable(path, error)
  })
  if (text === undefined) return undefined
  const value = parseJson(path, text)
  const schema = schemaOf(value)
  if (schema !== MANIFEST_SCHEMA) throw unknownSchema(path, schema, [MANIFEST_SCHEMA])
  return parseWith(runManifest, value, path, 'the manifest of a run')
}

function requireSamePlan(directory: string, saved: AnyPlan, asked: AnyPlan): void {
  const difference = firstDifference(saved, asked)
  if (difference)
    throw mismatch(directory, 'plan', difference.path, difference.left, difference.right)
}

/**
 * One manifest speaks for all records of a run, so all must come from the code that it names, and times
 * from its processor, used in the same way.
 */
async function requireSameOrigin(directory: string, {machine, plan}: RunManifest): Promise<void> {
  const here = await machineFacts()
  for (const field of originFields(plan)) {
    const [saved, now] = [machine[field], here[field]]
    if (saved === undefined || saved === now) continue
    throw mismatch(directory, 'machine', field, saved ?? 'none', now ?? 'none')
  }
}

function originFields({experiment, backend}: AnyPlan): ('rfa' | 'cpu' | 'instruction_set')[] {
  if (experiment !== 'bench') return ['rfa']
  return ['auto', 'native'].includes(backend) ? ['rfa', 'cpu', 'instruction_set'] : ['rfa', 'cpu']
}

function mismatch(directory: string, what: string, field: string, saved: string, asked: string) {
  return expected(
    'PLAN_MISMATCH',
    directory,
    `the ${what} that this run was started with, ${field} ${saved}`,
    `${field} ${asked}`,
    'choose another --output to start a new run',
  )
}
