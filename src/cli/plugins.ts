/** The plug-ins that a command line and the environment name, and those of a run to go on with. */
import {delimiter} from 'node:path'
import {RfaError} from '../errors.js'
import {type LoadedPlugin, loadPlugin} from '../plugins/load.js'
import {type PluginRecord, pluginDigest} from '../plugins/record.js'
import type {PluginReport} from '../report/doctor.js'
import {comparePlugins} from '../results/plugins.js'
import type {Plan} from '../results/record.js'

/** The plug-ins that were named, each once. */
export interface PluginsAsked {
  /** By `--plugin`. */
  typed: readonly LoadedPlugin[]
  /** By `RFA_PLUGINS` alone. */
  others: readonly LoadedPlugin[]
}

/**
 * Loads the plug-ins of `--plugin`, then those of `RFA_PLUGINS`.
 *
 * @throws what {@link loadPlugin} throws
 */
export async function pluginsAsked(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<PluginsAsked> {
  const typed = new Set<LoadedPlugin>()
  for (const path of pathsTyped(argv)) typed.add(await loadPlugin(path))
  const named = await pluginsOfVariable(env)
  return {typed: [...typed], others: named.filter(plugin => !typed.has(plugin))}
}

/** Loads the plug-ins of `RFA_PLUGINS`, each once. @throws what {@link loadPlugin} throws */
export async function pluginsOfVariable({
  RFA_PLUGINS = '',
}: NodeJS.ProcessEnv): Promise<LoadedPlugin[]> {
  const plugins = new Set<LoadedPlugin>()
  for (const path of pathsOf(RFA_PLUGINS)) {
    plugins.add(await loadPlugin(path).catch(tellOfVariable))
  }
  return [...plugins]
}

/** Whether they load, one after the other. */
export async function pluginReports(
  argv: readonly string[],
  {RFA_PLUGINS = ''}: NodeJS.ProcessEnv,
): Promise<PluginReport[]> {
  const reports: PluginReport[] = []
  for (const path of new Set([...pathsTyped(argv), ...pathsOf(RFA_PLUGINS)])) {
    try {
      const {methods, sha256} = (await loadPlugin(path)).record
      reports.push({path, methods, sha256})
    } catch (error) {
      if (!(error instanceof RfaError)) throw error
      const {message: reason, suggestions} = error
      const [remedy] = suggestions
      reports.push({path, methods: [], sha256: null, reason, ...(remedy !== undefined && {remedy})})
    }
  }
  return reports
}

function pathsOf(variable: string): string[] {
  return variable.split(delimiter).filter(Boolean)
}

/** Values of `--plugin` on a command line; what is wrong with it otherwise is told by its parser. */
function pathsTyped(argv: readonly string[]): string[] {
  const end = argv.indexOf('--')
  const words = end < 0 ? argv : argv.slice(0, end)
  return words.flatMap((word, at) => {
    if (word.startsWith('--plugin=')) return word.slice('--plugin='.length) || []
    const next = words[at + 1]
    return word === '--plugin' && next !== undefined && !next.startsWith('-') ? next || [] : []
  })
}

function tellOfVariable(error: unknown): never {
  if (!(error instanceof RfaError)) throw error
  const {code, message, suggestions} = error
  throw new RfaError(code, `RFA_PLUGINS: ${message}`, {suggestions, cause: error})
}

/** Estimators of a plan, as every experiment lists them. */
interface Methods {
  methods: readonly {method: string; plugin?: string | undefined}[]
}

/** A plan that says which of its estimators come from which plug-in; plug-ins that it has no use for are left out. */
export function withPlugins<P extends Plan>(plan: P, plugins: readonly LoadedPlugin[]): P {
  const {methods} = plan as unknown as Methods
  const used = plugins
    .map(({record}) => record)
    .filter(record => methods.some(({method}) => record.methods.includes(method)))
  if (used.length === 0) return plan
  const marked = methods.map(spec => {
    const owner = used.find(record => record.methods.includes(spec.method))
    return owner ? {...spec, plugin: pluginDigest(owner)} : spec
  })
  return {...plan, methods: marked, plugins: used}
}

/** What to say of a plug-in that was named and adds nothing, if it does not. */
export function pluginWithoutEffect({path, methods}: PluginRecord, plan: Plan): string | undefined {
  if (plan.plugins?.some(used => used.path === path)) return undefined
  return `\`plugin\` ${path}: none of its estimators (${methods.join(', ')}) is among \`methods\``
}

/**
 * Loads the plug-ins of a run to go on with: one that is named now, if it has the same content or estimators of the same
 * names, or the one at the path that the run has recorded.
 *
 * @returns the plan with the plug-ins as they were found
 * @throws {PLAN_MISMATCH} for one that is gone, is another one now, or is named besides
 */
export async function pluginsOfRun(
  plan: Plan,
  directory: string,
  asked: PluginsAsked,
): Promise<Plan> {
  const [typed, others] = [asked.typed, asked.others].map(plugins =>
    plugins.map(({record}) => record),
  ) as [PluginRecord[], PluginRecord[]]
  const saved = plan.plugins ?? []
  const found: PluginRecord[] = []
  for (const wanted of saved) {
    const here = namedNow(wanted, [...typed, ...others])
    found.push(here ?? (await reloaded(wanted, directory)))
  }
  comparePlugins(directory, saved, [...new Set([...found, ...typed])])
  return saved.length === 0 ? plan : {...plan, plugins: found}
}

/** The same plug-in; or one that has taken a name of its estimators, so that it cannot be loaded besides. */
function namedNow(
  wanted: PluginRecord,
  records: readonly PluginRecord[],
): PluginRecord | undefined {
  return (
    records.find(record => pluginDigest(record) === pluginDigest(wanted)) ??
    records.find(({methods}) => methods.some(name => wanted.methods.includes(name)))
  )
}

async function reloaded(wanted: PluginRecord, directory: string): Promise<PluginRecord> {
  try {
    return (await loadPlugin(wanted.path)).record
  } catch (error) {
    if (!(error instanceof RfaError) || error.code !== 'FILE_MISSING') throw error
    throw new RfaError(
      'PLAN_MISMATCH',
      `${directory}: expected the plug-in that this run was started with, ${wanted.path}, got nothing there`,
      {suggestions: ['put it back, or name it where it is now with --plugin FILE'], cause: error},
    )
  }
}
