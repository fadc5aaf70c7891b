/** Plain PyTorch in a Python process of its own, one run per request. */
import {spawn} from 'node:child_process'
import {join} from 'node:path'
import {createInterface} from 'node:readline'
import {packageRoot} from '../src/package.js'
import type {DecodeCase, KernelCase} from './cases.js'
import type {TorchFacts} from './report-schema.js'

/** The peer while it runs. */
export interface Torch {
  facts: TorchFacts
  /** Nanoseconds of one run; `NaN` for a case that it does not know. */
  time(given: KernelCase | DecodeCase): Promise<number>
  stop(): void
}

/** Pythons that may have torch: the one asked for, the one in use, that of the system's packages. */
export const PYTHONS = [process.env.RFA_PYTHON, 'python3', '/usr/bin/python3']

/** Starts the peer; `undefined` where no python3 has torch. */
export async function startTorch(threads: number): Promise<Torch | undefined> {
  for (const python of PYTHONS) {
    const peer = python ? await startWith(python, threads) : undefined
    if (peer) return peer
  }
  return undefined
}

/** A BLAS has threads of its own, which torch.set_num_threads does not reach. */
const BLAS_THREADS = ['OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS']

/** The environment of a Python of so many threads. */
export function threadsOf(threads: number): NodeJS.ProcessEnv {
  return {...process.env, ...Object.fromEntries(BLAS_THREADS.map(name => [name, `${threads}`]))}
}

async function startWith(python: string, threads: number): Promise<Torch | undefined> {
  const script = join(packageRoot(), 'bench', 'peers', 'torch_peers.py')
  const child = spawn(python, [script, '--threads', String(threads)], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: threadsOf(threads),
  })
  const lines = createInterface({input: child.stdout})[Symbol.asyncIterator]()
  const gone = new Promise<undefined>(resolve => child.once('error', () => resolve(undefined)))
  const read = async () => {
    const line = await Promise.race([lines.next(), gone])
    return line === undefined || line.done ? undefined : JSON.parse(line.value)
  }
  const facts: TorchFacts | undefined = await read()
  if (!facts) return undefined
  return {
    facts,
    async time(given) {
      child.stdin.write(`${JSON.stringify(given)}\n`)
      const answer: {ns: number | null} | undefined = await read()
      return answer?.ns ?? Number.NaN
    },
    stop: () => child.stdin.end(),
  }
}
