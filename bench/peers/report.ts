/** What the comparison with peers writes, and its rows. */
import {z} from 'zod'
import {peerParts} from '../../src/experiments/bench/fields/peers.js'
import {bestPeak} from '../../src/experiments/bench/measure/peak.js'
import type {BenchRecord, TimedRecord} from '../../src/experiments/bench/schema.js'
import {machine} from '../../src/results/folder/manifest.js'
import {MOST_OF_PEAK, shareOfPeak} from '../../src/theory/peak.js'
import type {PeerCase} from './cases.js'

const engineTimes = z.object({
  /** `rfa` or a peer. */
  engine: z.string(),
  form: z.string(),
  /** The preset of rfa that computes the same. */
  preset: z.string().default('exact'),
  runs: z.number().int(),
  /** Of a pass, or of one token. */
  min_ns: z.number(),
  median_ns: z.number(),
  q1_ns: z.number().nullable(),
  q3_ns: z.number().nullable(),
  /** Of the fastest run, with the work that is counted for the method. */
  gflops: z.number(),
  /** Of the measured multiply-add peak of all threads. */
  peak_pct: z.number().nullable(),
  /** Its fastest run over that of rfa. */
  over_rfa: z.number(),
})
export type EngineTimes = z.infer<typeof engineTimes>

const left = z.object({engine: z.string(), form: z.string(), reason: z.string()})

const peerRow = z.object({
  kind: z.enum(['attention', 'decode']),
  method: z.string(),
  causal: z.boolean(),
  heads: z.number().int(),
  head_dim: z.number().int(),
  /** L of a pass, tokens that are decoded. */
  tokens: z.number().int(),
  threads: z.number().int(),
  flops: z.number(),
  fma_peak_gflops: z.number().nullable(),
  /** rfa first, then by time. */
  engines: z.array(engineTimes),
  /** Forms that were not timed: they failed, or computed something else, or their figures cannot be. */
  left_out: z.array(left),
})
export type PeerRow = z.infer<typeof peerRow>

/** What `npm run bench:peers` writes. */
export const peersReport = z.object({
  schema: z.literal('rfa.peers/1'),
  created_at: z.iso.datetime(),
  command: z.string(),
  machine,
  /** Runnable processes over the last minute: this one counts 1, more is other load. */
  load_average: z.object({before: z.number(), after: z.number()}),
  num_features: z.number().int(),
  seconds_per_case: z.number(),
  /** Whether every case was timed: the report is written after each number of threads, and a run may be interrupted. */
  complete: z.boolean(),
  peers: z.array(
    z.object({peer: z.string(), python: z.string(), versions: z.record(z.string(), z.string())}),
  ),
  /** Peers that could not be had. */
  missing: z.array(z.object({peer: z.string(), reason: z.string()})),
  rows: z.array(peerRow),
})
export type PeersReport = z.infer<typeof peersReport>

/**
 * The row of a case; figures beyond the peak are left out of it, with the reason.
 *
 * @param records - rfa first, then the forms of peers
 * @throws {Error} where rfa was not timed
 */
export function peerRowOf({kind, method}: PeerCase, records: readonly BenchRecord[]): PeerRow {
  const timed = records.filter(record => record.status === 'completed')
  const [own] = timed
  if (!own || own.cell.peer) throw new Error(`rfa ${method}: ${reasonOf(records[0]!)}`)
  const peak = bestPeak(timed.map(({result}) => result.fma_peak_gflops))
  const rows = timed.map(record => timesOf(record, own, peak))
  const {causal, heads, head_dim, seq_len} = own.cell
  const skipped = records.filter(record => record.status !== 'completed')
  return {
    ...{kind, method, causal, heads, head_dim, tokens: seq_len, threads: own.result.threads},
    ...{flops: own.result.work_flops / callsOf(own), fma_peak_gflops: peak},
    engines: [...rows.slice(0, 1), ...rows.slice(1).sort((a, b) => a.min_ns - b.min_ns)].filter(
      row => !isImpossible(row),
    ),
    left_out: [
      ...skipped.map(record => ({...nameOf(record), reason: reasonOf(record)})),
      ...rows.filter(isImpossible).map(impossible),
    ],
  }
}

/** Passes of a run, or tokens: the clock of a decode starts behind the first one. */
function callsOf({cell}: TimedRecord): number {
  return cell.mode === 'decode' ? cell.seq_len - 1 : 1
}

function timesOf(record: TimedRecord, own: TimedRecord, peak: number | null): EngineTimes {
  const {runs, min_ns, median_ns, q1_ns, q3_ns, work_flops, threads} = record.result
  const calls = callsOf(record)
  const share = shareOfPeak({flops: work_flops, ns: min_ns, threads}, peak)
  return {
    ...{...nameOf(record), preset: record.cell.preset, runs},
    ...{min_ns: min_ns / calls, median_ns: median_ns / calls},
    ...{q1_ns: q1_ns && q1_ns / calls, q3_ns: q3_ns && q3_ns / calls},
    gflops: work_flops / min_ns,
    peak_pct: share === null ? null : 100 * share,
    over_rfa: min_ns / own.result.min_ns,
  }
}

function nameOf({cell: {peer}}: BenchRecord): Pick<EngineTimes, 'engine' | 'form'> {
  if (peer === undefined) return {engine: 'rfa', form: 'native'}
  const {name, form = ''} = peerParts(peer)
  return {engine: name, form}
}

function reasonOf(record: BenchRecord): string {
  if (record.status === 'failed') return record.error.message
  return record.status === 'skipped' ? record.reason : 'timed'
}

function isImpossible({peak_pct}: EngineTimes): boolean {
  return peak_pct !== null && peak_pct > 100 * MOST_OF_PEAK
}

function impossible({engine, form, peak_pct}: EngineTimes): PeerRow['left_out'][number] {
  const got = `${peak_pct!.toFixed(1)} %`
  const most = `${100 * MOST_OF_PEAK} %`
  return {engine, form, reason: `expected at most ${most} of the multiply-add peak, got ${got}`}
}
