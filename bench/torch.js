/** Plain PyTorch in a Python process of its own, one run per request. */
import {spawn} from 'node:child_process'
import {createInterface} from 'node:readline'
import {fileURLToPath} from 'node:url'

const SCRIPT = fileURLToPath(new URL('peers/torch_peers.py', import.meta.url))

/** Pythons that may have torch: the one asked for, the one in use, that of the system's packages. */
const PYTHONS = [process.env.RFA_PYTHON, 'python3', '/usr/bin/python3'].filter(Boolean)

/**
 * Starts the peer.
 *
 * @returns `undefined` where no python3 has torch; else its facts, `time(case)` in nanoseconds (`null`
 *   for a case it does not know) and `stop()`
 */
export async function startTorch(threads) {
  for (const python of PYTHONS) {
    const peer = await startWith(python, threads)
    if (peer) return peer
  }
  return undefined
}

/** A BLAS has threads of its own, which torch.set_num_threads does not reach. */
const BLAS_THREADS = ['OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS']

async function startWith(python, threads) {
  const child = spawn(python, [SCRIPT, '--threads', String(threads)], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {...process.env, ...Object.fromEntries(BLAS_THREADS.map(name => [name, `${threads}`]))},
  })
  const lines = createInterface({input: child.stdout})[Symbol.asyncIterator]()
  const gone = new Promise(resolve => child.once('error', () => resolve({done: true})))
  const read = async () => {
    const {value, done} = await Promise.race([lines.next(), gone])
    return done ? undefined : JSON.parse(value)
  }
  const facts = await read()
  if (!facts) return undefined
  const ask = async request => {
    child.stdin.write(`${JSON.stringify(request)}\n`)
    return read()
  }
  return {
    facts,
    time: async given => (await ask(given))?.ns ?? null,
    stop: () => child.stdin.end(),
  }
}
