/** Python with the peers, and the commands of their processes. */
import {execFileSync, spawnSync} from 'node:child_process'
import {readFileSync} from 'node:fs'
import {dirname, join} from 'node:path'
import type {ChildCommand} from '../../src/experiments/bench/measure/peers/conversation.js'
import {packageRoot} from '../../src/package.js'

/** Peers in the order of the tables. */
export const PEERS = [
  'torch',
  'jax',
  'onnxruntime',
  'performer-pytorch',
  'pytorch-fast-transformers',
  'linear-attention-transformer',
] as const
export type PeerName = (typeof PEERS)[number]

/** The peer that is built from source, and its minutes. */
const BUILT: PeerName = 'pytorch-fast-transformers'
/** Compiling the longest form, on a busy machine. */
const PATIENCE_MS = 600_000
const FOLDER = join(packageRoot(), 'bench', 'peers')
const SOURCE_REQUIREMENTS = join(FOLDER, 'requirements-source.txt')

/** What is in the way of all peers, in a sentence. */
export class NoPython extends Error {}

/** A Python with the peers that PyPI has built, made where it is not there. @throws {NoPython} */
export function peersPython(): string {
  const script = join(packageRoot(), 'scripts', 'python-environment.js')
  const {status, stdout} = spawnSync(process.execPath, [script, join(FOLDER, 'requirements.txt')], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (status !== 0) throw new NoPython('expected a Python with the peers, got none: see above')
  return stdout.trim()
}

/** Builds the peer that PyPI has as source only, once a version. @throws {Error} with the last lines of the compiler */
export function buildFromSource(python: string): void {
  const ask = `import importlib.metadata as m; print(m.version("${BUILT}"))`
  const {stdout} = spawnSync(python, ['-c', ask], {encoding: 'utf8'})
  if (stdout?.trim() === pinnedVersion(readFileSync(SOURCE_REQUIREMENTS, 'utf8'), BUILT)) return
  process.stderr.write(`bench:peers: building ${BUILT}, which takes minutes\n`)
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input']
  const source = ['--no-deps', '--no-build-isolation', '-r', SOURCE_REQUIREMENTS]
  execFileSync(python, [...pip, ...source], {
    env: environmentOf(python),
    stdio: ['ignore', 2, 'pipe'],
  })
}

/** The version that requirements pin a package to; `undefined`: none. */
export function pinnedVersion(requirements: string, name: string): string | undefined {
  const lines = requirements.split('\n').map(line => line.trim().split('=='))
  return lines.find(([pinned]) => pinned === name)?.[1]
}

/** Whether a peer takes a compiler first. */
export function isBuilt(name: PeerName): boolean {
  return name === BUILT
}

export function peerCommand(name: PeerName, python: string, threads: number): ChildCommand {
  const args = [join(FOLDER, 'driver.py'), name, '--threads', `${threads}`]
  return {name, command: python, args, env: environmentOf(python), patience: PATIENCE_MS}
}

/** Beside the Python: its programs (ninja), and what torch.compile has compiled before. */
function environmentOf(python: string): NodeJS.ProcessEnv {
  const bin = dirname(python)
  return {
    ...process.env,
    PATH: `${bin}:${process.env.PATH ?? ''}`,
    TORCHINDUCTOR_CACHE_DIR: process.env.TORCHINDUCTOR_CACHE_DIR ?? join(bin, '..', 'inductor'),
    PYTHONDONTWRITEBYTECODE: '1',
  }
}
