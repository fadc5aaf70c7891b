/** Python that answers as `answering` of `python/rfa_supervisor.py` does. */
import {z} from 'zod'
import {messageOf, RfaError} from '../../errors.js'
import {type ChildCommand, type Conversation, conversation} from './conversation.js'

const loading = z.object({loading: z.string(), pid: z.int()})
const missing = z.object({missing: z.string()})
/** What Python was asked for and refused. */
const refused = z.object({refused: z.string(), tries: z.array(z.string())})

/**
 * Time for Python to start on a busy machine: a program that is silent for longer is not Python, or waits for something.
 */
const START_MS = 30_000

/** Asks after all who asked before, and takes no answer but one of this form. @throws {CELL_CRASHED}, or what Python refuses */
export type Ask = <T>(
  request: object,
  form: z.ZodType<T>,
  data?: readonly Uint8Array[],
) => Promise<T>

/** Python that has said what it is. */
interface Started<Facts> {
  talk: Conversation
  pid: number
  facts: Facts
  ask: Ask
}

/**
 * Starts Python.
 *
 * @param form - what it says of itself
 * @param missing - the error where it is not there, or not what it imports
 * @param startMs - longest time until it says what it loads
 */
export async function startPython<Facts>(
  command: ChildCommand,
  form: z.ZodType<Facts>,
  {missing, startMs = START_MS}: {missing(why: string): RfaError; startMs?: number | undefined},
): Promise<Started<Facts>> {
  const talk = conversation(command)
  const {pid, greeted} = await greetingOf(talk, form, startMs).catch(error => {
    talk.stop()
    throw missing(messageOf(error).replace(`${command.name}: `, ''))
  })
  if ('why' in greeted) throw missing(greeted.why)
  return {talk, pid, facts: greeted.facts, ask: asking(talk, command.name)}
}

/** What Python says of itself, or why it cannot. */
type Greeted<Facts> = {facts: Facts} | {why: string}

async function greetingOf<Facts>(
  talk: Conversation,
  form: z.ZodType<Facts>,
  startMs: number,
): Promise<{pid: number; greeted: Greeted<Facts>}> {
  const first = await talk.nextLine(startMs)
  const loads = loading.safeParse(first)
  if (!loads.success) throw unexpected('what it loads', first)
  const {pid} = loads.data
  const said = await talk.nextLine()
  const gone = missing.safeParse(said)
  if (gone.success) return {pid, greeted: {why: gone.data.missing}}
  const {success, data} = form.safeParse(said)
  if (success) return {pid, greeted: {facts: data}}
  throw unexpected('what it is', said)
}

function unexpected(what: string, got: unknown): Error {
  return new Error(`expected ${what}, got ${shown(got)}`)
}

function shown(answer: unknown): string {
  return JSON.stringify(answer).slice(0, 200)
}

/** Python that talks nonsense is ended: the answer to one might be taken for that to another. */
function asking(talk: Conversation, name: string): Ask {
  let last: Promise<unknown> = Promise.resolve()
  let end: RfaError | undefined
  const ended = (message: string, cause?: unknown) => {
    talk.stop()
    end = new RfaError('CELL_CRASHED', message, {cause})
    return end
  }
  const askNow: Ask = async (request, form, data) => {
    if (end) throw end
    const answer = await talk.ask(request, data).catch(error => {
      throw ended(messageOf(error), error)
    })
    const told = z.object({error: z.string()}).safeParse(answer)
    if (told.success) throw new RfaError('CELL_CRASHED', `${name}: ${told.data.error}`)
    const no = refused.safeParse(answer)
    if (no.success) {
      throw new RfaError('UNSUPPORTED', no.data.refused, {suggestions: no.data.tries})
    }
    const found = form.safeParse(answer)
    if (found.success) return found.data
    throw ended(`${name}: expected another answer, got ${shown(answer)}`)
  }
  return (request, form, data) => {
    const answer = last.then(() => askNow(request, form, data))
    last = answer.then(
      () => {},
      () => {},
    )
    return answer
  }
}
