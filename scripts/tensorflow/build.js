// tfjs-node's addon, built by its own binding.gyp against the unpacked library.
import {spawnSync} from 'node:child_process'
import {copyFileSync, existsSync, mkdirSync, renameSync} from 'node:fs'
import {dirname, join} from 'node:path'
import {headerArguments, missingTools, nodeGyp} from '../node-gyp.js'
import {Failure, Unavailable} from './failure.js'

/** The newest version of Node-API that tfjs-node names; Node 20 and later all have it. */
const NODE_API = 8

/** Where tfjs-node looks for its addon. */
export function addonPath(folder) {
  return join(folder, 'lib', `napi-v${NODE_API}`, 'tfjs_binding.node')
}

/**
 * Builds the addon and puts it where tfjs-node looks for it.
 *
 * @param folder - of tfjs-node, with the library in `deps`
 * @throws {Failure} where there is nothing to build with, or the compiler refuses
 */
export function buildAddon(folder) {
  const tool = nodeGyp()
  if (!tool) {
    throw new Failure('node-gyp was not found next to npm', 'npm install --global npm brings it')
  }
  const variables = [`napi_build_version=${NODE_API}`, 'module_name=tfjs_binding', 'module_path=.']
  const argv = ['rebuild', '-j', 'max', ...headerArguments(), ...variables.map(each => `--${each}`)]
  const {error, status, stdout, stderr} = spawnSync(process.execPath, [tool, ...argv], {
    cwd: folder,
    encoding: 'utf8',
    env: {...process.env, npm_config_loglevel: 'error'},
    maxBuffer: 2 ** 26,
  })
  const built = join(folder, 'build', 'Release', 'tfjs_binding.node')
  if (error || status !== 0 || !existsSync(built)) throw notBuilt(error, `${stderr}\n${stdout}`)
  put(built, addonPath(folder))
}

/** Copies next to the place and renames, so that no half of a file is loaded. */
function put(file, path) {
  mkdirSync(dirname(path), {recursive: true})
  copyFileSync(file, `${path}.part`)
  renameSync(`${path}.part`, path)
}

function notBuilt(error, output) {
  const missing = missingTools(output)
  if (missing) {
    return new Unavailable(
      missing,
      'install g++, make and python3 (Debian: apt install build-essential python3) and run this again',
    )
  }
  if (/node-gyp.*(?:ENOTFOUND|ECONNREFUSED|EAI_AGAIN|network)|getaddrinfo/i.test(output)) {
    return new Unavailable(
      `node-gyp could not download Node's headers`,
      'name a folder that has them in include/node: npm_config_nodedir=/usr',
    )
  }
  const line = output.split('\n').find(text => /error/i.test(text) && !/ERR! stack/.test(text))
  return new Failure(
    `the addon was not built: ${(error?.message ?? line ?? 'node-gyp failed').trim()}`,
  )
}
