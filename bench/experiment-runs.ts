/** Runs of experiments in fresh processes: cells alone, whole commands, and the peer. */
import {execFileSync} from 'node:child_process'
import {mkdtempSync, rmSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import type {ActiveBackend} from '../src/backends/index.js'
import type {CellOutcome} from '../src/experiments/experiment.js'
import {packageRoot} from '../src/package.js'
import {pythonPath} from '../src/python-path.js'
import {median} from '../src/stats/index.js'
import type {ExperimentCase} from './experiment-cases.js'

/** What the cells of a plan came to. */
export interface CellsRun {
  seconds: number
  backend: ActiveBackend
  outcomes: CellOutcome<Record<string, unknown>>[]
}

const CELLS = fileURLToPath(new URL('experiment-cells.js', import.meta.url))
const PROGRAM = join(packageRoot(), 'bin', 'run.js')
const PEER = join(packageRoot(), 'bench', 'peers', 'torch_experiments.py')

/** Cells alone, the start left out. */
export function runCells(plan: ExperimentCase['plan'], threads: number): CellsRun {
  return JSON.parse(output(process.execPath, [CELLS, JSON.stringify(plan), `${threads}`]))
}

/** Seconds of a whole command, which saves its run in a new folder. */
export function runCommand(argv: readonly string[]): number {
  const folder = mkdtempSync(join(tmpdir(), 'rfa-bench-'))
  try {
    const begin = performance.now()
    output(process.execPath, [PROGRAM, ...argv, '--quiet', '--output', join(folder, 'run')])
    return (performance.now() - begin) / 1e3
  } finally {
    rmSync(folder, {recursive: true})
  }
}

/** What the peer answers: seconds without its start, and what it found. */
export type PeerAnswer = {seconds: number} & Record<string, number>

/** A Python with torch. */
export interface Peer {
  version: string
  run(
    request: Readonly<Record<string, unknown>>,
    threads: number,
  ): {answer: PeerAnswer; wallSeconds: number}
}

/** The Python of peers, if it has torch. */
export function findTorch(): Peer | undefined {
  const python = pythonPath()
  const version = torchVersion(python)
  if (version === undefined) return undefined
  return {
    version,
    run(request, threads) {
      const asked = JSON.stringify({...request, threads})
      const begin = performance.now()
      const answer = JSON.parse(output(python, [PEER, asked], threadsOf(threads)))
      return {answer, wallSeconds: (performance.now() - begin) / 1e3}
    },
  }
}

function torchVersion(python: string): string | undefined {
  try {
    return output(python, ['-c', 'import torch, numpy; print(torch.__version__)']).trim()
  } catch {
    return undefined
  }
}

/** What a program prints. */
export function output(command: string, argv: readonly string[], env = process.env): string {
  return execFileSync(command, argv, {
    encoding: 'utf8',
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 2 ** 28,
  })
}

/** Fastest and middle of times in seconds. */
export function spread(times: readonly number[]) {
  return {min_s: Math.min(...times), median_s: median(times), runs: times.length}
}

/** A BLAS has other threads, which torch.set_num_threads does not set. */
const BLAS_THREADS = ['OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS']

/** The environment of a Python with a number of threads. */
function threadsOf(threads: number): NodeJS.ProcessEnv {
  return {...process.env, ...Object.fromEntries(BLAS_THREADS.map(name => [name, `${threads}`]))}
}
