// The package @tensorflow/tfjs-node in node_modules: found, or installed by npm without its install script.
import {spawnSync} from 'node:child_process'
import {existsSync, readFileSync} from 'node:fs'
import {createRequire} from 'node:module'
import {dirname, join, sep} from 'node:path'
import {npm} from '../node-gyp.js'
import {Failure, Unavailable} from './failure.js'

const NAME = '@tensorflow/tfjs-node'
const VERSION = '4.22.0'
/** What npm's registry says of its tarball. */
const INTEGRITY =
  'sha512-uHrXeUlfgkMxTZqHkESSV7zSdKdV0LlsBeblqkuKU9nnfxB1pC6DtoyYVaLxznzZy7WQSegjcohxxCjAf6Dc7w=='
/** What npm's errors say where its registry is not reached. */
const NOT_REACHED = /\b(?:ENOTFOUND|ECONNREFUSED|ECONNRESET|EAI_AGAIN|ETIMEDOUT|ENETUNREACH)\b/
const SPEC = `${NAME}@${VERSION}`

/**
 * The folder of tfjs-node, installed where it is not there. Neither package.json nor a lock file is changed.
 *
 * @param root - the folder of this package
 * @throws {Failure} where it cannot be installed, is another version, or brings another TensorFlow.js
 */
export function nodePackage(root, say) {
  const folder = found(root) ?? installed(root, say)
  const {version} = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  if (version !== VERSION) {
    throw new Failure(`expected ${SPEC}, found version ${version}`, `npm install ${SPEC}`)
  }
  checkIntegrity(folder)
  checkShared(root, folder)
  return folder
}

function found(root) {
  try {
    return dirname(createRequire(join(root, 'package.json')).resolve(`${NAME}/package.json`))
  } catch {
    return undefined
  }
}

function installed(root, say) {
  const project = projectOf(root)
  const byHand = `install it without its script (npm install --ignore-scripts ${SPEC}) and run this again`
  const tool = npm()
  if (!tool) throw new Failure(`npm was not found to install ${SPEC}`, byHand)
  if (!project)
    throw new Failure(`${SPEC} is not installed, and npm did not install this package`, byHand)
  say(`installing the sources of ${SPEC} by npm`)
  // in a checkout the lock file pins it with all that it needs
  const what = project === root ? [] : [SPEC]
  const argv = ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', ...what]
  const {status, stderr} = spawnSync(process.execPath, [tool, ...argv], {
    cwd: project,
    encoding: 'utf8',
    env: {...process.env, npm_config_loglevel: 'error'},
  })
  const folder = status === 0 ? found(root) : undefined
  if (folder) return folder
  const why = stderr.split('\n').find(line => /error/i.test(line)) ?? 'npm failed'
  const Kind = NOT_REACHED.test(stderr) ? Unavailable : Failure
  throw new Kind(`${SPEC} was not installed: ${why.trim()}`, 'npm needs its registry', byHand)
}

/** The folder in which npm installs: this checkout, or the project that this package is a dependency of. */
function projectOf(root) {
  const modules = `${sep}node_modules${sep}`
  const at = root.indexOf(modules)
  if (at < 0) return root
  const project = root.slice(0, at)
  const byNpm = existsSync(join(project, 'node_modules', '.package-lock.json'))
  return byNpm && existsSync(join(project, 'package.json')) ? project : undefined
}

/** npm notes what it installed; other package managers have checked it against their own lock files. */
function checkIntegrity(folder) {
  const modules = folder.slice(0, folder.lastIndexOf(join('node_modules', NAME)))
  const notes = join(modules, 'node_modules', '.package-lock.json')
  if (!existsSync(notes)) return
  const {packages} = JSON.parse(readFileSync(notes, 'utf8'))
  const {integrity = INTEGRITY} = packages[`node_modules/${NAME}`] ?? {}
  if (integrity === INTEGRITY) return
  throw new Failure(
    `expected ${SPEC} with integrity ${INTEGRITY}, npm installed ${integrity}`,
    'the registry serves another package: name another one by npm config set registry',
  )
}

/** A backend registers with the TensorFlow.js that its own package finds: it must be the one that this package uses. */
function checkShared(root, folder) {
  const core = '@tensorflow/tfjs-core'
  const own = createRequire(join(root, 'package.json')).resolve(core)
  const union = createRequire(join(folder, 'package.json')).resolve('@tensorflow/tfjs')
  const theirs = createRequire(union).resolve(core)
  if (own === theirs) return
  throw new Failure(
    `${NAME} brings another ${core}: ${theirs}, with ${own} here`,
    `npm ls ${core} says who wants another version; npm dedupe may join them`,
  )
}
