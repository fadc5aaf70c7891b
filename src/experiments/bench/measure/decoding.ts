/** The clock of decoding: whole sequences, token by token, looked at where marks stand. */
import type {Decoder} from '../../../attention/index.js'
import {finiteOrNull, median} from '../../../stats/index.js'
import type {tf} from '../../../tf.js'
import type {DecodeMark} from '../fields/token-marks.js'
import type {TimingProtocol} from '../schema.js'
import {ofProcesses, processMedians} from '../times/processes.js'
import {type Clock, monotonic, type Timing, timeMeasured, type Watches} from './timing.js'

export type Token = readonly [query: tf.Tensor, key: tf.Tensor, value: tf.Tensor]

/** What passes one token after the other. */
export interface Stepper {
  /** @param t - number of the token, from 1 @returns what the token gives; the caller disposes of it */
  next(t: number): tf.Tensor
  /** Memory held until the next token. */
  readonly stateBytes: number
  dispose(): void
}

/**
 * A decoder with what it is fed.
 *
 * @param tokens - fed one after the other, from the first one again after the last: which tokens come does not change the work
 */
export function stepper(decoder: Decoder, tokens: readonly Token[]): Stepper {
  return {
    next(t) {
      const [query, key, value] = tokens[t % tokens.length]!
      return decoder.next(query, key, value)
    },
    get stateBytes() {
      return decoder.stateBytes
    },
    dispose: () => decoder.dispose(),
  }
}

export interface Decoding {
  /** What stands before its first token; made and disposed of outside the timed region. */
  make(): Stepper
  /** Numbers of tokens to look at, rising from 2 or more; the last one ends a run. */
  marks: readonly number[]
}

/** Tokens to either side of a mark that its latency is the median of, at most. */
const WINDOW = 8

/**
 * Times whole decodes by the protocol, a run lasts from the first token to the last mark. The first token includes
 * preparations, such as the memory of the state, and is reported separately.
 *
 * @param stateBytes - at each mark, see {@link statesOf}
 */
export async function timeDecoding(
  decoding: Decoding,
  stateBytes: readonly number[],
  protocol: TimingProtocol,
  {clock = monotonic, ...others}: Watches = {},
): Promise<{timing: Timing; first_token_ns: number; marks: DecodeMark[]}> {
  const {marks} = decoding
  const stamps = new Float64Array(marks.at(-1)! + 1)
  const totals: number[][] = marks.map(() => [])
  const latencies: number[][] = marks.map(() => [])
  const firsts: number[] = []
  const keep = () => {
    firsts.push(stamps[1]! - stamps[0]!)
    for (const [at, mark] of marks.entries()) {
      totals[at]!.push(stamps[mark]! - stamps[1]!)
      latencies[at]!.push(latencyAt(stamps, mark))
    }
  }
  const measure = (counts: boolean) => {
    decodeOnce(decoding, stamps, clock)
    if (counts) keep()
    return stamps.at(-1)! - stamps[1]!
  }
  const timing = await timeMeasured(measure, protocol, others)
  return {
    timing,
    first_token_ns: median(firsts),
    marks: marks.map((tokens, at) => {
      const samples = {totals: totals[at]!, latencies: latencies[at]!}
      return markOf({tokens, state_bytes: stateBytes[at]!, ...samples}, timing)
    }),
  }
}

/** Decodes once, keeping the moment before the first token and after each. */
function decodeOnce({make}: Decoding, stamps: Float64Array, clock: Clock): void {
  const steps = make()
  stamps[0] = clock()
  for (let t = 1; t < stamps.length; t++) {
    steps.next(t).dispose()
    stamps[t] = clock()
  }
  steps.dispose()
}

/** Median time of a token about the mark-th one. */
function latencyAt(stamps: Float64Array, mark: number): number {
  const reach = Math.min(WINDOW, Math.floor(mark / 8))
  const last = Math.min(mark + reach, stamps.length - 1)
  const times: number[] = []
  for (let t = mark - reach; t <= last; t++) times.push(stamps[t]! - stamps[t - 1]!)
  return median(times)
}

/** Bytes that are held between a mark's token and the next, from a decode that is not timed. */
export function statesOf({make, marks}: Decoding): number[] {
  const steps = make()
  const bytes: number[] = []
  for (let t = 1; t <= marks.at(-1)!; t++) {
    steps.next(t).dispose()
    if (t === marks[bytes.length]) bytes.push(steps.stateBytes)
  }
  steps.dispose()
  return bytes
}

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
