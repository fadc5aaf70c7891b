// Where npm keeps node-gyp and Node its headers.
import {existsSync} from 'node:fs'
import {dirname, join} from 'node:path'

/** The folder that Node is installed in. */
const prefix = dirname(dirname(process.execPath))

/** Folders that may have the npm of this Node. */
const npmFolders = [
  join(prefix, 'lib/node_modules/npm'),
  join(prefix, 'share/nodejs/npm'),
  join(dirname(process.execPath), 'node_modules/npm'),
]

/** The node-gyp script: npm names it to the scripts that it runs; by hand, the one of the npm of this Node. */
export function nodeGyp() {
  const candidates = [
    process.env.npm_config_node_gyp,
    ...npmFolders.map(folder => join(folder, 'node_modules/node-gyp/bin/node-gyp.js')),
    join(prefix, 'share/nodejs/node-gyp/bin/node-gyp.js'),
  ]
  return candidates.find(path => path && existsSync(path))
}

/** The script of the npm that runs this one, else of the npm of this Node. */
export function npm() {
  const {npm_execpath: running = ''} = process.env
  const candidates = [
    /npm-cli\.js$/.test(running) ? running : undefined,
    ...npmFolders.map(folder => join(folder, 'bin/npm-cli.js')),
  ]
  return candidates.find(path => path && existsSync(path))
}

/** Node's headers if they lie next to it, so that none are downloaded. */
export function headerArguments() {
  return existsSync(join(prefix, 'include/node/node_api.h')) ? [`--nodedir=${prefix}`] : []
}

/** What of a build's output says that there is nothing to build with; `undefined` where there is. */
export function missingTools(output) {
  if (/not found: make|make: not found|find (?:any )?Visual Studio|xcode-select/i.test(output)) {
    return 'no C++ compiler and make were found'
  }
  if (
    /g\+\+: (?:command )?not found|c\+\+: not found|: g\+\+: No such file|find Python/i.test(output)
  ) {
    return 'no C++ compiler or no Python was found'
  }
  return undefined
}
