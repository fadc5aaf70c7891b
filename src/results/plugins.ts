/** Whether a run goes on with the plug-ins that it was started with. */
import {type PluginRecord, pluginDigest} from '../plugins/record.js'
import {mismatch} from './plan-extension.js'

/**
 * Compares plug-ins by what they hold; a file may have been moved.
 *
 * @param directory - of the run
 * @throws {PLAN_MISMATCH} for one that was changed, is missing or came besides
 */
export function comparePlugins(
  directory: string,
  saved: readonly PluginRecord[] = [],
  asked: readonly PluginRecord[] = [],
): void {
  const here = new Set(asked.map(pluginDigest))
  const there = new Set(saved.map(pluginDigest))
  const gone = saved.find(record => !here.has(pluginDigest(record)))
  const added = asked.find(record => !there.has(pluginDigest(record)))
  if (gone) {
    const changed =
      asked.find(({path}) => path === gone.path) ??
      asked.find(({methods}) => methods.some(name => gone.methods.includes(name)))
    const got = changed ? `one of SHA-256 ${short(changed)}` : 'a plan without it'
    throw mismatch(directory, 'plug-in', named(gone), got, ...(changed ? [] : [NAME_IT]))
  }
  if (!added) return
  const before = saved.length === 0 ? 'none' : saved.map(({path}) => path).join(', ')
  throw mismatch(directory, 'plug-ins', before, `${named(added)} besides`, LEAVE_OUT)
}

const NAME_IT = 'name it with `plugin`, and its estimators among `methods`'
const LEAVE_OUT = 'leave `plugin` out, or its estimators'

function named(record: PluginRecord): string {
  return `${record.path} (SHA-256 ${short(record)})`
}

/** Of its digest, which covers what it imports. */
function short(record: PluginRecord): string {
  return `${pluginDigest(record).slice(0, 12)}…`
}
