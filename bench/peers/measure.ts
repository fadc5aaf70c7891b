/** The whole comparison: every case on every number of threads, its engines in turns. */
import {loadavg} from 'node:os'
import {peerCaseOf} from '../../src/experiments/bench/measure/peers/peer-cell.js'
import {
  type PeerForms,
  peerCommand,
  startPeer,
} from '../../src/experiments/bench/measure/peers/peer-process.js'
import type {BenchCell, BenchRecord, TimingProtocol} from '../../src/experiments/bench/schema.js'
import type {PredictedCell} from '../../src/experiments/experiment.js'
import {experimentNamed} from '../../src/experiments/index.js'
import {machineFacts} from '../../src/results/folder/machine.js'
import {cellKey} from '../../src/results/keys.js'
import {type ProgressEvent, runExperiment} from '../../src/runner/run-experiment.js'
import {schedule} from '../../src/runner/schedule/schedule.js'
import {cellsOfPeer, FULL, NUM_FEATURES, type PeerCase, peerCases, QUICK} from './cases.js'
import {buildFromSource} from './environment.js'
import type {Request} from './flags.js'
import {type PeersReport, peerRowOf} from './report.js'
import {caseText} from './table.js'

/** What a peer says of itself, and its forms of each case. */
interface Known {
  facts: PeersReport['peers'][number]
  forms: PeerForms[]
}

/** Times everything and makes the report. @param save - called with what there is after every number of threads */
export async function measureAll(
  request: Request,
  save: (report: PeersReport) => void,
): Promise<PeersReport> {
  const [created_at, before] = [new Date().toISOString(), loadavg()[0]!]
  const found: Pick<PeersReport, 'machine' | 'peers' | 'missing' | 'rows'> = {
    machine: await machineFacts({timed: true}),
    ...{peers: [], missing: [], rows: []},
  }
  const report = (complete: boolean): PeersReport => ({
    schema: 'rfa.peers/1',
    created_at,
    command: ['npm run bench:peers --', ...process.argv.slice(2)].join(' '),
    load_average: {before, after: loadavg()[0]!},
    num_features: NUM_FEATURES,
    seconds_per_case: request.seconds,
    complete,
    ...found,
  })
  const casesOn = (threads: number) => requestedCases(request, threads)
  const known = await knownPeers(request, await casesOn(1), found.missing)
  found.peers = known.map(({facts}) => facts)
  for (const threads of request.threads) {
    const cases = await casesOn(threads)
    const groups = cases.map((one, at) => [
      one.own,
      ...known.flatMap(({facts, forms}) => cellsOfPeer(one, facts.peer, forms[at]!)),
    ])
    const records = await recordsOf(groups.flat(), threads)
    for (const [at, group] of groups.entries()) {
      found.rows.push(peerRowOf(cases[at]!, records.splice(0, group.length)))
    }
    save(report(false))
  }
  return report(true)
}

async function requestedCases(request: Request, threads: number): Promise<PeerCase[]> {
  const {quick, seconds, filter} = request
  const timing: TimingProtocol = {
    ...{processes: quick ? 1 : 3, warmup_runs: 1, min_runs: quick ? 2 : 3, max_runs: 60},
    min_time_ns: 1e9 * seconds,
  }
  const cases = await peerCases(quick ? QUICK : FULL, {timing, threads})
  return cases.filter(({kind, method, own: {cell}}) =>
    caseText({kind, method, causal: cell.causal, tokens: cell.seq_len}).includes(filter),
  )
}

/** The peers that start; the reasons of others go into `missing`. */
async function knownPeers(
  {peers}: Request,
  cases: readonly PeerCase[],
  missing: PeersReport['missing'],
): Promise<Known[]> {
  const known: Known[] = []
  for (const name of peers) {
    try {
      buildFromSource(name)
      const peer = await startPeer(peerCommand(name, 1))
      const {packages, python} = peer.facts
      const forms: PeerForms[] = []
      try {
        for (const {own} of cases) forms.push(await peer.forms(peerCaseOf(own.cell)))
      } finally {
        peer.stop()
      }
      known.push({facts: {peer: name, python, versions: packages}, forms})
    } catch (error) {
      const reason = (error as Error).message
      process.stderr.write(`bench:peers: ${name} is left out: ${reason}\n`)
      missing.push({peer: name, reason})
    }
  }
  return known
}

/** Runs cells as `rfa bench` does: in fresh processes, in turns. */
async function recordsOf(
  cells: readonly PredictedCell<BenchCell>[],
  threads: number,
): Promise<BenchRecord[]> {
  const experiment = await experimentNamed('bench')
  const jobs = cells.map(job => ({...job, key: cellKey(experiment.schema, job.cell)}))
  const run = {experiment, plan: {experiment: 'bench', seed: 0, backend: 'native' as const}, jobs}
  const onProgress = ({done, total, label}: ProgressEvent) =>
    process.stderr.write(`threads ${threads}: ${done} of ${total}, ${label}\n`)
  const {records} = await runExperiment(run, {
    ...{directory: null, resume: false, argv: process.argv.slice(2), timeoutMs: null, formats: []},
    ...{schedule: schedule(run), onProgress},
  })
  return records as BenchRecord[]
}
