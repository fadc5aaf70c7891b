/** Decoding at some number of tokens, as records have it. */
import {z} from 'zod'
import {nullableNumber} from '../../../results/record.js'

const ns = (description: string) => ({unit: 'ns', description})

/** What timed decodes say of one number of tokens so far. */
export const decodeMark = z.object({
  tokens: z.int().positive().describe('t, tokens so far.'),
  total_ns: z
    .number()
    .meta(
      ns(
        'Time from behind the first token to this one: geometric mean of the medians of the processes.',
      ),
    ),
  total_low_ns: nullableNumber.meta(
    ns(
      'Lower end of its 95 % interval: t on the logarithms of the medians of the processes; `null`: one process.',
    ),
  ),
  total_high_ns: nullableNumber.meta(ns('Upper end of that interval; `null`: as above.')),
  token_ns: z
    .number()
    .meta(
      ns(
        'Time of one token here: median of the tokens within t / 8, at most 8, of it, then over runs and processes as above.',
      ),
    ),
  token_low_ns: nullableNumber.meta(ns('Lower end of a 95 % interval of it; `null`: as above.')),
  token_high_ns: nullableNumber.meta(ns('Upper end of that interval; `null`: as above.')),
  tokens_per_second: z.number().meta({
    unit: '1/s',
    description: 'Tokens from the second to this one over the time they take, of each sequence.',
  }),
  state_bytes: z
    .int()
    .meta({unit: 'bytes', description: 'Memory held between this token and the next.'}),
  total_samples_ns: z.array(z.number()).meta(ns('Time up to this token in every timed run.')),
  token_samples_ns: z.array(z.number()).meta(ns('Time of one token here in every timed run.')),
})
export type DecodeMark = z.infer<typeof decodeMark>

/** A mark as a line of a table: single times stand in the journal. */
export const markRow = decodeMark.omit({total_samples_ns: true, token_samples_ns: true})

/** Fewest tokens of a decode that is timed: the clock starts behind the first one. */
export const LEAST_TOKENS = 2

/** Numbers of tokens at which a decode is looked at: powers of two up to the longest of the lengths, and these. */
export function markedTokens(lengths: readonly number[]): number[] {
  const longest = Math.max(...lengths)
  const powers = Array.from({length: Math.floor(Math.log2(longest))}, (_, k) => 2 ** (k + 1))
  const marks = new Set([...powers, ...lengths.filter(length => length >= LEAST_TOKENS)])
  return [...marks].sort((a, b) => a - b)
}
