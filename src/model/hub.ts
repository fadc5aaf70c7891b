/** Models by their names on the Hugging Face Hub, in the cache of its own programs. Nothing is downloaded. */
import {readdir, readFile, stat} from 'node:fs/promises'
import {homedir} from 'node:os'
import {basename, dirname, join, resolve} from 'node:path'
import {expected} from '../errors.js'

/** `org/name`, or an old name without `org`, such as gpt2. */
const HUB_NAME = /^(?:[\w-][\w.-]*\/)?[\w-][\w.-]*$/

/**
 * The folder of a model: as it was typed where there is one, else that of the cache (`HF_HUB_CACHE`, or `hub` in `HF_HOME`).
 *
 * @param typed - a path, or a name such as `sentence-transformers/all-MiniLM-L6-v2`
 * @throws {FILE_MISSING} for a name with a slash that the cache does not have, with the command that downloads it
 */
export async function hubFolder(typed: string, environment = process.env): Promise<string> {
  if (!HUB_NAME.test(typed) || (await stat(typed).catch(() => undefined))) return typed
  const cache = cacheOf(environment)
  const own = join(cache, `models--${typed.replace('/', '--')}`)
  const found = await snapshot(own)
  // a single word is a mistyped path rather than a name
  if (found !== undefined || !typed.includes('/')) return found ?? typed
  const download = `from huggingface_hub import snapshot_download; snapshot_download('${typed}', allow_patterns=['*.json', '*.safetensors'])`
  const what = `a folder, or a model that is in ${cache}`
  throw expected('FILE_MISSING', '`model`', what, typed, `python3 -c "${download}"`)
}

/** What a model is called: the last name of its folder that says which it is; packages call theirs `model`, the cache by a commit. */
export function modelName(folder: string): string {
  const path = resolve(folder)
  const above = dirname(path)
  const [, cached] = /^models--(?:.*--)?(.+)$/.exec(basename(dirname(above))) ?? []
  if (basename(above) === 'snapshots' && cached !== undefined) return cached
  const own = basename(path)
  return own === 'model' ? basename(above) : own
}

function cacheOf({HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME}: NodeJS.ProcessEnv): string {
  const home = HF_HOME || join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'huggingface')
  return HF_HUB_CACHE || join(home, 'hub')
}

/** The files of the version that `main` names, or of the only one. */
async function snapshot(folder: string): Promise<string | undefined> {
  const all = await readdir(join(folder, 'snapshots')).catch(() => [])
  const main = await readFile(join(folder, 'refs', 'main'), 'utf8').catch(() => '')
  const commit = all.find(name => name === main.trim()) ?? (all.length === 1 ? all[0] : undefined)
  return commit === undefined ? undefined : join(folder, 'snapshots', commit)
}
