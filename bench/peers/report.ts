/** What the comparison with peers writes, and its rows. */
import {z} from 'zod'
import {machine} from '../../src/results/manifest.js'
import {median, quantile} from '../../src/stats/index.js'
import {MOST_OF_PEAK, shareOfPeak} from '../../src/theory/peak.js'
import {type PeerCase, tokensOf} from './cases.js'
import type {Engine} from './engine.js'

const engineTimes = z.object({
  /** `rfa` or a peer. */
  engine: z.string(),
  form: z.string(),
  /** What it computes otherwise than the textbook. */
  departs: z.record(z.string(), z.number()),
  runs: z.number().int(),
  /** Of a pass, or of one token. */
  min_ns: z.number(),
  median_ns: z.number(),
  q1_ns: z.number(),
  q3_ns: z.number(),
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
  /** L of a pass, tokens that a decoder has seen at the end. */
  tokens: z.number().int(),
  threads: z.number().int(),
  /** Processors that all engines were kept to; `null`: the system chose. */
  processors: z.array(z.number().int()).nullable(),
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
  /** Whether every case was timed: the report is written after each, and a run may be interrupted. */
  complete: z.boolean(),
  peers: z.array(
    z.object({peer: z.string(), python: z.string(), versions: z.record(z.string(), z.string())}),
  ),
  /** Peers that could not be had. */
  missing: z.array(z.object({peer: z.string(), reason: z.string()})),
  rows: z.array(peerRow),
})
export type PeersReport = z.infer<typeof peersReport>

/** Where a case was timed. */
export interface Setting {
  threads: number
  processors: readonly number[] | null
  /** Multiply-adds of one thread in GFLOP/s; `null`: unknown. */
  peak: number | null
}

/** The row of a case; figures beyond the peak are left out of it, with the reason. */
export function peerRowOf(
  given: PeerCase,
  times: ReadonlyMap<Engine, readonly number[]>,
  leftOut: PeerRow['left_out'],
  {threads, processors, peak}: Setting,
): PeerRow {
  const {kind, method, causal, heads, headDim, flops} = given
  const perRun = kind === 'decode' ? given.tokens : 1
  const own = [...times].find(([{engine}]) => engine === 'rfa')
  const ownMin = own ? Math.min(...own[1]) / perRun : Number.NaN
  const rows = [...times].map(([engine, runs]): EngineTimes => {
    const each = runs.map(ns => ns / perRun)
    const min_ns = Math.min(...each)
    const share = shareOfPeak({flops, ns: min_ns, threads}, peak)
    return {
      ...{engine: engine.engine, form: engine.form, departs: {...engine.departs}},
      ...{runs: each.length, min_ns, median_ns: median(each)},
      ...{q1_ns: quantile(each, 0.25), q3_ns: quantile(each, 0.75)},
      gflops: flops / min_ns,
      peak_pct: share === null ? null : 100 * share,
      over_rfa: min_ns / ownMin,
    }
  })
  const possible = rows.filter(row => !isImpossible(row))
  return {
    ...{kind, method, causal, heads, head_dim: headDim, threads, flops, fma_peak_gflops: peak},
    processors: processors && [...processors],
    tokens: tokensOf(given),
    engines: possible.sort((a, b) => rank(a) - rank(b)),
    left_out: [...leftOut, ...rows.filter(isImpossible).map(impossible)],
  }
}

function rank({engine, min_ns}: EngineTimes): number {
  return engine === 'rfa' ? 0 : min_ns
}

function isImpossible({peak_pct}: EngineTimes): boolean {
  return peak_pct !== null && peak_pct > 100 * MOST_OF_PEAK
}

function impossible({engine, form, peak_pct}: EngineTimes): PeerRow['left_out'][number] {
  const got = `${peak_pct!.toFixed(1)} %`
  const most = `${100 * MOST_OF_PEAK} %`
  return {engine, form, reason: `expected at most ${most} of the multiply-add peak, got ${got}`}
}
