#!/usr/bin/env node
// Makes backend `tensorflow` run where the download of its package is refused: the C library out of a wheel of PyPI,
// tfjs-node's addon built from its own sources against it. No Python is run, nothing but node_modules and the cache
// is written. What is there already is not made again.
//
// Exit codes: 0 it runs, 3 it is not to be had here (no network, no library for this platform, no compiler), 1 failed.
import {spawnSync} from 'node:child_process'
import {existsSync, rmSync, statfsSync} from 'node:fs'
import {createRequire} from 'node:module'
import {join} from 'node:path'
import {fileURLToPath, pathToFileURL} from 'node:url'
import {parseArgs} from 'node:util'
import {addonPath, buildAddon} from './tensorflow/build.js'
import {Failure, Unavailable} from './tensorflow/failure.js'
import {nodePackage} from './tensorflow/node-package.js'
import {say} from './tensorflow/say.js'
import {isUnpacked, unpack} from './tensorflow/unpack.js'
import {wheelOnDisk} from './tensorflow/wheel-file.js'
import {TENSORFLOW, wheelFor} from './tensorflow/wheels.js'

const root = fileURLToPath(new URL('..', import.meta.url)).replace(/[\\/]$/, '')
const UNAVAILABLE = 3
const USAGE = `usage: setup-tensorflow [--wheel FILE] [--force]

  --wheel FILE  take this wheel instead of downloading it
  --force       unpack and build again what is there

PIP_INDEX_URL or pip's files name the package index, XDG_CACHE_HOME where the wheel is kept.
Exit codes: 0 backend tensorflow runs, 3 it is not to be had here (network, platform, compiler), 1 failed.
`

try {
  await main()
} catch (error) {
  if (!(error instanceof Failure)) throw error
  say.end()
  process.stderr.write(`rfa: ${error.message}\n`)
  for (const remedy of error.remedies) process.stderr.write(`     try: ${remedy}\n`)
  process.exitCode = error instanceof Unavailable ? UNAVAILABLE : 1
}

async function main() {
  const {wheel: given, force, help} = options()
  if (help) return process.stdout.write(USAGE)
  if (!force && tryBackend(root).runs) return say('backend tensorflow runs already')
  const wheel = wheelFor(process.platform, process.arch, {glibc: hasGlibc()})
  if (wheel.refused) {
    throw new Unavailable(wheel.refused, 'backends native and wasm need no TensorFlow')
  }
  const folder = nodePackage(root, say)
  await library(folder, {wheel, given, force})
  if (force || !existsSync(addonPath(folder))) {
    say('building its addon, half a minute')
    buildAddon(folder)
  }
  const {runs, why} = tryBackend(root)
  if (!runs) throw new Failure(`set up, but backend tensorflow does not run: ${why}`, 'try --force')
  say(`backend tensorflow runs, with TensorFlow ${TENSORFLOW}; after npm ci run this again`)
}

function options() {
  const flags = {
    wheel: {type: 'string'},
    force: {type: 'boolean'},
    help: {type: 'boolean', short: 'h'},
  }
  try {
    return parseArgs({options: flags}).values
  } catch (error) {
    throw new Failure(error.message, 'options are --wheel FILE, --force and --help')
  }
}

/** The library in `deps` of tfjs-node; an addon that was built against another one goes. */
async function library(folder, {wheel, given, force}) {
  const deps = join(folder, 'deps')
  if (!force && isUnpacked(deps, wheel)) return
  checkRoom(folder, wheel.unpacked)
  const file = await wheelOnDisk(wheel, {given, proxyAgent: proxyAgentOf(folder), say})
  say(`unpacking its libraries (${Math.round(wheel.unpacked / 1e6)} MB) into node_modules`)
  rmSync(addonPath(folder), {force: true})
  await unpack(file, deps, {wheel, say})
}

/** Refuses to start what a disk has no room for. */
function checkRoom(folder, bytes) {
  const {bavail, bsize} = statfsSync(folder)
  const free = bavail * bsize
  if (free > bytes) return
  const megabytes = size => `${Math.round(size / 1e6)} MB`
  throw new Failure(
    `expected ${megabytes(bytes)} free in ${folder}, found ${megabytes(free)}`,
    'free some',
  )
}

/** Makes agents for a proxy out of the package that tfjs-node brings for it. */
function proxyAgentOf(folder) {
  return proxy => {
    const Agent = createRequire(join(folder, 'package.json'))('https-proxy-agent')
    return new Agent(proxy)
  }
}

/** Whether this Linux has glibc; other systems have their own table. */
function hasGlibc() {
  return Boolean(process.report.getReport().header.glibcVersionRuntime)
}

/**
 * Whether backend `tensorflow` runs, found out as a user would: in a separate process, through this package.
 *
 * @param root - the folder of this package
 * @returns whether it runs, or the reason why not
 * @throws {Failure} where this package is not built
 */
function tryBackend(root) {
  const library = join(root, 'dist', 'src', 'index.js')
  if (!existsSync(library)) throw new Failure('this checkout is not built yet', 'npm run build')
  const program = `
    const {useBackend} = await import(${JSON.stringify(pathToFileURL(library).href)})
    await useBackend('tensorflow').catch(error => {
      console.error(error.message)
      process.exitCode = 1
    })`
  const {status, stderr} = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
    env: {...process.env, TF_CPP_MIN_LOG_LEVEL: '3'},
  })
  return status === 0 ? {runs: true} : {runs: false, why: stderr.trim().split('\n').at(-1)}
}
