/** Finds and loads the addon, and says in one list of remedies why it cannot be. */
import {existsSync} from 'node:fs'
import {createRequire} from 'node:module'
import {join} from 'node:path'
import {messageOf, RfaError} from '../../errors.js'
import {packageRoot} from '../../package.js'
import type {Addon} from './addon.js'
import {whyNotAsPacked} from './prebuilt.js'

/** The addon, or why there is none and what to do. */
export type LoadResult = {addon: Addon} | {reason: string; remedy: string; absent?: boolean}

/** What loading depends on; a test brings its own. */
export interface LoadSite {
  /** Folder with `build/` or `prebuilds/`. */
  root: string
  env: NodeJS.ProcessEnv
  /** Loads the addon under `root`; throws when there is none that fits. */
  load(root: string): unknown
}

const REBUILD = 'npm rebuild rfa (in a checkout: npm run build:native)'
const COMPILER = 'with a C++17 compiler, make and Python installed'

let loaded: LoadResult | undefined

/** Loads the addon once; never throws. */
export function loadAddon(): LoadResult {
  loaded ??= loadFrom({root: packageRoot(), env: process.env, load: nodeGypBuild})
  return loaded
}

/**
 * {@link loadAddon} from a given place: prebuilt or built files, whichever fits this platform.
 *
 * @returns the addon unless it is switched off, absent, unloadable, or RFA_ISA names a set it lacks
 */
export function loadFrom({root, env, load}: LoadSite): LoadResult {
  if (isOn(env.RFA_NO_NATIVE)) {
    return {reason: 'switched off by RFA_NO_NATIVE', remedy: 'unset RFA_NO_NATIVE', absent: true}
  }
  let addon: Addon
  try {
    addon = load(root) as Addon
  } catch (error) {
    return unsupportedReason(root, error)
  }
  // the addon loads with a wrong RFA_ISA, too, and then runs another set: refused, never passed
  // over
  const {error, available} = addon.runtime()
  if (error === '') return {addon}
  return {reason: error, remedy: `set RFA_ISA to one of ${available}, or unset it`}
}

interface NodeGypBuild {
  (root: string): unknown
  path(root: string): string
}

/** @throws {BAD_FILE} for a prebuilt addon that is not as it was packed: it is not loaded */
function nodeGypBuild(root: string): unknown {
  const load = createRequire(import.meta.url)('node-gyp-build') as NodeGypBuild
  const changed = whyNotAsPacked(root, load.path(root))
  if (changed) throw new RfaError('BAD_FILE', changed)
  return load(root)
}

function unsupportedReason(root: string, error: unknown): LoadResult {
  const message = messageOf(error).split('\n')[0]!
  if (error instanceof RfaError) {
    return {
      reason: `the prebuilt addon was changed after it was packed: ${message}`,
      remedy: `install the package again; or ${REBUILD} ${COMPILER}`,
    }
  }
  if (message.includes('No native build was found')) {
    return {
      reason: `the addon is not built for ${process.platform} ${process.arch}`,
      remedy: `${REBUILD} ${COMPILER}${skippedScripts(root)}`,
      absent: true,
    }
  }
  if (/ERR_DLOPEN|GLIBC|cannot open shared object|invalid ELF|wrong architecture/i.test(message)) {
    return {
      reason: `the addon does not load here: ${message}`,
      remedy: `it was built on another system: ${REBUILD} ${COMPILER}`,
    }
  }
  return {reason: `the addon does not load: ${message}`, remedy: `${REBUILD} ${COMPILER}`}
}

/** npm 12 runs install scripts only when they are approved. */
function skippedScripts(root: string): string {
  const installed = root.includes('node_modules') && !existsSync(join(root, 'build'))
  return installed ? ', after npm approve-scripts rfa if npm skipped install scripts' : ''
}

/** Whether an environment switch is set: anything but nothing and 0. */
export function isOn(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0'
}
