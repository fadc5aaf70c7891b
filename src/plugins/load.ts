/** Plug-ins: ES modules of others that bring estimators. */
import {createHash} from 'node:crypto'
import {readFile, realpath, stat} from 'node:fs/promises'
import {createRequire} from 'node:module'
import {dirname, extname, relative, resolve, sep} from 'node:path'
import {pathToFileURL} from 'node:url'
import type {Estimator} from '../attention/index.js'
import {describe, expected, type RfaError} from '../errors.js'
import {errorCode} from '../files.js'
import {commonJs, loadFault} from './faults.js'
import {importModule} from './import.js'
import {type PluginRecord, pluginDigest} from './record.js'
import {filesImported, openDoors} from './resolution.js'

/** A plug-in whose estimators are registered. */
export interface LoadedPlugin {
  record: PluginRecord
  /** As it exports them. */
  estimators: readonly Estimator[]
}

/** Plug-ins by the paths of their files, without symbolic links. */
const loaded = new Map<string, Promise<LoadedPlugin>>()
/** Digests and paths of those that have been asked for. */
const required = new Set<string>()
/** Whose estimators have these names, in small letters. */
const owners = new Map<string, string>()

const ENDINGS = ['.js', '.mjs', '.ts', '.mts']

/**
 * Loads a plug-in and registers its estimators, once in a process however often it is named.
 *
 * @param path - of an ES module whose default export is an estimator, or which exports a list `estimators`
 * @throws {FILE_MISSING} where there is no file
 * @throws {BAD_PLUGIN} for what is no such module: a fault of syntax, imports that are not found, no estimator, one whose
 *   facts are wrong or whose name is taken
 * @throws {PLUGIN_FAILED} for what it throws itself, and where its top level waits for ever
 */
export async function loadPlugin(path: string): Promise<LoadedPlugin> {
  const file = await pluginFile(path)
  const before = loaded.get(file)
  if (before) return before
  const loading = importPlugin(path, file)
  loaded.set(file, loading)
  return loading
}

/**
 * Loads the plug-ins of a plan as they were when it was made; one that has been loaded is not read again. The features of
 * their next calls are looked at.
 *
 * @throws {FILE_CHANGED} where one is not the same any more
 * @throws what {@link loadPlugin} throws
 */
export async function requirePlugins(records: readonly PluginRecord[]): Promise<void> {
  for (const wanted of records) {
    const id = `${pluginDigest(wanted)} ${wanted.path}`
    if (required.has(id)) continue
    const {record} = await loadPlugin(wanted.path)
    if (pluginDigest(record) !== pluginDigest(wanted)) throw changed(wanted, record)
    required.add(id)
  }
  const {lookAgain} = await import('../attention/internal.js')
  lookAgain()
}

function changed(wanted: PluginRecord, {sha256, imports}: PluginRecord): RfaError {
  const other = imports.find(({path, sha256}) =>
    wanted.imports.some(before => before.path === path && before.sha256 !== sha256),
  )
  const what = sha256 !== wanted.sha256 ? 'a file' : `imports${other ? ` (${other.path})` : ''}`
  return expected(
    'FILE_CHANGED',
    wanted.path,
    `${what} that stays as it was when the plan was made, SHA-256 ${short(pluginDigest(wanted))}`,
    short(pluginDigest({sha256, imports})),
    'leave a plug-in as it is while a run with it goes on',
  )
}

function short(digest: string): string {
  return digest.slice(0, 12)
}

/** The file of a plug-in, without symbolic links. @throws {FILE_MISSING | BAD_PLUGIN} */
async function pluginFile(path: string): Promise<string> {
  const remedy = `paths begin at the working folder: ${resolve(path)}`
  const there = await stat(path).catch(error => {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return undefined
    throw expected('BAD_PLUGIN', path, 'a file that can be read', String(errorCode(error)))
  })
  if (!there) throw expected('FILE_MISSING', path, 'a plug-in, an ES module', 'nothing', remedy)
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

async function importPlugin(path: string, file: string): Promise<LoadedPlugin> {
  openDoors()
  const {registerEstimators, wholeEstimator} = await import('../attention/internal.js')
  try {
    const exported = await importModule(pathToFileURL(file).href)
    if (file in createRequire(import.meta.url).cache) {
      throw commonJs(path, 'it exports by module.exports, or nothing')
    }
    const estimators = exportedEstimators(exported).map(wholeEstimator)
    const methods = estimators.map(({name}) => name)
    const record = await recordOf(resolve(path), file, methods)
    checkNames(methods, path)
    registerEstimators(estimators)
    for (const name of methods) owners.set(name.toLowerCase(), path)
    return {record, estimators}
  } catch (error) {
    throw loadFault(path, error, [file, ...filesImported(file)])
  }
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

/** @throws {BAD_PLUGIN} where another plug-in has one of the names, or two of its own have the same */
function checkNames(names: readonly string[], path: string): void {
  const plain = names.map(name => name.toLowerCase())
  for (const [index, name] of names.entries()) {
    const owner = plain.indexOf(plain[index]!) < index ? path : owners.get(plain[index]!)
    if (owner === undefined) continue
    const got = owner === path ? 'two of them' : `that of one of ${owner}`
    const what = 'a name that no other estimator has'
    throw expected('BAD_PLUGIN', name, what, got, 'call one of them otherwise')
  }
}

async function recordOf(path: string, file: string, methods: string[]): Promise<PluginRecord> {
  const folder = dirname(file)
  const others = filesImported(file).map(other => ({
    other,
    path: relative(folder, other).split(sep).join('/'),
  }))
  // in an order that does not depend on where the folder stands
  others.sort((a, b) => (a.path < b.path ? -1 : 1))
  const imports = others.map(async ({other, path}) => ({path, sha256: await sha256Of(other)}))
  return {path, sha256: await sha256Of(file), imports: await Promise.all(imports), methods}
}

async function sha256Of(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex')
}
