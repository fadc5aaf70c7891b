/** Plug-ins: ES modules of others that bring estimators. */
import {realpath, stat} from 'node:fs/promises'
import {createRequire} from 'node:module'
import {extname, isAbsolute, resolve} from 'node:path'
import {pathToFileURL} from 'node:url'
import type {Estimator} from '../attention/index.js'
import {describe, expected} from '../errors.js'
import {errorCode} from '../files.js'
import {commonJs, loadFault} from './faults.js'
import {importModule} from './import.js'
import {type PluginRecord, pluginDigest} from './record.js'
import {changedFile, notRecorded, pathInRecord, pinsOf, recordNow, sha256Of} from './recorded.js'
import {beginPlugin, filesImported, openDoors, refusedFile, sha256Loaded} from './resolution.js'

export interface LoadedPlugin {
  record: PluginRecord
  /** As it exports them. */
  estimators: readonly Estimator[]
}

/** Plug-ins by the paths of their files, without symbolic links. */
const loaded = new Map<string, Promise<LoadedPlugin>>()
/** Digests and paths of those that may be loaded because a plan has them. */
const trusted = new Set<string>()
/** The plug-ins by the names of their estimators, in small letters. */
const owners = new Map<string, string>()

const PYTHON = '.py'
const ENDINGS = ['.js', '.mjs', '.ts', '.mts', PYTHON]

/**
 * Loads a plug-in and registers its estimators, once in a process however often it is named. It is a program, and runs with
 * all rights of this one: a path comes from a person who named it, never from a plan alone.
 *
 * @param path - of an ES module with an estimator as default export, or with a list `estimators`
 * @param wanted - what it is to be: no other file, and no other content, is imported. Default: whatever is there
 * @throws {FILE_MISSING} where there is no file
 * @throws {FILE_CHANGED} where it is not `wanted`; nothing of what differs is imported
 * @throws {BAD_PLUGIN} for anything but such a module: a fault of syntax, imports that are not found, no estimator,
 * wrong facts or a name that is taken
 * @throws {PLUGIN_FAILED} for what it throws itself, and where its top level waits for ever
 */
export async function loadPlugin(path: string, wanted?: PluginRecord): Promise<LoadedPlugin> {
  const file = await pluginFile(path)
  const before = loaded.get(file)
  if (before) return before
  if (wanted) await requireRecorded(file, wanted)
  const loading = importPlugin(path, file, wanted)
  loaded.set(file, loading)
  return loading
}

/** What a recorded plug-in is at a path, which nothing imports. @throws {FILE_MISSING | BAD_PLUGIN} */
export async function pluginNow(path: string, wanted: PluginRecord): Promise<PluginRecord> {
  return {...(await recordNow(await pluginFile(path), wanted)), path: resolve(path)}
}

async function requireRecorded(file: string, wanted: PluginRecord): Promise<void> {
  const now = await recordNow(file, wanted)
  const changed = changedFile(wanted, now)
  if (changed !== undefined) throw notRecorded(wanted, changed, now)
}

/** Lets this process, a worker, load the plug-ins of a task: whoever gives it the task has had them named. */
export function trustPlugins(records: readonly PluginRecord[]): void {
  for (const record of records) trusted.add(idOf(record))
}

/**
 * Loads the plug-ins of a plan as they were when it was made; one that has been loaded is not read again. The features of
 * their next calls are looked at.
 *
 * @throws {FILE_CHANGED} where one is not the same any more; it is not imported then
 * @throws {BAD_PLUGIN} where it was not named
 */
export async function requirePlugins(records: readonly PluginRecord[]): Promise<void> {
  for (const wanted of records) {
    const there = loaded.get(await realpath(wanted.path).catch(() => wanted.path))
    if (!there && !trusted.has(idOf(wanted))) {
      throw expected('BAD_PLUGIN', wanted.path, 'a plug-in that was named', 'one of a plan alone')
    }
    const {record} = await (there ?? loadPlugin(wanted.path, wanted))
    if (pluginDigest(record) !== pluginDigest(wanted)) {
      throw notRecorded(wanted, changedFile(wanted, record) ?? wanted.path, record)
    }
  }
  const {lookAgain} = await import('../attention/internal.js')
  lookAgain()
}

function idOf(record: PluginRecord): string {
  return `${pluginDigest(record)} ${record.path}`
}

/** The file of a plug-in, without symbolic links. @throws {FILE_MISSING | BAD_PLUGIN} */
async function pluginFile(path: string): Promise<string> {
  const remedy = isAbsolute(path)
    ? 'check the path'
    : `relative to this folder it is ${resolve(path)}`
  const there = await stat(path).catch(error => {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return undefined
    throw expected('BAD_PLUGIN', path, 'a file that can be read', String(errorCode(error)))
  })
  if (!there)
    throw expected('FILE_MISSING', path, 'a plug-in, an ES module', 'no such file', remedy)
  if (!there.isFile()) {
    const got = there.isDirectory() ? 'a folder' : 'something else'
    throw expected('BAD_PLUGIN', path, 'the file of a plug-in', got, 'name the module in it')
  }
  const ending = extname(path)
  if (ending === '.cjs' || ending === '.cts') throw commonJs(path, `it ends in ${ending}`)
  if (!ENDINGS.includes(ending)) {
    const got = ending === '' ? 'one without ending' : `one ending in ${ending}`
    throw expected('BAD_PLUGIN', path, `a module ending in ${ENDINGS.join(', ')}`, got)
  }
  return realpath(path)
}

async function importPlugin(
  path: string,
  file: string,
  wanted: PluginRecord | undefined,
): Promise<LoadedPlugin> {
  openDoors()
  const {registerEstimators, wholeEstimator} = await import('../attention/internal.js')
  const {href: url} = pathToFileURL(file)
  lockMath()
  beginPlugin({url, pins: wanted && pinsOf(file, wanted)})
  try {
    const estimators = (await estimatorsOf(path, file, url)).map(wholeEstimator)
    const methods = estimators.map(({name}) => name)
    const record = await recordOf(resolve(path), file, methods)
    checkNames(methods, path)
    registerEstimators(estimators)
    for (const name of methods) owners.set(name.toLowerCase(), path)
    return {record, estimators}
  } catch (error) {
    const other = refusedFile()
    if (wanted && other !== undefined) throw notRecorded(wanted, pathInRecord(file, other))
    throw loadFault(path, error, [file, ...filesImported(file)])
  } finally {
    beginPlugin(undefined)
  }
}

async function estimatorsOf(path: string, file: string, url: string): Promise<readonly unknown[]> {
  if (extname(path) === PYTHON) {
    const {pythonEstimators} = await import('./python/estimators.js')
    return pythonEstimators(path, file)
  }
  const exported = await importModule(url)
  if (file in createRequire(import.meta.url).cache) {
    throw commonJs(path, 'it exports by module.exports, or nothing')
  }
  return exportedEstimators(exported)
}

/** Other methods compute with it, and so do tables: a module that assigns to any of it gets a TypeError. */
function lockMath(): void {
  const locked = {writable: false, configurable: false}
  for (const name of Reflect.ownKeys(Math)) Object.defineProperty(Math, name, locked)
  Object.defineProperty(globalThis, 'Math', locked)
}

/** What a module exports as estimators. @throws {BAD_PLUGIN} where that is nothing */
function exportedEstimators({default: one, estimators, ...others}: Record<string, unknown>) {
  const remedy = 'export default defineFeatureMap({...}), or export const estimators = [...]'
  if (estimators !== undefined && (!Array.isArray(estimators) || estimators.length === 0)) {
    const got = Array.isArray(estimators) ? 'an empty one' : describe(estimators)
    throw expected('BAD_PLUGIN', 'estimators', 'a list of estimators', got, remedy)
  }
  const all = [...(one === undefined ? [] : [one]), ...((estimators as unknown[]) ?? [])]
  if (all.length > 0) return [...new Set(all)]
  const names = Object.keys(others)
  const got = names.length === 0 ? 'no export' : `exports ${names.join(', ')}`
  throw expected('BAD_PLUGIN', 'exports', 'a default export, an estimator', got, remedy)
}

/** @throws {BAD_PLUGIN} where another plug-in has one of the names, or two estimators have the same */
function checkNames(names: readonly string[], path: string): void {
  const plain = names.map(name => name.toLowerCase())
  for (const [index, name] of names.entries()) {
    const owner = plain.indexOf(plain[index]!) < index ? path : owners.get(plain[index]!)
    if (owner === undefined) continue
    const got = owner === path ? 'two of them' : `the name of one of ${owner}`
    const what = 'a name that no other estimator has'
    throw expected('BAD_PLUGIN', name, what, got, 'rename one of them')
  }
}

async function recordOf(path: string, file: string, methods: string[]): Promise<PluginRecord> {
  const digest = async (other: string) => sha256Loaded(other) ?? sha256Of(other)
  const others = filesImported(file).map(other => ({other, path: pathInRecord(file, other)}))
  // in an order that does not depend on where the folder stands
  others.sort((a, b) => (a.path < b.path ? -1 : 1))
  const imports = others.map(async ({other, path}) => ({path, sha256: await digest(other)}))
  return {path, sha256: await digest(file), imports: await Promise.all(imports), methods}
}
