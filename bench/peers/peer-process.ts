/** A peer in a process of its own: a JSON request per line, a JSON answer per line, as driver.py says. */
import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import {z} from 'zod'
import {
  type ChildCommand,
  conversation,
} from '../../src/experiments/bench/measure/peers/conversation.js'
import type {PeerCase} from './cases.js'
import type {Engine} from './engine.js'

const facts = z.object({
  peer: z.string(),
  python: z.string(),
  versions: z.record(z.string(), z.string()),
  threads: z.number().int(),
})
export type PeerFacts = z.infer<typeof facts>

const departures = z.strictObject({
  featureEpsilon: z.number().optional(),
  normalizerEpsilon: z.number().optional(),
  denominatorEpsilon: z.number().optional(),
})
const prepared = z.object({
  forms: z.record(z.string(), departures),
  failed: z.record(z.string(), z.string()),
})
const timed = z.object({ns: z.array(z.number().positive()).min(1)})

/** A peer while it runs. */
export interface Peer {
  facts: PeerFacts
  /** Its forms of a case, and why others are not among them. */
  prepare(given: PeerCase, folder: string): Promise<Prepared>
  stop(): void
}

export interface Prepared {
  engines: Engine[]
  failed: {engine: string; form: string; reason: string}[]
}

/** Starts a peer. @throws {Error} where it does not tell what it is: with the last line that it wrote to stderr */
export async function startPeer(given: ChildCommand): Promise<Peer> {
  const {name} = given
  const talk = conversation(given)
  const ask = async <T>(request: object, schema: z.ZodType<T>): Promise<T> => {
    const answer = await talk.ask(request)
    if (isError(answer)) throw new Error(`${name}: ${answer.error}`)
    const {success, data} = schema.safeParse(answer)
    if (!success) throw new Error(`${name}: expected an answer, got ${JSON.stringify(answer)}`)
    return data
  }
  return {
    facts: await talk.nextLine().then(line => facts.parse(line)),
    async prepare(request, folder) {
      const {forms, failed} = await ask({do: 'prepare', case: request, folder}, prepared)
      const engines = Object.entries(forms).map(([form, departs]): Engine => {
        const time = async (samples: number, seconds: number) =>
          (await ask({do: 'time', form, samples, seconds}, timed)).ns
        const output = readFloats(join(folder, `${name}.${form}.f32`))
        return {engine: name, form, departs, output, time, dispose() {}}
      })
      const reasons = Object.entries(failed)
      return {engines, failed: reasons.map(([form, reason]) => ({engine: name, form, reason}))}
    },
    stop: talk.stop,
  }
}

function isError(answer: unknown): answer is {error: string} {
  return typeof answer === 'object' && answer !== null && 'error' in answer
}

function readFloats(path: string): Float32Array {
  const bytes = readFileSync(path)
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length))
}
