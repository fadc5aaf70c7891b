/** What packages are installed with: versions of Node and of package managers, from the npm registry. */
import {execFileSync} from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import {tmpdir} from 'node:os'
import {delimiter, dirname, join} from 'node:path'
import {messageOf} from '../../src/errors.js'
import {packageRoot} from '../../src/package.js'

/** The version of Node that is taken for a major one. */
const {nodeVersion} = (await import(join(packageRoot(), 'scripts', 'node-versions.js'))) as {
  nodeVersion(major: number): string
}

/** Whether this process may write everywhere, whatever permissions say. */
export const machineIsRoot = process.getuid?.() === 0
/** A user that may write only where all may. */
export const NOBODY = 65534

let paths: string | undefined

/** A folder for PATHs of all files of this process; it goes with the process. */
function folderOfPaths(): string {
  if (paths !== undefined) return paths
  const made = mkdtempSync(join(tmpdir(), 'rfa-paths-'))
  process.once('exit', () => rmSync(made, {recursive: true, force: true}))
  paths = made
  return made
}

/** What programs without a compiler may still need, those of package managers' start scripts among them. */
const SMALL_TOOLS = ['basename', 'cat', 'cp', 'dirname', 'env', 'ls', 'mkdir', 'rm', 'sed', 'sh']
const MORE_TOOLS = ['tar', 'gzip', 'uname', 'readlink', 'realpath']

/** `node_modules` with one package, kept between runs; a string that says why not where the registry is not reached. */
export function fetched(name: string, spec: string): {modules: string} | string {
  const folder = join(packageRoot(), 'node_modules', '.cache', 'rfa', name)
  const modules = join(folder, 'node_modules')
  if (existsSync(modules)) return {modules}
  mkdirSync(dirname(folder), {recursive: true})
  const half = mkdtempSync(`${folder}.`)
  writeFileSync(join(half, 'package.json'), '{"private": true}')
  try {
    execFileSync(
      'npm',
      ['install', '--no-save', '--ignore-scripts', '--engine-strict=false', spec],
      {
        cwd: half,
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    )
    putWhole(half, folder)
    return {modules}
  } catch (error) {
    return `${spec} did not come from the npm registry: ${messageOf(error).split('\n')[0]}`
  } finally {
    rmSync(half, {recursive: true, force: true})
  }
}

/** Renames a finished folder, unless another process was first. */
function putWhole(half: string, folder: string) {
  try {
    renameSync(half, folder)
  } catch (error) {
    if (!existsSync(join(folder, 'node_modules'))) throw error
  }
}

/** The command of a version of Node: this process's own where it is that version. */
export function nodeCommand(major: number): {command: string} | string {
  if (process.versions.node.startsWith(`${major}.`)) return {command: process.execPath}
  const name = `node-linux-${process.arch}`
  const spec = `${name}@${nodeVersion(major)}`
  const found = fetched(spec, spec)
  return typeof found === 'string' ? found : {command: join(found.modules, name, 'bin', 'node')}
}

/**
 * An environment with one version of Node, first on the PATH.
 *
 * @param command - of Node
 * @param compiler - false: with nothing on the PATH that could compile
 */
export function environment(command: string, compiler: boolean): NodeJS.ProcessEnv {
  const folder = mkdtempSync(join(folderOfPaths(), 'path-'))
  symlinkSync(command, join(folder, 'node'))
  if (!compiler) {
    for (const name of [...SMALL_TOOLS, ...MORE_TOOLS]) {
      const place = ['/bin', '/usr/bin'].map(bin => join(bin, name)).find(existsSync)
      if (place) symlinkSync(place, join(folder, name))
    }
  }
  const outside = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|RFA_|CC$|CXX$)/.test(name),
  )
  const path = compiler ? [folder, process.env.PATH].join(delimiter) : folder
  return {...Object.fromEntries(outside), PATH: path, CI: '1', NO_COLOR: '1', NODE_OPTIONS: ''}
}
