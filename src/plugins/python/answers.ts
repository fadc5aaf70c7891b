/** What Python says of a file and of itself, see `python/rfa_plugin.py`. */
import {z} from 'zod'
import {clipped, expected, RfaError} from '../../errors.js'

const fault = z.union([
  z.object({fault: z.string(), line: z.number().nullable(), missing: z.string().optional()}),
  z.object({expected: z.string(), line: z.number().nullable()}),
])
const option = z.discriminatedUnion('type', [
  z.object({type: z.literal('boolean'), default: z.boolean()}),
  z.object({type: z.literal('integer'), default: z.int()}),
  z.object({type: z.literal('number'), default: z.number()}),
  z.object({type: z.literal('text'), default: z.string()}),
])
/** What a file says of itself. */
const moduleFacts = z.object({
  /** Of the process that runs it. */
  pid: z.int(),
  /** Its function. */
  does: z.enum(['phi', 'attention']),
  library: z.enum(['numpy', 'torch']),
  /** Whether it takes random vectors. */
  projected: z.boolean(),
  /** What else an attention takes. */
  forms: z.array(z.enum(['causal', 'key_mask'])),
  options: z.record(z.string(), option),
  /** First line of the doc string of the function. */
  says: z.string(),
  name: z.string().optional(),
  title: z.string().optional(),
  citation: z.string().optional(),
  unbiased_for: z.literal('softmax').optional(),
  non_negative: z.boolean().optional(),
})
export type ModuleFacts = z.infer<typeof moduleFacts>

/** Facts, and options by any name that Python takes. @throws {BAD_PLUGIN} for facts of other kinds */
export function factsOf(greeting: unknown): ModuleFacts {
  const facts = moduleFacts.safeParse(greeting)
  if (facts.success) return facts.data
  const [issue] = facts.error.issues
  throw expected('BAD_PLUGIN', issue!.path.join('.'), 'another value', clipped(issue!.message))
}

export const REMEDY =
  'RFA_PYTHON=PATH names the Python of an environment that has what the file imports'

/** @throws what an answer says is wrong. @param path - of the file, as it was given */
export function requireSound(answer: unknown, path: string): void {
  const {success, data} = fault.safeParse(answer)
  if (success) throw faultOf(path, data)
}

function faultOf(path: string, wrong: z.infer<typeof fault>): RfaError {
  const at = wrong.line === null ? '' : ` (${path}:${wrong.line})`
  if ('expected' in wrong) {
    return new RfaError('BAD_PLUGIN', `expected ${wrong.expected}${at}`, {
      suggestions: [
        'write def phi(x, projection): ..., which gives features [B, H, n, F]',
        'or def attention(query, key, value): ..., which gives outputs [B, H, L, Dv]',
      ],
    })
  }
  const {fault: said, missing} = wrong
  if (missing !== undefined) {
    const what = `the package ${missing}`
    const remedy = `python3 -m pip install ${missing}`
    return expected('BACKEND_MISSING', 'Python', what, `${said}${at}`, remedy, REMEDY)
  }
  const code = /^(SyntaxError|IndentationError|TabError)/.test(said)
    ? 'BAD_PLUGIN'
    : 'PLUGIN_FAILED'
  return new RfaError(code, `${said}${at}`)
}
