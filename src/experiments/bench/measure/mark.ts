/** What runs of a decode say of one number of tokens. */
import {finiteOrNull} from '../../../stats/index.js'
import type {DecodeMark} from '../fields/token-marks.js'
import {ofProcesses, processMedians} from '../times/processes.js'

/** Every run at one mark, in order. */
export interface MarkSamples {
  tokens: number
  state_bytes: number
  totals: number[]
  latencies: number[]
}

/** What is quoted of them. @param turns - of the runs */
export function markOf(
  {tokens, state_bytes, totals, latencies}: MarkSamples,
  turns: {turn_runs: readonly number[]; process_turns: readonly number[]},
): DecodeMark {
  const of = (samples_ns: readonly number[]) =>
    ofProcesses(
      processMedians({samples_ns, turn_runs: turns.turn_runs, process_turns: turns.process_turns}),
    )
  const [total, token] = [of(totals), of(latencies)]
  return {
    tokens,
    total_ns: total.value,
    total_low_ns: finiteOrNull(total.low),
    total_high_ns: finiteOrNull(total.high),
    token_ns: token.value,
    token_low_ns: finiteOrNull(token.low),
    token_high_ns: finiteOrNull(token.high),
    tokens_per_second: ((tokens - 1) / total.value) * 1e9,
    state_bytes,
    total_samples_ns: totals,
    token_samples_ns: latencies,
  }
}
