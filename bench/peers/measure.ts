/** The whole comparison: peers started, every case on every number of threads. */
import {mkdtempSync, rmSync} from 'node:fs'
import {loadavg, tmpdir} from 'node:os'
import {join} from 'node:path'
import type {Addon} from '../../src/backends/native/addon.js'
import {machineFacts} from '../../src/results/machine.js'
import {FULL, NUM_FEATURES, type PeerCase, peerCases, QUICK, tokensOf} from './cases.js'
import {type Bench, compare, rememberingJudge} from './compare.js'
import {buildFromSource, isBuilt, peerCommand} from './environment.js'
import type {Request} from './flags.js'
import {type Inputs, writeInputs} from './inputs.js'
import {ownEngine} from './own.js'
import {type Peer, startPeer} from './peer-process.js'
import {keepTo, processorsByCore} from './processors.js'
import type {PeerRow, PeersReport} from './report.js'

/** Seconds in which the multiply-add peak is measured, once a round. */
const PEAK_SECONDS = 0.02

/** Times everything and makes the report. @param save - called with what there is after every case */
export async function measureAll(
  request: Request,
  {python, addon, save}: {python: string; addon: Addon; save(report: PeersReport): void},
): Promise<PeersReport> {
  const [created_at, before] = [new Date().toISOString(), loadavg()[0]!]
  const machine = await machineFacts({timed: true})
  const folder = mkdtempSync(join(tmpdir(), 'rfa-peers-'))
  const found = new Map<string, PeersReport['peers'][number]>()
  const missing = new Map<string, string>()
  const rows: PeerRow[] = []
  const cases = await peerCases(request.quick ? QUICK : FULL)
  const processors = processorsByCore()
  const report = (complete: boolean): PeersReport => ({
    schema: 'rfa.peers/1',
    created_at: created_at,
    command: ['npm run bench:peers --', ...process.argv.slice(2)].join(' '),
    machine,
    load_average: {before: before, after: loadavg()[0]!},
    num_features: NUM_FEATURES,
    seconds_per_case: request.seconds,
    complete,
    peers: [...found.values()],
    missing: [...missing].map(([peer, reason]) => ({peer, reason})),
    rows,
  })
  const inputsOf = rememberedInputs(folder)
  const judge = rememberingJudge()
  const effort = {seconds: request.seconds, least: request.quick ? 2 : 3, most: 12}
  try {
    for (const threads of request.threads) {
      // before the addon makes threads and peers are started: both take over what this process is kept to
      const kept = processors?.slice(0, threads) ?? null
      const shared = {threads, processors: kept && keepTo(kept) ? kept : null}
      const peers = await startAll(request, {python, threads, missing})
      for (const {facts} of peers) found.set(facts.peer, shortFacts(facts))
      const hooks = {own: ownEngine, random: Math.random, peak: () => addon.fmaPeak(PEAK_SECONDS)}
      const bench: Bench = {...shared, ...hooks, effort, peers, judge}
      try {
        for (const given of cases) {
          process.stderr.write(`${progressOf(given)}, threads ${threads}\n`)
          rows.push(await compare(given, inputsOf(tokensOf(given)), bench))
          save(report(false))
        }
      } finally {
        for (const peer of peers) peer.stop()
      }
    }
  } finally {
    rmSync(folder, {recursive: true})
  }
  return report(true)
}

/** The peers that start; the reasons of others go into `missing`. */
async function startAll(
  request: Request,
  {python, threads, missing}: {python: string; threads: number; missing: Map<string, string>},
): Promise<Peer[]> {
  const peers: Peer[] = []
  for (const name of request.peers.filter(peer => !missing.has(peer))) {
    try {
      if (isBuilt(name)) buildFromSource(python)
      peers.push(await startPeer(peerCommand(name, python, threads)))
    } catch (error) {
      const reason = (error as Error).message
      process.stderr.write(`bench:peers: ${name} is left out: ${reason}\n`)
      missing.set(name, reason)
    }
  }
  return peers
}

/** Inputs by their tokens, drawn once. */
function rememberedInputs(folder: string): (tokens: number) => Inputs {
  const known = new Map<number, Inputs>()
  return tokens => {
    const inputs = known.get(tokens) ?? writeInputs(folder, tokens)
    known.set(tokens, inputs)
    return inputs
  }
}

function shortFacts({peer, python, versions}: Peer['facts']): PeersReport['peers'][number] {
  return {peer, python, versions}
}

function progressOf(given: PeerCase): string {
  if (given.kind === 'decode') return `${given.method} decode of ${tokensOf(given)}`
  return `${given.method}${given.causal ? ' causal' : ''} L=${given.length}`
}
