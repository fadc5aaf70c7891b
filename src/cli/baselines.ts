/** Saved baselines: copies of the runs that later ones are compared with, by name. */
import {copyFile, mkdir, readdir, readFile, rename, rm, stat} from 'node:fs/promises'
import {join} from 'node:path'
import {z} from 'zod'
import {closest, describe, expected, RfaError} from '../errors.js'
import {errorCode, notWritable, temporaryOf, writeAtomic} from '../files.js'
import {A_FOLDER, makeFolder, requireRegularFile} from '../results/files.js'

/** Marks a folder as a baseline, which another one of its name may replace. */
const MARK_FILE = 'baseline.json'
const mark = z.object({schema: z.literal('rfa.baseline/1')})

/** What a run folder needs to be read. */
const FILES = ['manifest.json', 'records.jsonl']

/** A name of a folder on any system: nothing that leads out of it or hides it, no dot at the end, which Windows drops. */
const NAME = /^[A-Za-z0-9_]([\w.+-]{0,98}[\w+-])?$/
/** What Windows takes for devices, whatever their ending. */
const DEVICES = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i

/** Folder of all baselines: `RFA_BASELINES`, or below the results. */
export function baselinesFolder(environment: NodeJS.ProcessEnv): string {
  return environment.RFA_BASELINES || join('results', 'baselines')
}

/** The name, if it is one. @throws {USAGE} */
export function baselineName(text: string, where: string): string {
  if (NAME.test(text) && !DEVICES.test(text)) return text
  const what = DEVICES.test(text)
    ? 'a name that no system has for a device'
    : 'a name of letters, digits, dots, dashes and underscores, 100 at most, no dot or dash first and no dot last'
  throw expected('USAGE', where, what, describe(text), ...insteadOfSwitch(text))
}

/** What `--baseline no` was to say before the flag took a name. */
function insteadOfSwitch(text: string): string[] {
  return /^(false|no|off|0)$/i.test(text) ? ['--no-exact leaves the exact forms out'] : []
}

/** The folder of a saved baseline. @throws {FILE_MISSING} telling which there are */
export async function savedBaseline(root: string, name: string): Promise<string> {
  await restore(root)
  const folder = join(root, name)
  if (await isBaseline(folder)) return folder
  throw missing(root, name, await baselinesIn(root))
}

function missing(root: string, name: string, names: readonly string[]): RfaError {
  const guess = closest(name, names)
  return expected(
    'FILE_MISSING',
    '--baseline',
    names.length === 0
      ? `a saved baseline, of which ${root} has none`
      : `one of the baselines in ${root}: ${names.join(', ')}`,
    describe(name),
    ...(guess === undefined ? [] : [`did you mean ${guess}?`]),
    ...insteadOfSwitch(name),
    `save one first: --save-baseline ${name}`,
  )
}

async function baselinesIn(root: string): Promise<string[]> {
  const names = await readdir(root).catch(() => [])
  const found: string[] = []
  for (const name of names.sort()) {
    if (NAME.test(name) && (await isBaseline(join(root, name)))) found.push(name)
  }
  return found
}

async function isBaseline(folder: string): Promise<boolean> {
  const path = join(folder, MARK_FILE)
  try {
    await requireRegularFile(path)
    const text = await readFile(path, 'utf8')
    return mark.safeParse(JSON.parse(text)).success
  } catch {
    return false
  }
}

/** Makes sure that a baseline may be saved under a name. @throws {WOULD_OVERWRITE} where something else has it */
export async function checkSavable(root: string, name: string): Promise<void> {
  await restore(root)
  const folder = join(root, name)
  if (await isBaseline(folder)) return
  const there = await stat(folder).catch(() => undefined)
  if (there === undefined) return
  if (there.isDirectory() && (await readdir(folder)).length === 0) return
  const got = `${folder}, which is none`
  const remedies = ['choose another name', 'or another folder for all: RFA_BASELINES']
  throw expected('WOULD_OVERWRITE', '--save-baseline', 'a baseline or nothing', got, ...remedies)
}

/**
 * Saves a run as a baseline, in the place of one of that name.
 *
 * @param directory - of the run
 * @throws {WOULD_OVERWRITE} where something else has the name
 * @throws {NOT_WRITABLE}
 */
export async function saveBaseline(root: string, name: string, directory: string): Promise<string> {
  await checkSavable(root, name)
  await makeFolder(root)
  const folder = join(root, name)
  const fresh = temporaryOf(join(root, `.${name}`))
  try {
    await mkdir(fresh)
    for (const file of FILES) await copyFile(join(directory, file), join(fresh, file))
    const facts = {schema: 'rfa.baseline/1', name, saved_at: new Date().toISOString(), directory}
    await writeAtomic(join(fresh, MARK_FILE), `${JSON.stringify(facts, null, 2)}\n`)
    await replaceFolder(folder, fresh)
  } catch (error) {
    throw error instanceof RfaError ? error : notWritable(folder, error, A_FOLDER)
  } finally {
    await rm(fresh, {recursive: true, force: true})
  }
  return folder
}

/** Ending of a baseline that is being replaced. */
const ASIDE = '.old'
/** Its whole name, with that of the baseline in it. */
const ASIDE_NAME = /^\.(.+)\.\d+-[0-9a-f]{8}\.tmp\.old$/

/** Puts baselines back that a process moved aside and was killed before it replaced them; replaced ones are deleted. */
async function restore(root: string): Promise<void> {
  for (const aside of await readdir(root).catch(() => [])) {
    const [, name = ''] = ASIDE_NAME.exec(aside) ?? []
    if (!NAME.test(name)) continue
    const own = join(root, aside)
    if (await stat(join(root, name)).catch(() => undefined)) {
      await rm(own, {recursive: true, force: true})
    } else await rename(own, join(root, name)).catch(ignoreMissing)
  }
}

/** How often a folder is put in the place of one that {@link restore} of another process brings back. */
const MOST_TRIES = 3

/** Puts a folder in the place of another one, which comes back where that fails. */
async function replaceFolder(folder: string, fresh: string, tries = MOST_TRIES): Promise<void> {
  const old = `${fresh}${ASIDE}`
  await rename(folder, old).catch(ignoreMissing)
  try {
    await rename(fresh, folder)
  } catch (error) {
    await rename(old, folder).catch(ignoreMissing)
    if (tries > 1 && errorCode(error) === 'ENOTEMPTY')
      return replaceFolder(folder, fresh, tries - 1)
    throw error
  }
  await rm(old, {recursive: true, force: true})
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}
