import {execFile} from 'node:child_process'
import {readFileSync, realpathSync} from 'node:fs'
import {createRequire} from 'node:module'
import {arch, availableParallelism, cpus, platform, totalmem} from 'node:os'
import {promisify} from 'node:util'
import {loadAddon} from '../../backends/native/loader.js'
import {packageRoot, packageVersion} from '../../package.js'
import type {Machine} from './manifest.js'

/** A hanging git (network file system, broken hook) must not keep a run from starting, in ms. */
const GIT_PATIENCE_MS = 5000
/** How long the multiply-add peak is measured. */
const PEAK_SECONDS = 0.05

/**
 * Where this process runs: what a reader needs to judge its numbers. Never throws.
 *
 * @param timed - whether times are among them: what this machine can do at most is then measured, which takes a moment
 */
export async function machineFacts({timed}: {timed: boolean}): Promise<Machine> {
  const processors = cpus() // empty where /proc is not mounted
  return {
    cpu: processors[0]?.model.trim() || 'unknown',
    logical_cores: processors.length || availableParallelism(),
    available_parallelism: availableParallelism(),
    memory_bytes: totalmem(),
    platform: platform(),
    arch: arch(),
    node: process.versions.node,
    rfa: packageVersion(),
    tfjs: versionOf('@tensorflow/tfjs-core'),
    ...vectorFacts(timed),
    commit: await commitOf(packageRoot()),
  }
}

/** What the native addon knows of the processor. */
function vectorFacts(timed: boolean): Pick<Machine, 'instruction_set' | 'fma_peak_gflops'> {
  const result = loadAddon()
  const addon = 'addon' in result ? result.addon : undefined
  const facts = {instruction_set: addon?.runtime().isa ?? null}
  if (!timed) return facts
  const peak = addon?.fmaPeak(PEAK_SECONDS)
  return {...facts, fma_peak_gflops: peak === undefined ? null : Number(peak.toPrecision(4))}
}

/**
 * Short commit hash of the checkout with this top folder, with a `+` when its tree has changes or files that git
 * neither tracks nor ignores.
 *
 * @returns `null` for a folder that is not the top of a checkout (an installed package inside another project's
 * repository), without git, or before the first commit
 */
export async function commitOf(folder: string): Promise<string | null> {
  try {
    const [named, changes] = await Promise.all([
      git(folder, 'rev-parse', '--show-toplevel', '--short', 'HEAD'),
      git(folder, 'status', '--porcelain'),
    ])
    const [top = '', hash = ''] = named.split('\n')
    if (realpathSync(top) !== realpathSync(folder)) return null
    return changes === '' ? hash : `${hash}+`
  } catch {
    return null
  }
}

async function git(cwd: string, ...args: string[]): Promise<string> {
  // a git hook sets GIT_DIR, which would name the repository that the hook runs for
  const {GIT_DIR: _dir, GIT_WORK_TREE: _tree, GIT_INDEX_FILE: _index, ...env} = process.env
  const options = {cwd, env, timeout: GIT_PATIENCE_MS}
  const {stdout} = await promisify(execFile)('git', args, options)
  return stdout.trim()
}

/** Version of an installed package, `unknown` when it cannot be found. */
function versionOf(name: string): string {
  try {
    const path = createRequire(import.meta.url).resolve(`${name}/package.json`)
    return String(JSON.parse(readFileSync(path, 'utf8')).version)
  } catch {
    return 'unknown'
  }
}
