/** A peer in a process of its own, as `python/rfa_peers.py` says. */
import {join} from 'node:path'
import {z} from 'zod'
import {messageOf, RfaError} from '../../../errors.js'
import {packageRoot} from '../../../package.js'
import {type ChildCommand, type Conversation, conversation} from './conversation.js'
import type {PeerName} from './names.js'

const facts = z.object({
  version: z.string(),
  python: z.string(),
  instruction_set: z.string().nullable(),
})
/** What a peer says of itself. */
export type PeerFacts = z.infer<typeof facts>
const loading = z.object({loading: z.string()})
const greeting = z.union([facts, z.object({missing: z.string()})])

/** What a peer is to run. */
export interface PeerCase {
  method: string
  causal: boolean
  batch: number
  heads: number
  /** L, of queries and keys. */
  length: number
  head_dim: number
  value_dim: number
  num_features: number
}

/** Its tensors, `[B, H, L, D]`, `[B, H, L, D]`, `[B, H, L, Dv]` and, where the method draws one, `[H, M, D]`. */
export interface PeerInputs {
  query: Float32Array
  key: Float32Array
  value: Float32Array
  projection?: Float32Array | undefined
}

/** A peer while it runs. */
export interface Peer extends Pick<Conversation, 'stop'> {
  facts: PeerFacts
  pid: number
  /** Takes the place of what it made before. */
  make(given: PeerCase, inputs: PeerInputs): Promise<void>
  /** `[B, H, L, Dv]`. */
  output(): Promise<Float32Array>
  /** Times of single runs, in ns: one at least, no more than `runs`, no new one after so many ns. */
  time(budget: {runs: number; ns: number}): Promise<readonly number[]>
}

/** Loading the package on a busy machine; the longest single run. */
const PATIENCE_MS = 600_000
/** Starting Python alone, on a busy machine: what says nothing for so long is no Python, or waits for something. */
const START_MS = 30_000

/** Python that peers run in. */
export function pythonPath(environment = process.env): string {
  return environment.RFA_PYTHON || 'python3'
}

/** The command of a peer. @param threads - that it computes with */
export function peerCommand(name: PeerName, threads: number): ChildCommand {
  const args = [join(packageRoot(), 'python', 'rfa_peers.py'), name, '--threads', String(threads)]
  const env = {...process.env, PYTHONDONTWRITEBYTECODE: '1'}
  return {name: `peer ${name}`, command: pythonPath(), args, env, patience: PATIENCE_MS}
}

/**
 * Starts a peer.
 *
 * @param startMs - longest time until it says what it loads
 * @throws {BACKEND_MISSING} where it is not there, with what to install
 */
export async function startPeer(command: ChildCommand, startMs = START_MS): Promise<Peer> {
  const talk = conversation(command)
  const greeted = await greetingOf(talk, startMs).catch(error => {
    talk.stop()
    throw missing(command, messageOf(error).replace(`${command.name}: `, ''))
  })
  if ('missing' in greeted) throw missing(command, greeted.missing)
  const ask = asking(talk, command.name)
  return {
    facts: greeted,
    pid: talk.pid!,
    stop: talk.stop,
    async make(given, {query, key, value, projection}) {
      const parts = [query, key, value, ...(projection ? [projection] : [])]
      const data = parts.map(part => new Uint8Array(part.buffer, part.byteOffset, part.byteLength))
      const bytes = data.reduce((sum, {length}) => sum + length, 0)
      const request = {do: 'make', case: {...given, projected: projection !== undefined}, bytes}
      await ask(request, z.object({made: z.literal(true)}), data)
    },
    async output() {
      const {output} = await ask({do: 'output'}, z.object({output: z.base64()}))
      return floatsOf(Buffer.from(output, 'base64'))
    },
    async time(budget) {
      const answer = z.object({ns: z.array(z.number().positive()).min(1).max(budget.runs)})
      return (await ask({do: 'time', ...budget}, answer)).ns
    },
  }
}

async function greetingOf(talk: Conversation, startMs: number) {
  const first = await talk.nextLine(startMs)
  if (!loading.safeParse(first).success) throw unexpected('what it loads', first)
  const said = await talk.nextLine()
  const {success, data} = greeting.safeParse(said)
  if (success) return data
  throw unexpected('what it is', said)
}

function unexpected(what: string, got: unknown): Error {
  return new Error(`expected ${what}, got ${shown(got)}`)
}

function shown(answer: unknown): string {
  return JSON.stringify(answer).slice(0, 200)
}

/** Asks, and takes no answer but one of this form. @throws {CELL_CRASHED} */
function asking({ask}: Conversation, name: string) {
  return async <T>(request: object, form: z.ZodType<T>, data?: readonly Uint8Array[]) => {
    const answer = await ask(request, data).catch(error => {
      throw new RfaError('CELL_CRASHED', messageOf(error), {cause: error})
    })
    const told = z.object({error: z.string()}).safeParse(answer)
    if (told.success) throw new RfaError('CELL_CRASHED', `${name}: ${told.data.error}`)
    const found = form.safeParse(answer)
    if (found.success) return found.data
    const message = `${name}: expected another answer, got ${shown(answer)}`
    throw new RfaError('CELL_CRASHED', message)
  }
}

function floatsOf(bytes: Uint8Array): Float32Array {
  return new Float32Array(Uint8Array.from(bytes).buffer)
}

function missing({name, command}: ChildCommand, why: string): RfaError {
  return new RfaError(
    'BACKEND_MISSING',
    `${name}: expected a Python with PyTorch, got ${command}: ${why}`,
    {
      suggestions: [
        'pip install torch --index-url https://download.pytorch.org/whl/cpu (Linux), or pip install torch',
        'RFA_PYTHON=PATH names the Python of an environment that has it',
        'leave out --peers',
      ],
    },
  )
}
