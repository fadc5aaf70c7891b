#!/usr/bin/env node
// Builds the native addon at install time where nothing prebuilt fits. Never fails the install: without
// the addon everything runs on WebAssembly. Says that it starts to build, and how it went; RFA_NO_NATIVE=1 skips it.
//
// With --required it builds whatever there is, shows what the compiler says, and fails when that fails.
import {spawnSync} from 'node:child_process'
import {closeSync, constants, existsSync, openSync, writeSync} from 'node:fs'
import {createRequire} from 'node:module'
import {join} from 'node:path'
import {fileURLToPath, pathToFileURL} from 'node:url'
import {headerArguments, missingTools, nodeGyp} from './node-gyp.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const require = createRequire(import.meta.url)
const ADDON = join(root, 'build', 'Release', 'rfa.node')
const START = 'building the C++ addon, about a minute (RFA_NO_NATIVE=1 does without)'
const DOCTOR = existsSync(join(root, 'bin', 'run.js')) ? ' (see rfa doctor)' : ''
const LOST = `everything runs on WebAssembly instead${DOCTOR}`

if (process.argv.includes('--required')) buildOrFail()
else await main()

function buildOrFail() {
  const build = runNodeGyp('build', 'inherit')
  process.exitCode = build?.status ?? 1
  if (!build) say('addon not built: node-gyp was not found next to npm')
}

async function main() {
  if (isOn(process.env.RFA_NO_NATIVE)) return say(`addon skipped by RFA_NO_NATIVE; ${LOST}`)
  // the first npx in a checkout runs install scripts again: what is built there is built
  if (process.env.npm_command === 'exec' && existsSync(ADDON)) return
  const found = await prebuilt()
  if (found === 'fits') return say('prebuilt addon fits this machine')
  if (found) say(`prebuilt addon not taken: ${found}`)
  if (!nodeGyp()) return say(`addon not built: node-gyp was not found next to npm; ${LOST}`)
  say(START)
  tellTerminal(START)
  const build = buildWhatChanged() ?? runNodeGyp('rebuild', 'pipe')
  if (build.status === 0) return say('addon built')
  say(`addon not built: ${reason(build)}; ${LOST}`)
}

/** Over an earlier build, as `npx` in a checkout runs install scripts again; `undefined` where that does not do. */
function buildWhatChanged() {
  if (!existsSync(join(root, 'build', 'Release', 'rfa.node'))) return undefined
  const build = runNodeGyp('build', 'pipe')
  return build?.status === 0 ? build : undefined
}

/** Configures and makes, incrementally with `build`; `undefined` without node-gyp. */
function runNodeGyp(command, stdio) {
  const tool = nodeGyp()
  if (!tool) return undefined
  const steps = command === 'build' ? ['configure', 'build'] : [command]
  return spawnSync(process.execPath, [tool, ...steps, '-j', 'max', ...headerArguments()], {
    cwd: root,
    stdio,
    encoding: 'utf8',
    env: {...process.env, npm_config_loglevel: 'error'},
    maxBuffer: 2 ** 26,
  })
}

function say(line) {
  process.stdout.write(`rfa: ${line}\n`)
}

/**
 * Informs a person who waits: npm hides what install scripts print, but they still run in its terminal. Without a
 * terminal, as in CI, nothing is written; a terminal that accepts nothing does not block.
 */
function tellTerminal(line) {
  const {npm_config_user_agent: manager = '', npm_config_foreground_scripts: shown} = process.env
  const hidden = manager.startsWith('npm/') && shown !== 'true' && !process.stdout.isTTY
  const wanted = !isOn(process.env.CI) && process.env.npm_config_loglevel !== 'silent'
  if (!hidden || !wanted || process.platform === 'win32') return
  try {
    const terminal = openSync(
      '/dev/tty',
      constants.O_WRONLY | constants.O_NOCTTY | constants.O_NONBLOCK,
    )
    writeSync(terminal, `\r\x1b[Krfa: ${line}\n`) // over what npm draws there
    closeSync(terminal)
  } catch {
    // no terminal, or none that listens
  }
}

function isOn(value) {
  return value !== undefined && value !== '' && value !== '0'
}

/**
 * Whether `prebuilds/` holds an addon that `fits`: as it was packed, and loads here; one left in `build/` may be of older source.
 *
 * @returns how it differs from the one that was packed; `undefined` where there is none for this machine
 */
async function prebuilt() {
  if (!existsSync(join(root, 'prebuilds'))) return undefined
  process.env.PREBUILDS_ONLY = '1' // read when node-gyp-build loads
  try {
    const load = require('node-gyp-build')
    const changed = await whyNotAsPacked(load.path(root))
    if (changed) return changed
    load(root)
    return 'fits'
  } catch {
    return undefined
  } finally {
    delete process.env.PREBUILDS_ONLY
  }
}

/** By the code that looks when an addon is loaded; a checkout that is not built has no checksums either. */
async function whyNotAsPacked(file) {
  const code = join(root, 'dist/src/backends/native/prebuilt.js')
  if (!existsSync(code)) return undefined
  return (await import(pathToFileURL(code).href)).whyNotAsPacked(root, file)
}

/** What went wrong, in one line. */
function reason({error, stdout, stderr}) {
  if (error) return error.message
  const text = `${stderr}\n${stdout}`
  const missing = missingTools(text)
  if (missing) return missing
  const line = text
    .split('\n')
    .find(candidate => /error/i.test(candidate) && !/ERR! stack/.test(candidate))
  return (line ?? 'node-gyp failed').trim().slice(0, 200)
}
