/** Python with the peers. */
import {execFileSync, spawnSync} from 'node:child_process'
import {delimiter, dirname, join} from 'node:path'
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

/** The peer that is built from source. */
const BUILT: PeerName = 'pytorch-fast-transformers'
const FOLDER = join(packageRoot(), 'bench', 'peers')
const SOURCE_REQUIREMENTS = join(FOLDER, 'requirements-source.txt')

/** What is in the way of all peers, in a sentence. */
export class NoPython extends Error {}

/**
 * Has peers run in a Python with those that PyPI has built, made where it is not there: with its programs (ninja), and what
 * torch.compile has compiled before.
 *
 * @throws {NoPython}
 */
export function usePeersPython(): void {
  const script = join(packageRoot(), 'scripts', 'python-environment.js')
  const {status, stdout} = spawnSync(process.execPath, [script, join(FOLDER, 'requirements.txt')], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (status !== 0) throw new NoPython('expected a Python with the peers, got none: see above')
  const python = stdout.trim()
  const bin = dirname(python)
  process.env.RFA_PYTHON = python
  process.env.PATH = [bin, process.env.PATH ?? ''].join(delimiter)
  process.env.TORCHINDUCTOR_CACHE_DIR ??= join(bin, '..', 'inductor')
}

/** Has pip build a peer that PyPI has as source only, once a version. @throws {Error} with the last lines of the compiler */
export function buildFromSource(peer: PeerName): void {
  const python = process.env.RFA_PYTHON
  if (peer !== BUILT || !python) return
  process.stderr.write(
    `bench:peers: building ${BUILT} where it is not there yet, which takes minutes\n`,
  )
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input']
  const source = ['--no-deps', '--no-build-isolation', '-r', SOURCE_REQUIREMENTS]
  execFileSync(python, [...pip, ...source], {stdio: ['ignore', 2, 'pipe']})
}
