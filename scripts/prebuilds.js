#!/usr/bin/env node
// Builds the addon for every platform of TARGETS into prebuilds/, where node-gyp-build finds it: from a fresh copy of
// the sources, by what `npm ci` runs, so that the bytes depend on sources and compiler alone. Fails where an addon
// would need a newer system than Node itself does, and then puts none there.
//
// An addon of the same sources and the same compiler is kept. With --available it leaves out, and names, the
// platforms without a compiler.
import {spawnSync} from 'node:child_process'
import {cpSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {dirname, join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {isMadeOf, putAddon, sumOf} from './prebuilds/addon.js'

const root = fileURLToPath(new URL('..', import.meta.url))

const HEADER = 'scripts/older-libc.h'

/** Platform by platform: how its GNU tools are called from another machine, and what brings them on Debian. */
const TARGETS = [
  {arch: 'x64', prefix: 'x86_64-linux-gnu-', debian: 'g++-x86-64-linux-gnu'},
  {arch: 'arm64', prefix: 'aarch64-linux-gnu-', debian: 'g++-aarch64-linux-gnu'},
]

/** What an addon is made of, and by. */
const SOURCES = [
  'package.json',
  'binding.gyp',
  HEADER,
  'scripts/install-native.js',
  'scripts/node-gyp.js',
  ...readdirSync(join(root, 'native'))
    .filter(name => /\.(cc|h)$|^(bindings|kernels|simd)$/.test(name))
    .map(name => join('native', name)),
]
const BUILDERS = ['package-lock.json', 'scripts/prebuilds.js', 'scripts/prebuilds']

try {
  main(process.argv.includes('--available'))
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}

function main(availableOnly) {
  if (process.platform !== 'linux') throw new Error(`expected Linux, got ${process.platform}`)
  const compilers = new Map(TARGETS.map(target => [target, compilerOf(target)]))
  for (const target of TARGETS.filter(each => !compilers.get(each))) {
    const line = `linux-${target.arch}: ${prefixOf(target)}g++ was not found; on Debian: apt install ${target.debian}`
    if (!availableOnly) throw new Error(line)
    say(`left out ${line}`)
  }
  for (const [target, compiler] of compilers) {
    const place = join('prebuilds', `linux-${target.arch}`, 'rfa.glibc.node')
    if (compiler) keepOrBuild(target, place, sumOf(root, [...SOURCES, ...BUILDERS], compiler))
    else rmSync(join(root, dirname(place)), {recursive: true, force: true})
  }
}

/** What the compiler for a platform says of itself; `undefined` where there is none. */
function compilerOf(target) {
  const {status, stdout} = spawnSync(`${prefixOf(target)}g++`, ['--version'], {encoding: 'utf8'})
  return status === 0 ? stdout : undefined
}

/** The compiler of this machine for its own platform, a cross compiler for any other. */
function prefixOf({arch, prefix}) {
  return arch === process.arch ? '' : prefix
}

function keepOrBuild(target, place, sum) {
  if (isMadeOf(join(root, place), sum)) return say(`${place} is up to date`)
  const folder = mkdtempSync(join(tmpdir(), 'rfa-prebuild-'))
  try {
    const built = build(target, folder)
    const needs = putAddon(built, join(root, place), sum)
    say(`${place}, ${statSync(built).size} bytes, needs ${needs}`)
  } finally {
    rmSync(folder, {recursive: true, force: true})
  }
}

/** Builds in a separate folder. @returns the addon there */
function build(target, folder) {
  for (const part of SOURCES) cpSync(join(root, part), join(folder, part), {recursive: true})
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const script = join(folder, 'scripts', 'install-native.js')
  const {status, stdout, stderr} = spawnSync(process.execPath, [script, '--required'], {
    cwd: folder,
    env: {...process.env, ...toolsOf(target)},
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  })
  if (status !== 0) throw new Error(`linux-${target.arch}: not built\n${stdout}${stderr}`)
  return join(folder, 'build', 'Release', 'rfa.node')
}

function toolsOf(target) {
  const prefix = prefixOf(target)
  return {
    npm_config_arch: target.arch,
    ...{CC: `${prefix}gcc`, CXX: `${prefix}g++`, LINK: `${prefix}g++`, AR: `${prefix}ar`},
    // from build/ of the copy: make would part an absolute path at its spaces
    ...{CFLAGS: '', CPPFLAGS: '', CXXFLAGS: `-include ../${HEADER}`},
    LDFLAGS: '-s',
  }
}

function say(line) {
  process.stdout.write(`${line}\n`)
}
