/** Why backend `tensorflow` is not there, and what to do about it. */
import {isAbsolute, join, relative, sep} from 'node:path'
import {messageOf} from '../errors.js'
import {packageRoot} from '../package.js'
import {quoted} from '../shell-words.js'
import type {Availability} from './types.js'

/** The package, named at run time: it is optional, so the compiler must not need its types. */
export const PACKAGE = '@tensorflow/tfjs-node'
/** The one that package.json names. */
const VERSION = '4.22.0'

type Absence = Pick<Availability, 'reason' | 'remedy'>

/** Where the set-up script knows a library. */
const SET_UP_ON = ['linux x64', 'linux arm64']

/** The facts of this process that remedies depend on. */
interface Place {
  platform: string
  arch: string
  /** Of this package. */
  root: string
  cwd: string
}

function here(): Place {
  const {platform, arch} = process
  return {platform, arch, root: packageRoot(), cwd: process.cwd()}
}

/** The command that sets the backend up, where there is one for this platform. */
function setUpCommand({platform, arch, root, cwd}: Place): string | undefined {
  if (!SET_UP_ON.includes(`${platform} ${arch}`)) return undefined
  if (!isInstalled(root)) return 'npm run setup:tensorflow'
  const script = join(root, 'scripts', 'setup-tensorflow.js')
  const near = relative(cwd, script)
  return `node ${quoted(near.startsWith('..') || isAbsolute(near) ? script : near)}`
}

/**
 * Why it is absent: the package was removed because its install script failed, the script was never run, or the
 * library that its addon needs is gone.
 *
 * @param error - what importing the package threw
 */
export function whyNotLoaded(error: unknown, place = here()): Absence {
  const message = messageOf(error)
  const command = setUpCommand(place)
  const missing = (error as NodeJS.ErrnoException | null)?.code === 'ERR_MODULE_NOT_FOUND'
  if (missing && message.includes(PACKAGE)) {
    if (isInstalled(place.root)) return notAdded(command)
    const mirror =
      'set TFJS_NODE_CDN_STORAGE to a mirror that this machine reaches and install again'
    return {
      reason: `${PACKAGE} is not installed: npm leaves it out where libtensorflow cannot be downloaded`,
      remedy: command ? `${command}, which takes it from a package of PyPI` : mirror,
    }
  }
  if (/libtensorflow\S*: cannot open shared object/.test(message)) {
    return {
      reason: `${PACKAGE} is installed but its library is not: ${message}`,
      remedy: command ?? `npm rebuild ${PACKAGE}`,
    }
  }
  if (/tfjs_binding|native addon/i.test(message)) {
    const rebuild = `npm rebuild ${PACKAGE} (with npm 12, approve its script first: npm approve-scripts)`
    return {
      reason: `${PACKAGE} is installed but its native addon is not: its install script did not run`,
      remedy: command ? `${command}; or, where its download is not refused, ${rebuild}` : rebuild,
    }
  }
  return {reason: `${PACKAGE} does not load: ${message}`, remedy: 'run npm ci again'}
}

/** Whether this package is a dependency of a project, and no checkout. */
function isInstalled(root: string): boolean {
  return root.includes(`${sep}node_modules${sep}`)
}

/** Who installs this package gets the engine on request alone: it is an optional peer. */
function notAdded(command: string | undefined): Absence {
  const add = `npm install ${PACKAGE}@${VERSION}`
  const instead = `; or, where its download is refused, ${command}, which takes the library from a package of PyPI`
  return {
    reason: `${PACKAGE} is not installed: it is an optional addition`,
    remedy: `${add}${command ? instead : ''}`,
  }
}

/** It registers with the TensorFlow.js that it finds itself, which must be the one that attention computes with. */
export function whyNotRegistered(): Absence {
  return {
    reason: `${PACKAGE} has another copy of @tensorflow/tfjs-core than this package`,
    remedy:
      'npm ls @tensorflow/tfjs-core shows which package needs another version; npm dedupe may help',
  }
}

/**
 * The addon loads, then kernels fail, as on Node versions that removed utilities which it calls.
 *
 * @param error - what running an operation threw
 */
export function whyNotRunning(error: unknown): Absence {
  const message = messageOf(error)
  if (/isNullOrUndefined|is not a function/.test(message)) {
    return {
      reason: `${PACKAGE} loads but does not run on Node ${process.versions.node}: ${message}`,
      remedy: 'use Node 20 or 22 for this backend',
    }
  }
  return {reason: `${PACKAGE} loads but does not run: ${message}`, remedy: 'use `backend: wasm`'}
}
