/** Whether a run continues with the plug-ins that it was started with. */
import {expected, type RfaError} from '../../errors.js'
import {type PluginRecord, pluginDigest} from '../../plugins/record.js'
import {changedFile} from '../../plugins/recorded.js'
import {quoted} from '../../shell-words.js'
import {mismatch} from './resume.js'

/** What has recorded plug-ins. */
export type Keeper = 'run' | 'plan'

/**
 * Compares plug-ins by what they hold; a file may have been moved.
 *
 * @param from - the folder of the run, or the file of the plan
 * @throws {PLAN_MISMATCH} for one that was changed, is missing or came besides
 */
export function comparePlugins(
  from: string,
  saved: readonly PluginRecord[] = [],
  asked: readonly PluginRecord[] = [],
  keeper: Keeper = 'run',
): void {
  const here = new Set(asked.map(pluginDigest))
  const there = new Set(saved.map(pluginDigest))
  const gone = saved.find(record => !here.has(pluginDigest(record)))
  const added = asked.find(record => !there.has(pluginDigest(record)))
  const other = keeper === 'run' ? mismatch : otherPlan
  if (gone) {
    const changed =
      asked.find(({path}) => path === gone.path) ??
      asked.find(({methods}) => methods.some(name => gone.methods.includes(name)))
    const got = changed
      ? `one of SHA-256 ${short(changed)}${why(gone, changed)}`
      : 'a plan without it'
    throw other(from, 'plug-in', named(gone), got, ...(changed ? [] : [NAME_IT]))
  }
  if (!added) return
  const before = saved.length === 0 ? 'none' : saved.map(({path}) => path).join(', ')
  throw other(from, 'plug-ins', before, `${named(added)} besides`, LEAVE_OUT)
}

function otherPlan(
  from: string,
  what: string,
  saved: string,
  asked: string,
  ...remedies: string[]
) {
  const ours = `the ${what} that this plan was made with, ${saved}`
  return expected('PLAN_MISMATCH', from, ours, asked, ...remedies, NEW_PLAN)
}

/** Which of its files has changed. */
function why(before: PluginRecord, now: PluginRecord): string {
  const file = changedFile(before, now)
  return file === undefined ? '' : `, as ${file} has changed`
}

/**
 * Error of plug-ins that a plan or a run uses and the command does not name.
 *
 * @param from - the folder of the run, or the file of the plan
 */
export function unnamedPlugins(from: string, unnamed: readonly PluginRecord[]): RfaError {
  const paths = unnamed.map(({path}) => path)
  const flags = paths.map(path => `--plugin ${quoted(path)}`).join(' ')
  const what =
    'its plug-ins to be named on the command line or in RFA_PLUGINS, because a plan with plug-ins is a program'
  const got = `${paths.join(', ')}, which the command does not name`
  const remedy = `where you trust them, add ${flags}, or the place where the files are now`
  return expected('USAGE', from, what, got, remedy)
}

const NAME_IT = 'name it with `plugin`, and its estimators among `methods`'
const NEW_PLAN = 'make the plan anew with --dry-run --json'
const LEAVE_OUT = 'leave `plugin` out, or its estimators'

function named(record: PluginRecord): string {
  return `${record.path} (SHA-256 ${short(record)})`
}

/** Of its digest, which covers what it imports. */
function short(record: PluginRecord): string {
  return `${pluginDigest(record).slice(0, 12)}…`
}
