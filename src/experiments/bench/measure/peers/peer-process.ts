/** A peer in a separate process, see `python/rfa_peers.py`. */
import {join} from 'node:path'
import {z} from 'zod'
import {PRESET_NAMES} from '../../../../attention/names.js'
import {expected, type RfaError} from '../../../../errors.js'
import {packageRoot} from '../../../../package.js'
import {type Ask, startPython} from '../../../../plugins/python/asking.js'
import type {ChildCommand} from '../../../../plugins/python/conversation.js'
import {pythonPath} from '../../../../python-path.js'
import {peerParts} from '../../fields/peers.js'

const facts = z.object({
  version: z.string(),
  /** Versions by package, its own first. */
  packages: z.record(z.string(), z.string()),
  python: z.string(),
  instruction_set: z.string().nullable(),
})
export type PeerFacts = z.infer<typeof facts>

export interface PeerCase {
  method: string
  /** Which of its forms; the ordinary one where none is named. */
  form?: string | undefined
  /** Token by token, those that are given again and again. */
  decode: boolean
  causal: boolean
  batch: number
  heads: number
  /** L, of queries and keys. */
  length: number
  /** Tokens that are given: L where nothing is decoded. */
  tokens: number
  head_dim: number
  value_dim: number
  num_features: number
  /** Of Python, which has the method, with the options of its function. */
  file?: {path: string; library: string; options: Record<string, unknown>} | undefined
}

/** Its tensors, `[B, H, n, D]`, `[B, H, n, D]`, `[B, H, n, Dv]` and, where the method draws one, `[H, M, D]`. */
export interface PeerInputs {
  query: Float32Array
  key: Float32Array
  value: Float32Array
  projection?: Float32Array | undefined
}

/** A case that a peer holds, until it is dropped. */
export interface MadeCase {
  /** `[B, H, L, Dv]`. */
  output(): Promise<Float32Array>
  /** Times of single runs, in ns: one at least, no more than `runs`, no new one after `ns`. */
  time(budget: {runs: number; ns: number}): Promise<readonly number[]>
  /** Frees it. Never rejects: a peer that is gone holds nothing. */
  drop(): Promise<void>
}

/** A peer while it runs. It does one thing at a time, whoever asks: what else it did would be in the times. */
export interface Peer {
  readonly facts: PeerFacts
  readonly pid: number
  /** Whether it can be asked. */
  readonly alive: boolean
  /** The forms of a case, the ordinary one first, and the preset of this package that computes the same. */
  forms(given: PeerCase): Promise<PeerForms>
  make(given: PeerCase, inputs: PeerInputs): Promise<MadeCase>
  stop(): void
}

const peerForms = z.object({forms: z.array(z.string()), preset: z.enum(PRESET_NAMES)})
/** How a peer has a case; no form: it does not. */
export type PeerForms = z.infer<typeof peerForms>

/** Loading the package on a busy machine; the longest single run. */
const PATIENCE_MS = 600_000
/** Binds each of several threads to one core, as this package does while it is timed; the user's setting stands. */
const BOUND = {OMP_PROC_BIND: 'close', OMP_PLACES: 'cores'}

/** The command of a peer. @param peer - as cells have it @param threads - that it computes with */
export function peerCommand(peer: string, threads: number): ChildCommand {
  const {name} = peerParts(peer)
  const args = [join(packageRoot(), 'python', 'rfa_peers.py'), name, '--threads', String(threads)]
  // extensions of PyTorch may have another OpenMP, which torch.set_num_threads does not set
  const own = {OMP_NUM_THREADS: String(threads), PYTHONDONTWRITEBYTECODE: '1'}
  const env = {...(threads > 1 && BOUND), ...process.env, ...own}
  return {name: `peer ${peer}`, command: pythonPath(), args, env, patience: PATIENCE_MS}
}

/**
 * Starts a peer.
 *
 * @param startMs - longest time until it says what it loads
 * @throws {BACKEND_MISSING} where it is not there, with what to install
 */
export async function startPeer(command: ChildCommand, startMs?: number): Promise<Peer> {
  const {
    talk,
    pid,
    facts: own,
    ask,
  } = await startPython(command, facts, {missing: why => missing(command, why), startMs})
  return {
    facts: own,
    pid,
    get alive() {
      return talk.alive
    },
    forms: given => ask({do: 'forms', case: given}, peerForms),
    async make(given, {query, key, value, projection}) {
      const parts = [query, key, value, ...(projection ? [projection] : [])]
      const data = parts.map(part => new Uint8Array(part.buffer, part.byteOffset, part.byteLength))
      const bytes = data.reduce((sum, {length}) => sum + length, 0)
      const request = {do: 'make', case: {...given, projected: projection !== undefined}, bytes}
      const {id} = await ask(request, z.object({id: z.int()}), data)
      return madeCase(ask, id)
    },
    stop: talk.stop,
  }
}

/** Starts each peer once, so that a missing one is reported before anything runs. @throws {BACKEND_MISSING} */
export async function requirePeers(peers: readonly string[]): Promise<void> {
  for (const name of new Set(peers)) (await startPeer(peerCommand(name, 1))).stop()
}

function madeCase(ask: Ask, id: number): MadeCase {
  return {
    async output() {
      const {output} = await ask({do: 'output', id}, z.object({output: z.base64()}))
      return new Float32Array(Uint8Array.from(Buffer.from(output, 'base64')).buffer)
    },
    async time(budget) {
      const answer = z.object({ns: z.array(z.number().positive()).min(1).max(budget.runs)})
      return (await ask({do: 'time', id, ...budget}, answer)).ns
    },
    async drop() {
      await ask({do: 'drop', id}, z.object({dropped: z.literal(id)})).catch(() => {})
    },
  }
}

function missing({name, command}: ChildCommand, why: string): RfaError {
  const remedies = [
    'pip install torch --index-url https://download.pytorch.org/whl/cpu (Linux), or pip install torch',
    'RFA_PYTHON=PATH names the Python of an environment that has it',
    'leave out --peers',
  ]
  return expected(
    'BACKEND_MISSING',
    name,
    'a Python with PyTorch',
    `${command}: ${why}`,
    ...remedies,
  )
}
