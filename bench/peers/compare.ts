/** One case on all engines: prepared, judged, timed. */
import type {PeerCase} from './cases.js'
import type {Engine} from './engine.js'
import {faultOf} from './gate.js'
import type {Inputs} from './inputs.js'
import type {Peer, Prepared} from './peer-process.js'
import {judgedRows} from './reference.js'
import {type PeerRow, peerRowOf} from './report.js'
import {type Effort, inRounds} from './rounds.js'

/** What all cases share. */
export interface Bench {
  threads: number
  processors: readonly number[] | null
  effort: Effort
  peers: readonly Peer[]
  /** This package's engine, judged like the others. */
  own(given: PeerCase, inputs: Inputs, threads: number): Promise<Engine>
  /** Multiply-adds of one thread, measured anew; `null`: unknown. */
  peak(): number | null
  random(): number
  judge: Judge
}

/** Rows to hold outputs against. */
export type Judge = (
  given: PeerCase,
  inputs: Inputs,
  departs: Engine['departs'],
) => ReturnType<typeof judgedRows>

/** A judge that remembers: the same case comes again with other threads. */
export function rememberingJudge(): Judge {
  const known = new Map<string, ReturnType<typeof judgedRows>>()
  return (given, inputs, departs) => {
    const key = JSON.stringify([given, departs])
    const rows = known.get(key) ?? judgedRows(given, inputs, departs)
    known.set(key, rows)
    return rows
  }
}

/**
 * The row of a case; what fails or computes something else is left out of its times.
 *
 * @throws {Error} where this package computes something else
 */
export async function compare(given: PeerCase, inputs: Inputs, bench: Bench): Promise<PeerRow> {
  const {threads, processors, peers, effort, random, judge} = bench
  const leftOut: PeerRow['left_out'] = []
  const prepared = peers.map(async peer => {
    const {engines, failed} = await peer.prepare(given, inputs.folder).catch(gone(peer))
    leftOut.push(...failed)
    return engines
  })
  const own = await bench.own(given, inputs, threads)
  try {
    const engines = [own, ...(await Promise.all(prepared)).flat()].filter(engine => {
      const {engine: name, form, output, departs} = engine
      const reason = faultOf(output, given, judge(given, inputs, departs))
      if (reason !== undefined && engine === own) throw new Error(`${name} ${form}: ${reason}`)
      if (reason !== undefined) leftOut.push({engine: name, form, reason})
      return reason === undefined
    })
    let peak: number | null = null
    const between = () => {
      const now = bench.peak()
      if (now !== null) peak = Math.max(now, peak ?? 0)
    }
    const {times, failed} = await inRounds(engines, effort, {random, between})
    return peerRowOf(given, times, [...leftOut, ...failed], {threads, processors, peak})
  } finally {
    own.dispose()
  }
}

/** A peer that cannot answer takes part in no case more; the others go on. */
function gone({facts}: Peer): (error: Error) => Prepared {
  const failed = (reason: string) => [{engine: facts.peer, form: 'all', reason}]
  return error => ({engines: [], failed: failed(error.message)})
}
