#!/usr/bin/env node
// Python with the packages of a requirements file, in a separate virtual environment.
//
//   node scripts/python-environment.js REQUIREMENTS              prints the path of its python on stdout
//   node scripts/python-environment.js REQUIREMENTS COMMAND...   runs the command with that path in RFA_PYTHON
//
// An environment is made once, at $RFA_PYTHON_ENVIRONMENTS or ~/.cache/rfa/python, under a name with the hash of the
// requirements, the script's recipe and the Python; the folder may be deleted at any time. Where RFA_PYTHON is set already,
// that Python is taken as it is. Without Python or a network nothing can be made: one line on stderr says so, the
// command runs without RFA_PYTHON, and without a command the exit code is 3. Requirements that cannot be met are an
// error, exit code 1.
import {spawn, spawnSync} from 'node:child_process'
import {createHash} from 'node:crypto'
import {existsSync, mkdirSync, readFileSync, renameSync, rmSync} from 'node:fs'
import {homedir} from 'node:os'
import {basename, dirname, join, resolve} from 'node:path'
import {saysNoNetwork} from './pip-failure.js'

const OLDEST = [3, 10]
/** Another text makes all environments anew. */
const RECIPE = 'with bytecode'
const UNAVAILABLE = 3

/** An obstacle other than the requirements: reported, not failed. */
class Unavailable extends Error {}

try {
  await main(process.argv.slice(2))
} catch (error) {
  say(error.message)
  process.exitCode = error instanceof Unavailable ? UNAVAILABLE : 1
}

async function main([requirements, ...command]) {
  if (requirements === undefined || !existsSync(requirements)) {
    throw new Error(`expected a requirements file, got ${requirements ?? 'nothing'}`)
  }
  if (command.length === 0) {
    process.stdout.write(`${environment(resolve(requirements))}\n`)
  } else {
    process.exitCode = await run(command, pythonOrNone(resolve(requirements)))
  }
}

/** The path, or undefined where no environment can be made. */
function pythonOrNone(requirements) {
  try {
    return environment(requirements)
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    say(`${error.message}; what needs Python is skipped`)
    return undefined
  }
}

/** The path of a Python with the requirements, which is made where it is not there yet. */
function environment(requirements) {
  if (process.env.RFA_PYTHON) return process.env.RFA_PYTHON
  const base = basePython()
  const content = readFileSync(requirements)
  const key = createHash('sha256')
    .update(RECIPE)
    .update(content)
    .update(base.identity)
    .digest('hex')
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'rfa', 'python')
  const folder = join(process.env.RFA_PYTHON_ENVIRONMENTS || cache, key.slice(0, 16))
  if (existsSync(folder) && !runs(pythonOf(folder))) {
    say(`${folder} is broken and made again`)
    rmSync(folder, {recursive: true})
  }
  if (!existsSync(folder)) make(folder, base.path, requirements)
  return pythonOf(folder)
}

function runs(python) {
  return spawnSync(python, ['-c', '']).status === 0
}

/** Next to its place and then moved there: what stands there is complete, even if others make the same. */
function make(folder, base, requirements) {
  say(`installing ${join(basename(dirname(requirements)), basename(requirements))} into ${folder}`)
  const unfinished = `${folder}.${process.pid}`
  mkdirSync(dirname(folder), {recursive: true})
  try {
    const venv = spawnSync(base, ['-m', 'venv', unfinished], {encoding: 'utf8'})
    if (venv.status !== 0) {
      throw new Unavailable(`python3 -m venv does not work here: ${lastLine(venv)}`)
    }
    install(pythonOf(unfinished), requirements)
    compile(pythonOf(unfinished))
    if (!existsSync(folder)) renameSync(unfinished, folder)
  } finally {
    rmSync(unfinished, {recursive: true, force: true})
  }
}

function install(python, requirements) {
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input']
  const result = spawnSync(python, [...pip, '--no-compile', '-r', requirements], {
    stdio: ['ignore', 2, 'pipe'],
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  })
  if (result.status === 0) return
  const text = result.stderr
  if (saysNoNetwork(text)) {
    throw new Unavailable('no network: pip could not reach its package index')
  }
  throw new Error(`pip could not install ${requirements}:\n${text.trim()}`)
}

/**
 * Bytecode of all packages, on all cores: without it, and where Python may not keep bytecode, each start of PyTorch with
 * Transformers compiles for ten seconds. Code for other versions of Python does not compile: not an error.
 */
function compile(python) {
  const ask = 'import sysconfig; print(sysconfig.get_path("purelib"))'
  const {stdout} = spawnSync(python, ['-c', ask], {encoding: 'utf8'})
  spawnSync(python, ['-m', 'compileall', '-qq', '-j', '0', stdout.trim()], {stdio: 'ignore'})
}

/** The first Python on the PATH that is new enough. */
function basePython() {
  const ask = 'import sys, platform; print(*sys.version_info[:3], platform.machine(), sys.prefix)'
  for (const path of ['python3', 'python']) {
    const {status, stdout} = spawnSync(path, ['-c', ask], {encoding: 'utf8'})
    if (status !== 0) continue
    const [major, minor] = stdout.split(' ').map(Number)
    if (major === OLDEST[0] && minor >= OLDEST[1]) return {path, identity: stdout.trim()}
  }
  throw new Unavailable(`no Python ${OLDEST.join('.')} or newer was found as python3 or python`)
}

function pythonOf(folder) {
  return process.platform === 'win32'
    ? join(folder, 'Scripts', 'python.exe')
    : join(folder, 'bin', 'python')
}

/** Runs a command, of node_modules/.bin too, with the environment's Python; its exit code. */
function run([command, ...args], python) {
  const env = {...process.env}
  if (python !== undefined) env.RFA_PYTHON = python
  const child = spawn(command, args, {stdio: 'inherit', env})
  return new Promise((done, fail) => {
    child.on('error', fail)
    child.on('exit', (code, signal) => done(signal === null ? code : 1))
  })
}

function lastLine({error, stderr}) {
  return error?.message ?? stderr.trim().split('\n').at(-1)
}

function say(line) {
  process.stderr.write(`python-environment: ${line}\n`)
}
