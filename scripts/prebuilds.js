#!/usr/bin/env node
// Builds the addon for every platform of TARGETS into prebuilds/, where node-gyp-build finds it: from a fresh copy of
// the sources, by what `npm ci` runs, so that the bytes depend on sources and compiler alone. Fails where an addon
// would need a newer system than Node itself does.
//
// An addon that is newer than all it is made of is kept. With --available it leaves out, and names, the platforms for
// which there is no compiler.
import {spawnSync} from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import {tmpdir} from 'node:os'
import {dirname, join} from 'node:path'
import {fileURLToPath} from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

const HEADER = join('scripts', 'older-libc.h')

/** Platform by platform: how its GNU tools are called from another machine, and what brings them on Debian. */
const TARGETS = [
  {arch: 'x64', prefix: 'x86_64-linux-gnu-', debian: 'g++-x86-64-linux-gnu'},
  {arch: 'arm64', prefix: 'aarch64-linux-gnu-', debian: 'g++-aarch64-linux-gnu'},
]

/** What an addon is made of, and by. */
const SOURCES = [
  'package.json',
  'binding.gyp',
  'scripts/install-native.js',
  'scripts/node-gyp.js',
  ...readdirSync(join(root, 'native'))
    .filter(name => /\.(cc|h)$|^(bindings|kernels|simd)$/.test(name))
    .map(name => join('native', name)),
]
const BUILDERS = ['package-lock.json', 'scripts/prebuilds.js', HEADER]

/** The oldest libraries that Node 20 runs on: glibc 2.28 and the libstdc++ of gcc 8. */
const NEWEST = {GLIBC: '2.28', GLIBCXX: '3.4.25', CXXABI: '1.3.11', GCC: '7.0.0'}

main(process.argv.includes('--available'))

function main(availableOnly) {
  if (process.platform !== 'linux') fail(`expected Linux, got ${process.platform}`)
  const missing = TARGETS.filter(target => !runs(`${prefixOf(target)}g++`, ['--version']))
  for (const target of missing) {
    const line = `linux-${target.arch}: ${prefixOf(target)}g++ was not found; on Debian: apt install ${target.debian}`
    if (!availableOnly) fail(line)
    say(`left out ${line}`)
  }
  const newest = Math.max(...[...SOURCES, ...BUILDERS].map(changed))
  for (const target of TARGETS) {
    const place = placeOf(target)
    if (missing.includes(target)) rmSync(join(root, dirname(place)), {recursive: true, force: true})
    else if (changed(place) > newest) say(`${place} is up to date`)
    else build(target, place)
  }
}

function placeOf({arch}) {
  return join('prebuilds', `linux-${arch}`, 'rfa.glibc.node')
}

/** When a file, or anything in a folder, last changed; 0 where there is none. */
function changed(path) {
  const place = join(root, path)
  if (!existsSync(place)) return 0
  const inside = statSync(place).isDirectory() ? readdirSync(place, {recursive: true}) : ['.']
  return Math.max(...inside.map(name => statSync(join(place, name)).mtimeMs))
}

/** The compiler of this machine for its own platform, a cross compiler for any other. */
function prefixOf({arch, prefix}) {
  return arch === process.arch ? '' : prefix
}

function build(target, place) {
  const folder = mkdtempSync(join(tmpdir(), 'rfa-prebuild-'))
  try {
    copySources(folder)
    const script = join(folder, 'scripts', 'install-native.js')
    const {status, stdout, stderr} = spawnSync(process.execPath, [script, '--required'], {
      cwd: folder,
      env: {...process.env, ...toolsOf(target)},
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
    })
    if (status !== 0) fail(`linux-${target.arch}: not built\n${stdout}${stderr}`)
    mkdirSync(dirname(join(root, place)), {recursive: true})
    cpSync(join(folder, 'build', 'Release', 'rfa.node'), join(root, place))
    say(`${place}, ${statSync(join(root, place)).size} bytes, needs ${checkedNeeds(place)}`)
  } finally {
    rmSync(folder, {recursive: true, force: true})
  }
}

function copySources(folder) {
  for (const part of SOURCES) cpSync(join(root, part), join(folder, part), {recursive: true})
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
}

function toolsOf(target) {
  const prefix = prefixOf(target)
  return {
    npm_config_arch: target.arch,
    ...{CC: `${prefix}gcc`, CXX: `${prefix}g++`, LINK: `${prefix}g++`, AR: `${prefix}ar`},
    ...{CFLAGS: '', CPPFLAGS: '', CXXFLAGS: `-include ${join(root, HEADER)}`},
    LDFLAGS: '-s',
  }
}

/** The newest version of each library that an addon needs, in words; fails where one is newer than it may be. */
function checkedNeeds(place) {
  const {stdout} = spawnSync('objdump', ['-p', join(root, place)], {encoding: 'utf8'})
  const references = stdout.slice(stdout.indexOf('Version References:'))
  const newest = {}
  for (const [, library, version] of references.matchAll(/ ([A-Z]+)_([\d.]+)$/gm)) {
    if (!(library in newest) || isNewer(version, newest[library])) newest[library] = version
  }
  if (!newest.GLIBC) fail(`${place}: objdump -p names no version of glibc`)
  for (const [library, version] of Object.entries(newest)) {
    const most = NEWEST[library]
    if (!most || isNewer(version, most)) {
      fail(
        `${place}: needs ${library} ${version}, expected at most ${most}; objdump -T names the function, older-libc.h takes an earlier one`,
      )
    }
  }
  return Object.entries(newest)
    .map(words => words.join(' '))
    .join(', ')
}

function isNewer(version, than) {
  return version.localeCompare(than, 'en', {numeric: true}) > 0
}

function runs(command, argv) {
  return spawnSync(command, argv, {stdio: 'ignore'}).status === 0
}

function say(line) {
  process.stdout.write(`${line}\n`)
}

function fail(line) {
  process.stderr.write(`${line}\n`)
  process.exit(1)
}
