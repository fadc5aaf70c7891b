/** Single times as a table: it is written on request, and the journal has them anyway. */
import {z} from 'zod'
import type {DecodeMark} from '../../fields/token-marks.js'

const ns = (description: string) => ({unit: 'ns', description})

/** One timed run, of a decode at one of its marks. */
export const sampleRow = z.object({
  turn: z
    .int()
    .nullable()
    .describe('Turn of the cell, from 1: between turns, others computed. Empty: not recorded.'),
  run: z.int().describe('Timed run, from 1, in the order of time.'),
  tokens: z.int().optional().describe('t, tokens so far, of a decode.'),
  time_ns: z.number().meta(ns('Time of the run; of a decode from behind its first token to t.')),
  token_ns: z.number().optional().meta(ns('Time of one token there, of a decode.')),
})
export type SampleRow = z.infer<typeof sampleRow>

interface Sampled {
  samples_ns: readonly number[]
  turn_runs: readonly number[]
  marks?: readonly DecodeMark[] | undefined
}

/** Every timed run of a result, in order; those of a decode mark by mark. */
export function sampleRows({samples_ns, turn_runs, marks}: Sampled): SampleRow[] {
  const turns = turnsOf(samples_ns.length, turn_runs)
  const rowOf = (time_ns: number, at: number) => ({turn: turns[at] ?? null, run: at + 1, time_ns})
  if (!marks) return samples_ns.map(rowOf)
  return marks.flatMap(({tokens, total_samples_ns, token_samples_ns}) =>
    total_samples_ns.map((time, at) => {
      return {...rowOf(time, at), tokens, token_ns: token_samples_ns[at]!}
    }),
  )
}

/** The turn of each run, as far as it is known: a journal that was tampered with may have any number. */
function turnsOf(runs: number, turnRuns: readonly number[]): number[] {
  const turns: number[] = []
  for (const [turn, count] of turnRuns.entries()) {
    for (let run = 0; run < count && turns.length < runs; run++) turns.push(turn + 1)
  }
  return turns
}
