/** The plug-ins that a command line and the environment name, and the plug-ins of a run to continue. */
import {delimiter} from 'node:path'
import {RfaError} from '../../errors.js'
import {type LoadedPlugin, loadPlugin, pluginNow} from '../../plugins/load.js'
import {type PluginRecord, pluginDigest} from '../../plugins/record.js'
import type {PluginReport} from '../../report/doctor.js'
import {comparePlugins, type Keeper, unnamedPlugins} from '../../results/folder/plugins.js'
import type {Plan} from '../../results/record.js'
import type {Services} from '../program/services.js'

/** The plug-ins that were named, each once. */
export interface PluginsAsked {
  /** By `--plugin`. */
  typed: readonly LoadedPlugin[]
  /** By `RFA_PLUGINS` alone. */
  others: readonly LoadedPlugin[]
}

/** Place of a plan with its plug-ins, which have not been imported yet. */
export interface PlanSource {
  /** The file of the plan, or the folder of the run. */
  from: string
  keeper: Keeper
}

export interface RecordedPlugins extends PlanSource {
  plugins: readonly PluginRecord[]
}

/**
 * Loads the plug-ins of `--plugin`, then those of `RFA_PLUGINS`. Where a plan has recorded plug-ins, only what holds the
 * same is imported, and the others of the variable are left alone.
 *
 * @param recorded - by the plan or the run that the command line names, if any
 * @throws {PLAN_MISMATCH} for one of `--plugin` that is none of those, before it is imported
 */
export async function pluginsAsked(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  recorded?: RecordedPlugins,
): Promise<PluginsAsked> {
  const typed = new Set<LoadedPlugin>()
  for (const path of pathsTyped(argv)) {
    typed.add(await loadPlugin(path, await recordedAs(path, recorded, refuseBesides)))
  }
  const named = await pluginsOfVariable(env, recorded)
  return {typed: [...typed], others: named.filter(plugin => !typed.has(plugin))}
}

/** Loads the plug-ins of `RFA_PLUGINS`, each once. */
export async function pluginsOfVariable(
  {RFA_PLUGINS = ''}: NodeJS.ProcessEnv,
  recorded?: RecordedPlugins,
): Promise<LoadedPlugin[]> {
  const plugins = new Set<LoadedPlugin>()
  for (const path of pathsOf(RFA_PLUGINS)) {
    let idle = false
    const wanted = await recordedAs(path, recorded, () => {
      idle = true
    }).catch(tellOfVariable)
    if (!idle) plugins.add(await loadPlugin(path, wanted).catch(tellOfVariable))
  }
  return [...plugins]
}

/** What the file of a plan has recorded. */
export async function recordedInFile(path: string): Promise<RecordedPlugins> {
  const {readPlanFile} = await import('./plan-file.js')
  const {plugins = []} = await readPlanFile(path)
  return {from: path, keeper: 'plan', plugins}
}

/** What a run has recorded; nothing where there is none. */
export async function recordedInRun(
  folder: string,
  {readPlan}: Pick<Services, 'readPlan'>,
): Promise<RecordedPlugins> {
  const {plugins = []} = (await readPlan(folder)) ?? {}
  return {from: folder, keeper: 'run', plugins}
}

/**
 * The record of a file that was named; nothing is imported.
 *
 * @param onOther - called where it is none of what was recorded
 * @returns `undefined` where nothing was recorded, and after that call
 * @throws {PLAN_MISMATCH} where it is one of them but for its content
 */
async function recordedAs(
  path: string,
  recorded: RecordedPlugins | undefined,
  onOther: (now: PluginRecord, recorded: RecordedPlugins) => void,
): Promise<PluginRecord | undefined> {
  if (!recorded || recorded.plugins.length === 0) return undefined
  const {from, keeper, plugins} = recorded
  const nows = await Promise.all(plugins.map(wanted => pluginNow(path, wanted)))
  const same = plugins.find((wanted, at) => pluginDigest(nows[at]!) === pluginDigest(wanted))
  if (same) return same
  const own = plugins.findIndex(
    (wanted, at) => nows[at]!.sha256 === wanted.sha256 || nows[at]!.path === wanted.path,
  )
  if (own >= 0) comparePlugins(from, [plugins[own]!], [nows[own]!], keeper)
  onOther(nows[0]!, recorded)
  return undefined
}

function refuseBesides(now: PluginRecord, {from, keeper, plugins}: RecordedPlugins): void {
  comparePlugins(from, plugins, [...plugins, now], keeper)
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

/** Values of `--plugin`; its parser reports any other fault. */
function pathsTyped(argv: readonly string[]): string[] {
  return valuesTyped(argv, '--plugin')
}

/** Values of a flag on a command line that has not been parsed yet. */
export function valuesTyped(argv: readonly string[], ...names: readonly string[]): string[] {
  const end = argv.indexOf('--')
  const words = end < 0 ? argv : argv.slice(0, end)
  return words.flatMap((word, at) => {
    const own = names.find(name => word.startsWith(`${name}=`))
    if (own !== undefined) return word.slice(own.length + 1) || []
    const short = names.find(name => /^-[^-]$/.test(name) && word.startsWith(name))
    if (short !== undefined && word !== short) return word.slice(short.length)
    const next = words[at + 1]
    return names.includes(word) && next !== undefined && !next.startsWith('-') ? next || [] : []
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
 * A plan out of a file, or that of a run, with its plug-ins as they were named now.
 *
 * @returns the plan with the plug-ins as they were found
 * @throws {USAGE} where one of them was not named: a plan alone has nothing imported
 * @throws {PLAN_MISMATCH} for one that is another one now, or is named besides
 */
export function withNamedPlugins(
  plan: Plan,
  {from, keeper}: PlanSource,
  {typed, others}: PluginsAsked,
): Plan {
  const saved = plan.plugins ?? []
  const named = [...typed, ...others].map(({record}) => record)
  const found = saved.map(wanted => namedNow(wanted, named))
  const unnamed = saved.filter((_, at) => found[at] === undefined)
  if (unnamed.length > 0) throw unnamedPlugins(from, unnamed)
  const there = found.filter(record => record !== undefined)
  const asked = new Set([...there, ...typed.map(({record}) => record)])
  comparePlugins(from, saved, [...asked], keeper)
  return saved.length === 0 ? plan : {...plan, plugins: there}
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
